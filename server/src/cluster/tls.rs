//! Mutual TLS between the machines of a cluster, with a certificate that may be replaced.

mod followed_files;

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig, version};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use zeroize::Zeroizing;

use super::peer::Peer;
use crate::cli::Role;
use crate::config::ClusterFiles;
use crate::os::{clock, refused};
use crate::tls::certificate::{Validity, seconds, validity};
pub(crate) use followed_files::FollowedFiles;

/// HTTP/2 in ALPN (RFC 9113 section 3.2), which controllers and media nodes speak.
const HTTP_2: &[u8] = b"h2";

/// HTTP/1.1 in ALPN (RFC 7301 section 6), in which controllers pass requests on.
const HTTP_1: &[u8] = b"http/1.1";

/// The messages between relays of SIP calls in ALPN.
const SIP_1: &[u8] = b"weir-sip/1";

/// The longest file that is read. Shape: bytes.
const FILE_MAX: u64 = 1 << 20;

/// A machine's certificate, for both ends of connections. Connections that there are keep the one
/// that they began with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ClusterTls(Arc<RwLock<Ends>>);

/// Both ends, with a certificate as its files were read.
struct Ends {
    southbound: TlsPair,
    forwarding: TlsPair,
    relays: TlsPair,
    digest: FilesDigest,
    validity: Validity,
    roles: Vec<Role>,
    /// The name of this machine in it.
    name: Arc<str>,
}

/// The SHA-256 digest of the files of a certificate.
type FilesDigest = [u8; 32];

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
        Ok(Self(Arc::new(RwLock::new(Ends::load(files)?))))
    }

    /// Reads the files again. One that is not valid at this time takes the place of none that is.
    /// Returns whether they have changed.
    ///
    /// Errors: those of [`load`](Self::load), or the time is over. The certificate stays.
    fn reload(&self, files: &ClusterFiles) -> Result<bool, String> {
        let texts = Texts::read(files)?;
        let (digest, before) = self.with(|ends| (ends.digest, ends.validity));
        if texts.digest() == digest {
            return Ok(false);
        }
        let ends = Ends::of(&texts, files)?;
        if before.contains(now()) && !ends.validity.contains(now()) {
            let path = files.certificate.display();
            return Err(format!("{path}: the certificate is not valid at this time"));
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = ends;
        Ok(true)
    }

    /// For connections that others make. They need a certificate of the cluster.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.with(|ends| ends.southbound.acceptor.clone())
    }

    /// For connections to others. The name to check is that of a
    /// [`Role`](crate::cli::Role).
    pub(crate) fn connector(&self) -> TlsConnector {
        self.with(|ends| ends.southbound.connector.clone())
    }

    fn validity(&self) -> Validity {
        self.with(|ends| ends.validity)
    }

    fn with<T>(&self, read: impl FnOnce(&Ends) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// For connections over which other controllers pass requests on.
    pub(crate) fn forward_acceptor(&self) -> TlsAcceptor {
        self.with(|ends| ends.forwarding.acceptor.clone())
    }

    /// For connections to other controllers, to pass requests on.
    pub(crate) fn forward_connector(&self) -> TlsConnector {
        self.with(|ends| ends.forwarding.connector.clone())
    }

    /// For connections of other relays of SIP calls.
    pub(crate) fn relay_acceptor(&self) -> TlsAcceptor {
        self.with(|ends| ends.relays.acceptor.clone())
    }

    /// For connections to other relays of SIP calls.
    pub(crate) fn relay_connector(&self) -> TlsConnector {
        self.with(|ends| ends.relays.connector.clone())
    }

    /// The name of this machine, as others read it.
    pub(crate) fn name(&self) -> Arc<str> {
        self.with(|ends| ends.name.clone())
    }

    /// Whether this machine's certificate permits a role.
    pub(crate) fn has_role(&self, role: Role) -> bool {
        self.with(|ends| ends.roles.contains(&role))
    }
}

impl Ends {
    fn load(files: &ClusterFiles) -> Result<Self, String> {
        Self::of(&Texts::read(files)?, files)
    }

    fn of(texts: &Texts, files: &ClusterFiles) -> Result<Self, String> {
        let Texts { ca, certificate, key } = texts;
        let named = |path: &Path, error: String| format!("{}: {error}", path.display());
        let mut roots = RootCertStore::empty();
        for root in chain(ca).map_err(|error| named(&files.ca, error))? {
            roots.add(root).map_err(|error| named(&files.ca, error.to_string()))?;
        }
        let chain = chain(certificate).map_err(|error| named(&files.certificate, error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| named(&files.key, error.to_string()))?;
        let error = |error: rustls::Error| named(&files.certificate, error.to_string());
        let validity = chain.first().and_then(validity);
        let validity = validity.ok_or_else(|| named(&files.certificate, "it is malformed".to_owned()))?;
        let own = chain.first().and_then(Peer::of);
        let roles = Role::ALL.into_iter();
        let roles = roles.filter(|role| own.as_ref().is_some_and(|own| own.has_role(*role)));
        let roles = roles.collect();
        let [southbound, forwarding, relays] = ends(roots, chain, key).map_err(error)?;
        Ok(Self {
            southbound,
            forwarding,
            relays,
            digest: texts.digest(),
            validity,
            roles,
            name: own.map_or_else(|| "".into(), |own| own.name),
        })
    }
}

/// Both ends of connections of one protocol.
struct TlsPair {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

/// The ends of connections with one certificate: southbound, between controllers, and between
/// relays of SIP calls.
fn ends(
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<[TlsPair; 3], rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())?;
    // Each connection proves its certificate: an older one may have ended since.
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    // The same, for an end that has another certificate than before.
    client.resumption = Resumption::disabled();
    Ok([HTTP_2, HTTP_1, SIP_1].map(|protocol| {
        let (mut server, mut client) = (server.clone(), client.clone());
        server.alpn_protocols = vec![protocol.to_vec()];
        client.alpn_protocols = vec![protocol.to_vec()];
        TlsPair {
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
        }
    }))
}

/// The contents of the files of a certificate.
struct Texts {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl Texts {
    fn read(files: &ClusterFiles) -> Result<Self, String> {
        Ok(Self {
            ca: read(&files.ca)?,
            certificate: read(&files.certificate)?,
            key: Zeroizing::new(read(&files.key)?),
        })
    }

    fn digest(&self) -> FilesDigest {
        let mut digest = Sha256::new();
        for text in [&self.ca, &self.certificate, &*self.key] {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        }
        digest.finalize().into()
    }
}

fn now() -> i64 {
    seconds(clock::unix())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error| refused::file(path, &error);
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(format!("{} is no regular file", path.display()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    match u64::try_from(bytes.len()) {
        Ok(0..=FILE_MAX) => Ok(bytes),
        _ => Err(format!("{}: the file is longer than {FILE_MAX} bytes", path.display())),
    }
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(error.to_string()),
    }
}
