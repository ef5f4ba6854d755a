//! Certificates of a test's own, and clients that trust their issuer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DistinguishedName, DnType,
    IsCa, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long a read may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection over TLS.
pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// An issuer of certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Issued {
    /// Both in PEM.
    pub chain: String,
    /// The private key.
    pub key: String,
    /// The certificate.
    pub der: CertificateDer<'static>,
}

impl Authority {
    /// One that nobody knows.
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("it has no name");
        params.distinguished_name = called("an issuer for a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("there is randomness");
        Authority(CertifiedIssuer::self_signed(params, key).expect("it can sign itself"))
    }

    /// A certificate for these names, which is valid through a year.
    pub(crate) fn issue(&self, names: &[&str], last_year: i32) -> Issued {
        let texts: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(texts).expect("these are names");
        params.distinguished_name = called(names[0]);
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = params.signed_by(&key, &self.0).expect("it can sign");
        Issued {
            chain: certificate.pem(),
            key: key.serialize_pem(),
            der: certificate.der().clone(),
        }
    }

    /// A certificate for a request in DER; `None` if that cannot be read.
    pub(crate) fn sign(&self, request: Vec<u8>) -> Option<String> {
        let request = CertificateSigningRequestParams::from_der(&request.into()).ok()?;
        let certificate = request.signed_by(&self.0).ok()?;
        Some(certificate.pem())
    }

    /// Its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Its own certificate.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A client that trusts it, and speaks these protocols.
    pub(crate) fn client(&self, protocols: &[&str]) -> Arc<ClientConfig> {
        client(self.der(), protocols)
    }
}

/// A client that trusts one issuer, and speaks these protocols.
pub(crate) fn client(root: CertificateDer<'static>, protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(root).expect("it is an issuer");
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// Connects to a port of this machine that serves a name.
///
/// Errors: those of the connection and of the handshake.
pub(crate) fn connect(config: &Arc<ClientConfig>, port: u16, name: &str) -> io::Result<Stream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let name = ServerName::try_from(name.to_owned()).expect("it is a name");
    let mut connection = ClientConnection::new(config.clone(), name).expect("the settings are whole");
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// The answer to a request, head and body.
///
/// Errors: those of the connection.
pub(crate) fn get(mut stream: Stream, name: &str, path: &str) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The certificate that a server has shown.
pub(crate) fn shown(stream: &Stream) -> CertificateDer<'static> {
    let chain = stream.conn.peer_certificates().expect("it has shown one");
    chain[0].clone().into_owned()
}

/// A folder of a test, which is removed with this.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    /// An empty one.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-front-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Puts files of a certificate into place, and returns how a configuration names them.
    pub(crate) fn put(&self, name: &str, issued: &Issued) -> String {
        let [chain, key] = ["chain", "key"].map(|part| self.0.join(format!("{name}-{part}.pem")));
        replace(&chain, &issued.chain);
        replace(&key, &issued.key);
        format!("{{chain: {}, key: {}}}", chain.display(), key.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is ours.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Replaces a file as a whole.
pub(crate) fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("a file");
    std::fs::rename(new, path).expect("they are in one folder");
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}
