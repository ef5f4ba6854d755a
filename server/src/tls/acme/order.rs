//! One order: checks, key and certificate.

use std::time::Duration;

use instant_acme::{Account, AuthorizationStatus, Identifier, NewOrder, Order, OrderStatus, RetryPolicy};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use zeroize::Zeroizing;

use super::Failure;
use super::settings::ChallengeKind;
use crate::tls::challenges::Challenges;

/// How the state of an order is asked for. The caller limits the time of the whole.
const POLLING: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(120));

/// An issued certificate with its key, in PEM.
pub(super) struct Issued {
    pub chain: String,
    pub key: Zeroizing<String>,
}

/// Orders a certificate for these names, with a new key.
///
/// Errors: the directory refuses, cannot check a name, or cannot be reached.
pub(super) async fn obtain(
    account: &Account,
    names: &[String],
    kind: ChallengeKind,
    challenges: &Challenges,
) -> Result<Issued, Failure> {
    let identifiers: Vec<Identifier> = names.iter().cloned().map(Identifier::Dns).collect();
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await?;
    // Answers stay until the directory has made all checks.
    let mut offered = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            status => return Err(format!("an authorization is {status:?}").into()),
        }
        let name = authorization.identifier().to_string();
        let challenge = authorization.challenge(kind.challenge_type());
        let mut challenge = challenge.ok_or_else(|| format!("the directory does not check {name} like this"))?;
        let answer = challenge.key_authorization();
        offered.push(match kind {
            ChallengeKind::Tls => challenges.offer_tls(&name, answer.digest().as_ref())?,
            ChallengeKind::Http => challenges.offer_http(&challenge.token, answer.as_str()),
        });
        challenge.set_ready().await?;
    }
    if order.poll_ready(&POLLING).await? != OrderStatus::Ready {
        return Err(refusal(&mut order).await.into());
    }
    drop(offered);
    let (request, key) = request(names)?;
    order.finalize_csr(&request).await?;
    let chain = order.poll_certificate(&POLLING).await?;
    Ok(Issued { chain, key })
}

/// A request for a certificate (RFC 2986), and its new key in PEM.
fn request(names: &[String]) -> Result<(Vec<u8>, Zeroizing<String>), Failure> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key)?;
    Ok((request.der().to_vec(), Zeroizing::new(key.serialize_pem())))
}

/// Why a directory has not authorized an order, as far as it tells.
async fn refusal(order: &mut Order) -> String {
    let mut reasons = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else {
            continue;
        };
        let errors = state.challenges.iter().filter_map(|challenge| challenge.error.as_ref());
        reasons.extend(errors.map(|error| format!("{name}: {error}")));
    }
    match reasons.is_empty() {
        true => "the directory does not authorize the order".to_owned(),
        false => reasons.join("; "),
    }
}
