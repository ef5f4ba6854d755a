//! The WebSocket side of the LiveKit protocol.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use livekit_api::access_token::{AccessToken, VideoGrants};
use livekit_protocol::{SignalRequest, SignalResponse, signal_request, signal_response};
use prost::Message as _;
use tungstenite::{Message, WebSocket};

/// Why a participant could not join, or was lost.
#[derive(Debug)]
pub enum SignalError {
    /// The operator gave an address that names no server.
    Address(String),
    /// The server could not be reached, or went away.
    Network(std::io::Error),
    /// The server refused, or broke the WebSocket protocol.
    Refused(String),
    /// The server sent what is no message of the LiveKit protocol.
    Malformed(prost::DecodeError),
}

/// Where a server is, and the right to join its rooms.
#[derive(Clone, Debug)]
pub struct Server {
    host: String,
    address: SocketAddr,
    key: String,
    secret: String,
}

impl Server {
    /// Resolves `ws://host:port`.
    pub fn new(url: &str, key: &str, secret: &str) -> Result<Self, SignalError> {
        let unusable = || SignalError::Address(format!("{url}: expected ws://host:port"));
        let host = url.strip_prefix("ws://").ok_or_else(unusable)?.trim_end_matches('/');
        let address = host
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .ok_or_else(unusable)?;
        Ok(Self {
            host: host.into(),
            address,
            key: key.into(),
            secret: secret.into(),
        })
    }

    /// The server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn token(&self, room: &str, identity: &str) -> Result<String, SignalError> {
        let grants = VideoGrants {
            room_join: true,
            room: room.into(),
            ..VideoGrants::default()
        };
        AccessToken::with_api_key(&self.key, &self.secret)
            .with_identity(identity)
            .with_name(identity)
            .with_ttl(Duration::from_secs(6 * 3600))
            .with_grants(grants)
            .to_jwt()
            .map_err(|error| SignalError::Refused(error.to_string()))
    }
}

/// One participant's signalling connection.
pub struct Signal {
    socket: WebSocket<TcpStream>,
}

/// A server that takes longer to answer is taken for gone.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl Signal {
    /// Connects; blocks until the server has accepted the connection. `query` goes behind the token.
    pub fn connect(server: &Server, path: &str, query: &str, room: &str, identity: &str) -> Result<Self, SignalError> {
        let token = server.token(room, identity)?;
        let stream = TcpStream::connect_timeout(&server.address, CONNECT_TIMEOUT).map_err(SignalError::Network)?;
        stream
            .set_read_timeout(Some(CONNECT_TIMEOUT))
            .map_err(SignalError::Network)?;
        stream.set_nodelay(true).map_err(SignalError::Network)?;
        let url = format!("ws://{}{path}?access_token={token}{query}", server.host);
        let (socket, _) =
            tungstenite::client(url, stream).map_err(|refusal| SignalError::Refused(refusal.to_string()))?;
        socket.get_ref().set_nonblocking(true).map_err(SignalError::Network)?;
        Ok(Self { socket })
    }

    /// The connection, for waiting on it.
    pub fn stream(&self) -> &TcpStream {
        self.socket.get_ref()
    }

    /// Sends a request.
    pub fn send(&mut self, message: signal_request::Message) -> Result<(), SignalError> {
        let bytes = SignalRequest { message: Some(message) }.encode_to_vec();
        match self.socket.send(Message::Binary(bytes.into())) {
            Ok(()) => Ok(()),
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(broken(error)),
        }
    }

    /// The next response that has arrived, or `None`.
    pub fn poll(&mut self) -> Result<Option<signal_response::Message>, SignalError> {
        loop {
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => {
                    let response = SignalResponse::decode(bytes.as_ref()).map_err(SignalError::Malformed)?;
                    if response.message.is_some() {
                        return Ok(response.message);
                    }
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Tells the server that the connection ends.
    pub fn close(&mut self) {
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }
}

fn broken(error: tungstenite::Error) -> SignalError {
    match error {
        tungstenite::Error::Io(error) => SignalError::Network(error),
        other => SignalError::Refused(other.to_string()),
    }
}

impl std::fmt::Display for SignalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(text) => write!(f, "unusable server address {text}"),
            Self::Network(error) => write!(f, "the server cannot be reached: {error}"),
            Self::Refused(text) => write!(f, "the server refused: {text}"),
            Self::Malformed(error) => write!(f, "the server's message cannot be read: {error}"),
        }
    }
}

impl std::error::Error for SignalError {}
