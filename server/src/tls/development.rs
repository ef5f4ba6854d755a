//! A certificate that nobody has signed, for phones and other machines in the same network.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::certificate::Certificate;

/// How long it is valid. Some clients accept none that is valid for more than 825 days, whoever
/// signed it.
const LIFE: Duration = Duration::from_secs(30 * 86_400);

/// How far the clock of a client may be behind.
const SLACK: Duration = Duration::from_secs(86_400);

/// A certificate for this machine, by these addresses.
///
/// Errors: the operating system gives no randomness.
pub(super) fn certificate(addresses: &[IpAddr], unix: Duration) -> Result<Certificate, Box<dyn Error + Send + Sync>> {
    let mut names = Vec::from(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    let addresses = addresses.iter().filter(|address| !address.is_loopback());
    names.extend(addresses.map(IpAddr::to_string));
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "Weir in development");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + unix.saturating_sub(SLACK);
    params.not_after = epoch + unix + LIFE;
    let key = KeyPair::generate()?;
    let signed = params.self_signed(&key)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok(Certificate::new(vec![signed.der().clone()], key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_for_this_machine_at_this_time() {
        let unix = Duration::from_secs(1_800_000_000);
        let made = certificate(&[[192, 0, 2, 7].into()], unix).unwrap();
        assert_eq!(made.names, ["localhost", "127.0.0.1", "::1", "192.0.2.7"]);
        assert!(made.is_valid_at(unix) && made.is_valid_at(unix - SLACK));
        assert!(!made.is_valid_at(unix + LIFE + Duration::from_secs(1)));
    }
}
