use std::io;
use std::sync::Arc;

use dimpl::DtlsCertificate;

use super::error::TransportError;

/// Identity that all clients of the generator share. One certificate costs less than one for each
/// client, and servers accept it.
pub struct Identity {
    pub(super) certificate: DtlsCertificate,
    pub(super) fingerprint: String,
    pub(super) config: Arc<dimpl::Config>,
}

impl Identity {
    /// Makes a certificate.
    pub fn new() -> Result<Self, TransportError> {
        let certificate = dimpl::certificate::generate_self_signed_certificate()
            .map_err(|error| TransportError::Socket(io::Error::other(error.to_string())))?;
        let config = dimpl::Config::builder().build().map_err(TransportError::Dtls)?;
        Ok(Self {
            fingerprint: fingerprint(&certificate.certificate),
            certificate,
            config: Arc::new(config),
        })
    }
}

/// The value of `a=fingerprint` for a certificate.
pub(crate) fn fingerprint(certificate: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let bytes: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    format!("sha-256 {}", bytes.join(":"))
}
