//! TLS as a client: to receivers of webhooks, and to ACME directories.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tracing::warn;

/// A client that trusts these certificates.
pub(crate) fn connector(roots: RootCertStore) -> TlsConnector {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// This machine's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name. `purpose`
/// says in the log what is not possible without any.
pub(crate) fn machine_roots(purpose: &str) -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        warn!(errors = ?found.errors, "{purpose}: this machine trusts no certificate");
    }
    roots
}

/// The certificates in a file.
///
/// Errors: it cannot be read, or is not PEM.
pub(super) fn roots_in(path: &Path) -> Result<RootCertStore, pem::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add_parsable_certificates([certificate?]);
    }
    match roots.is_empty() {
        true => Err(pem::Error::NoItemsFound),
        false => Ok(roots),
    }
}
