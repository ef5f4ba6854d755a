//! Why a handshake failed.

use std::fmt;
use std::net::SocketAddr;

use southbound::DtlsRole;

/// A handshake that failed, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeFailure {
    /// The peer.
    pub peer: SocketAddr,
    /// Our role in it.
    pub role: DtlsRole,
    /// Why it failed.
    pub fault: HandshakeFault,
}

/// Why a DTLS handshake failed, in words for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeFault {
    /// The peer's certificate is not the one that its description promises.
    Fingerprint,
    /// The peer showed no certificate.
    NoCertificate,
    /// The certificate's key, or the algorithm of a signature, is of a kind that is not verified.
    Kind(String),
    /// A signature is not of the certificate's key: the peer did not prove that it has the key.
    Signature,
    /// The peer has no cipher suite in common with this side.
    CipherSuite,
    /// The peer has no SRTP protection profile in common with this side.
    Profile,
    /// The peer refused by an alert of this name.
    Alert(String),
    /// It took too long.
    Timeout,
    /// Anything else.
    Other(String),
}

impl HandshakeFault {
    /// Whether the peer's certificate is at fault, which another attempt does not change.
    pub(crate) fn is_of_certificate(&self) -> bool {
        use HandshakeFault::{Fingerprint, Kind, NoCertificate, Signature};
        matches!(self, Fingerprint | NoCertificate | Kind(_) | Signature)
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fingerprint => f.write_str("the certificate is not the one in its description"),
            Self::NoCertificate => f.write_str("it shows no certificate"),
            Self::Kind(kind) => write!(f, "its certificate has an unknown kind of key or signature: {kind}"),
            Self::Signature => f.write_str("its signature is not of its certificate's key"),
            Self::CipherSuite => f.write_str("it has no cipher suite in common"),
            Self::Profile => f.write_str("it has no SRTP protection profile in common"),
            Self::Alert(name) => write!(f, "it refused by the alert {name}"),
            Self::Timeout => f.write_str("it took too long"),
            Self::Other(error) => f.write_str(error),
        }
    }
}
