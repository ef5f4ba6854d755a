//! The account at a directory.

use instant_acme::{Account, AccountBuilder, AccountCredentials, Error, NewAccount};
use tokio_rustls::TlsConnector;
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::Failure;
use super::http::Client;
use super::settings::Settings;
use super::storage::Storage;

/// The type of the problem of an account that a directory does not know (RFC 8555 section 6.7).
const UNKNOWN: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// The stored account, or a new one if there is none or it cannot be parsed.
///
/// Errors: the directory cannot be reached or refuses the account, or nothing can be stored.
pub(super) async fn open(settings: &Settings, storage: &Storage, connector: TlsConnector) -> Result<Account, Failure> {
    if let Some(stored) = storage.account().await? {
        match serde_json::from_slice::<AccountCredentials>(&stored) {
            Ok(credentials) => return Ok(builder(connector).from_credentials(credentials).await?),
            Err(error) => warn!(%error, "the stored ACME account cannot be read"),
        }
    }
    make(settings, storage, connector).await
}

/// A new account, which is stored.
///
/// Errors: as [`open`].
pub(super) async fn make(settings: &Settings, storage: &Storage, connector: TlsConnector) -> Result<Account, Failure> {
    let contact = settings.contact.as_ref().map(|contact| format!("mailto:{contact}"));
    let contact: Vec<&str> = contact.as_deref().into_iter().collect();
    let account = NewAccount {
        contact: &contact,
        terms_of_service_agreed: settings.accept_terms,
        only_return_existing: false,
    };
    let made = builder(connector).create(&account, settings.directory.clone(), None);
    let (account, credentials) = made.await?;
    let text = Zeroizing::new(serde_json::to_string(&credentials)?);
    storage.save_account(text).await?;
    info!(account = account.id(), "an ACME account was made");
    Ok(account)
}

/// Whether an order failed because the directory does not know the account.
pub(super) fn is_unknown(failure: &Failure) -> bool {
    match failure.downcast_ref::<Error>() {
        Some(Error::Api(problem)) => problem.r#type.as_deref() == Some(UNKNOWN),
        _ => false,
    }
}

fn builder(connector: TlsConnector) -> AccountBuilder {
    Account::builder_with_http(Box::new(Client::new(connector)))
}
