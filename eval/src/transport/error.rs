use std::io;

/// Why a transport failed. All are final for it.
#[derive(Debug)]
pub enum TransportError {
    /// The machine refused a socket operation.
    Socket(io::Error),
    /// The route to the server could not be opened.
    Route(io::Error),
    /// The server's DTLS failed or timed out.
    Dtls(dimpl::Error),
    /// The server's certificate is not the one its description announced.
    Fingerprint,
    /// The server chose an SRTP profile that this client does not have.
    Profile(dimpl::SrtpProfile),
}

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(error) => write!(f, "socket: {error}"),
            Self::Route(error) => write!(f, "route: {error}"),
            Self::Dtls(error) => write!(f, "DTLS: {error}"),
            Self::Fingerprint => write!(f, "the server's certificate is not the announced one"),
            Self::Profile(profile) => write!(f, "SRTP profile {profile} is not supported"),
        }
    }
}

impl std::error::Error for TransportError {}
