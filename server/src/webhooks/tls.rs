//! TLS to receivers.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tracing::warn;

/// The certificates that are trusted. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// With this machine's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    pub(super) fn load() -> Self {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            warn!(errors = ?found.errors, "no webhook can be sent by https: this machine trusts no certificate");
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Tls(Some(TlsConnector::from(Arc::new(config))))
    }

    pub(super) fn connector(&self) -> Option<&TlsConnector> {
        self.0.as_ref()
    }
}
