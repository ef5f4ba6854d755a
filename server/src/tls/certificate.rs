//! One certificate with its key, ready for handshakes.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WantsServerCert;
use tokio_rustls::rustls::{self, ConfigBuilder, ServerConfig};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The protocols above TLS, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [HTTP_2, b"http/1.1"];

/// HTTP/2 in ALPN (RFC 9113 section 3.2).
pub(super) const HTTP_2: &[u8] = b"h2";

/// A certificate, with its chain and its key.
#[derive(Debug)]
pub(crate) struct Certificate {
    /// The names and addresses that it is for. Names are in lower case, and may begin with `*.`.
    pub names: Vec<String>,
    /// The Unix time from which it is valid.
    pub not_before: i64,
    /// The last Unix time at which it is valid.
    pub not_after: i64,
    config: Arc<ServerConfig>,
    leaf: CertificateDer<'static>,
}

/// Why a certificate cannot be served.
#[derive(Debug)]
pub(crate) enum Invalid {
    /// The chain is not PEM.
    Chain(pem::Error),
    /// There is no certificate in the chain.
    Empty,
    /// The key is not PEM, or there is none.
    Key(pem::Error),
    /// The first certificate of the chain cannot be parsed.
    Malformed(String),
    /// It has no name in its extension for names (RFC 5280 section 4.2.1.6).
    Nameless,
    /// Key and certificate do not belong together, or are of a kind that TLS does not use.
    Unusable(rustls::Error),
}

impl Certificate {
    /// Reads the chain, the server's certificate first, and the key.
    ///
    /// Errors: one of them is malformed, or they do not belong together. A certificate that is not
    /// valid at this time is no error.
    pub(crate) fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, Invalid> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(Invalid::Key);
        Self::new(chain.map_err(Invalid::Chain)?, key?)
    }

    /// Puts chain and key together.
    ///
    /// Errors: as [`from_pem`](Self::from_pem).
    pub(crate) fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self, Invalid> {
        let leaf = chain.first().cloned().ok_or(Invalid::Empty)?;
        let Contents {
            names,
            not_before,
            not_after,
        } = contents(&leaf)?;
        let mut config = builder().with_single_cert(chain, key).map_err(Invalid::Unusable)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Certificate {
            names,
            not_before,
            not_after,
            config: Arc::new(config),
            leaf,
        })
    }

    /// The settings of a handshake.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// Whether it is valid at this time.
    pub(crate) fn is_valid_at(&self, unix: Duration) -> bool {
        (self.not_before..=self.not_after).contains(&seconds(unix))
    }

    /// The Unix time from which a later certificate should replace it: when two thirds of its life
    /// have passed.
    pub(super) fn renewal(&self) -> i64 {
        self.not_before + (self.not_after - self.not_before) / 3 * 2
    }

    /// The SHA-256 fingerprint, as browsers show it.
    pub(crate) fn fingerprint(&self) -> String {
        let digest = Sha256::digest(&self.leaf);
        let bytes: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
        bytes.join(":")
    }
}

/// The time in which a certificate is valid. Shape: Unix times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validity {
    /// The second from which on it is valid.
    pub begin: i64,
    /// The last second in which it is valid.
    pub end: i64,
}

impl Validity {
    /// Whether this second is in it.
    pub(crate) fn contains(self, second: i64) -> bool {
        (self.begin..=self.end).contains(&second)
    }
}

/// The time in which a certificate is valid.
///
/// Errors: `None` if it is malformed.
pub(crate) fn validity(certificate: &CertificateDer<'_>) -> Option<Validity> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let validity = certificate.validity();
    Some(Validity {
        begin: validity.not_before.timestamp(),
        end: validity.not_after.timestamp(),
    })
}

/// A Unix time in whole seconds, as in certificates.
pub(crate) fn seconds(unix: Duration) -> i64 {
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}

/// Settings of a server without client certificates.
pub(super) fn builder() -> ConfigBuilder<ServerConfig, WantsServerCert> {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has TLS 1.2 and 1.3")
        .with_no_client_auth()
}

/// The fields of a certificate that matter here.
struct Contents {
    names: Vec<String>,
    not_before: i64,
    not_after: i64,
}

fn contents(leaf: &CertificateDer<'_>) -> Result<Contents, Invalid> {
    let (_, certificate) = parse_x509_certificate(leaf).map_err(|error| Invalid::Malformed(error.to_string()))?;
    let extension = certificate
        .subject_alternative_name()
        .map_err(|error| Invalid::Malformed(error.to_string()))?;
    let Some(extension) = extension else {
        return Err(Invalid::Nameless);
    };
    let names: Vec<String> = extension.value.general_names.iter().filter_map(name).collect();
    if names.is_empty() {
        return Err(Invalid::Nameless);
    }
    let validity = certificate.validity();
    Ok(Contents {
        names,
        not_before: validity.not_before.timestamp(),
        not_after: validity.not_after.timestamp(),
    })
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Chain(error) => write!(f, "the certificates are not PEM: {error}"),
            Invalid::Empty => write!(f, "there is no certificate in the chain"),
            Invalid::Key(error) => write!(f, "there is no private key in PEM: {error}"),
            Invalid::Malformed(error) => write!(f, "the certificate cannot be parsed: {error}"),
            Invalid::Nameless => write!(f, "the certificate has no subject alternative name"),
            Invalid::Unusable(error) => write!(f, "certificate and key cannot be used: {error}"),
        }
    }
}

impl std::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn names_and_times_are_read() {
        let names = ["Weir.Example", "*.weir.example", "192.0.2.1", "2001:db8::1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 4, 1);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let read = Certificate::from_pem(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
        assert_eq!(
            read.names,
            ["weir.example", "*.weir.example", "192.0.2.1", "2001:db8::1"]
        );
        const DAY: i64 = 86_400;
        assert_eq!(read.not_after - read.not_before, 90 * DAY);
        assert_eq!(read.renewal() - read.not_before, 60 * DAY);
        let at = |unix: i64| read.is_valid_at(Duration::from_secs(unix.try_into().unwrap()));
        assert!(at(read.not_before) && at(read.not_after));
        assert!(!at(read.not_before - 1) && !at(read.not_after + 1));
        assert_eq!(read.fingerprint().len(), 32 * 3 - 1);
    }

    #[test]
    fn chain_and_key_must_be_there_and_belong_together() {
        let make = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(names).unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let (chain, key) = make(&["a.example"]);
        let (_, other) = make(&["a.example"]);
        let (nameless, its_key) = make(&[]);
        let error = |chain: &str, key: &str| Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err();
        assert!(matches!(error("", &key), Invalid::Empty));
        assert!(matches!(error(&chain, ""), Invalid::Key(_)));
        assert!(matches!(error(&chain, &other), Invalid::Unusable(_)));
        assert!(matches!(error(&nameless, &its_key), Invalid::Nameless));
        let broken = chain.replace("END", "EN");
        assert!(matches!(error(&broken, &key), Invalid::Chain(_)));
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(error(garbage, &key), Invalid::Malformed(_)));
    }
}
