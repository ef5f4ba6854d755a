//! Mutual TLS between the machines of a cluster.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig, version};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use crate::cli::Role;
use crate::config::ClusterFiles;
use crate::os::refused;

/// HTTP/2 in ALPN (RFC 9113 section 3.2).
const HTTP_2: &[u8] = b"h2";

/// The longest file that is read. Shape: bytes.
const FILE_MAX: u64 = 1 << 20;

/// A machine's certificate, for both ends of connections. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ClusterTls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

impl fmt::Debug for ClusterTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterTls")
    }
}

impl ClusterTls {
    /// Reads the files.
    ///
    /// Errors: one of them cannot be read or is malformed, or they do not belong together.
    pub(crate) fn load(files: &ClusterFiles) -> Result<Self, String> {
        let (ca, certificate, key) = (read(&files.ca)?, read(&files.certificate)?, read(&files.key)?);
        let named = |path: &Path, error: String| format!("{}: {error}", path.display());
        let mut roots = RootCertStore::empty();
        for root in chain(&ca).map_err(|error| named(&files.ca, error))? {
            roots.add(root).map_err(|error| named(&files.ca, error.to_string()))?;
        }
        let chain = chain(&certificate).map_err(|error| named(&files.certificate, error))?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| named(&files.key, error.to_string()))?;
        let error = |error: rustls::Error| named(&files.certificate, error.to_string());
        Self::new(roots, chain, key).map_err(error)
    }

    fn new(
        roots: RootCertStore,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())?;
        server.alpn_protocols = vec![HTTP_2.to_vec()];
        // Each connection proves its certificate: an older one may have ended since.
        server.send_tls13_tickets = 0;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        client.alpn_protocols = vec![HTTP_2.to_vec()];
        Ok(Self {
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
        })
    }

    /// For connections that others make. They need a certificate of the cluster.
    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// For connections to others. The name to check is that of a [`Role`].
    pub(crate) fn connector(&self) -> &TlsConnector {
        &self.connector
    }
}

/// Whether a certificate permits a role. Its issuer was checked before.
pub(crate) fn has_role(certificate: &CertificateDer<'_>, role: Role) -> bool {
    let Ok((_, certificate)) = parse_x509_certificate(certificate) else {
        return false;
    };
    let Ok(Some(names)) = certificate.subject_alternative_name() else {
        return false;
    };
    let mut names = names.value.general_names.iter();
    names.any(|name| matches!(name, GeneralName::DNSName(name) if *name == role.name()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let len = fs::metadata(path).map_err(|error| refused::file(path, &error))?.len();
    if len > FILE_MAX {
        return Err(format!("{}: the file is longer than {FILE_MAX} bytes", path.display()));
    }
    fs::read(path).map_err(|error| refused::file(path, &error))
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(error.to_string()),
    }
}
