//! TLS to receivers.

use tokio_rustls::TlsConnector;

use crate::tls::client;

/// The certificates that are trusted. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tls(Option<TlsConnector>);

impl Tls {
    /// With this machine's certificates, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    pub(super) fn load() -> Self {
        let roots = client::machine_roots("no webhook can be sent by https");
        Tls(Some(client::connector(roots)))
    }

    pub(super) fn connector(&self) -> Option<&TlsConnector> {
        self.0.as_ref()
    }
}
