//! Signalling between a participant and its server: the LiveKit protocol, or a translation to
//! another one.

mod connection;
mod janus;
mod server;
mod traffic;

use std::io;

use livekit_protocol::{SignalRequest, SignalResponse, signal_request, signal_response};
use nix::sys::epoll::Epoll;
use prost::Message as _;
use tungstenite::{ClientRequestBuilder, Message};

use connection::Connection;
use janus::Janus;

pub(crate) use server::Admission;
pub use server::Server;
pub use traffic::{Count, Purpose, Traffic};

/// Why a participant could not join, or was lost.
#[derive(Debug)]
pub enum SignalError {
    /// The operator gave an address that names no server.
    Address(String),
    /// The server could not be reached, or went away.
    Network(io::Error),
    /// The server closed the connection, with this reason.
    Closed(String),
    /// The server refused, or broke the WebSocket protocol.
    Refused(String),
    /// The server sent an invalid message.
    Malformed(String),
}

/// The protocol on the connection.
enum Language {
    LiveKit,
    Janus(Box<Janus>),
}

/// One participant's signalling connection. It never blocks: many connect at the same time.
pub struct Signal {
    connection: Connection,
    language: Language,
    traffic: Traffic,
}

impl Signal {
    /// Begins to connect; `epoll` reports with `token` whenever [`poll`](Self::poll) has work.
    /// `query` follows the token.
    pub fn connect(
        server: &Server,
        (path, query): (&str, &str),
        admission: Admission<'_>,
        waiting: (&Epoll, u64),
    ) -> Result<Self, SignalError> {
        let request = request(&server.url(path, query, admission)?)?;
        Ok(Self {
            connection: Connection::begin(server.address(), request, waiting)?,
            language: Language::LiveKit,
            traffic: Traffic::default(),
        })
    }

    /// The same with a Janus, which admits everybody; `subscribes` is whether to subscribe to
    /// others.
    pub fn connect_to_janus(
        server: &Server,
        admission: Admission<'_>,
        subscribes: bool,
        waiting: (&Epoll, u64),
    ) -> Result<Self, SignalError> {
        let request = request(&server.root())?.with_sub_protocol(janus::PROTOCOL);
        Ok(Self {
            connection: Connection::begin(server.address(), request, waiting)?,
            language: Language::Janus(Box::new(Janus::new(admission, subscribes))),
            traffic: Traffic::default(),
        })
    }

    /// Messages that the server has signalled so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Sends a request; there is none to send before the server has accepted the connection.
    ///
    /// Errors: none here. A connection that the server closed is found by [`poll`](Self::poll),
    /// after the server's last message.
    pub fn send(&mut self, message: signal_request::Message) {
        match &mut self.language {
            Language::LiveKit => {
                let bytes = SignalRequest { message: Some(message) }.encode_to_vec();
                self.connection.send(Message::Binary(bytes.into()));
            }
            Language::Janus(janus) => {
                janus.ask(message);
                janus.drain(&mut self.connection);
            }
        }
    }

    /// The next response that has arrived, or `None`.
    pub fn poll(&mut self) -> Result<Option<signal_response::Message>, SignalError> {
        self.connection.advance()?;
        loop {
            if let Language::Janus(janus) = &mut self.language {
                if self.connection.is_open() {
                    janus.begin();
                    janus.drain(&mut self.connection);
                }
                if let Some((message, bytes)) = janus.translated() {
                    self.traffic.count(&message, bytes);
                    return Ok(Some(message));
                }
            }
            let Some(read) = self.connection.read()? else {
                return Ok(None);
            };
            match (&mut self.language, read) {
                (Language::LiveKit, Message::Binary(bytes)) => {
                    let response = SignalResponse::decode(bytes.as_ref())
                        .map_err(|error| SignalError::Malformed(error.to_string()))?;
                    if let Some(message) = response.message {
                        self.traffic.count(&message, bytes.len());
                        return Ok(Some(message));
                    }
                }
                (Language::Janus(janus), Message::Text(text)) => janus.hear(&text)?,
                _ => {}
            }
        }
    }

    /// Tells the server that the connection ends. Does not wait for the server's answer.
    pub fn close(&mut self) {
        self.connection.close();
    }
}

fn request(url: &str) -> Result<ClientRequestBuilder, SignalError> {
    let unusable = |error: tungstenite::http::uri::InvalidUri| SignalError::Address(format!("{url}: {error}"));
    Ok(ClientRequestBuilder::new(url.parse().map_err(unusable)?))
}

impl std::fmt::Display for SignalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(text) => write!(f, "unusable server address {text}"),
            Self::Network(error) => write!(f, "the server cannot be reached: {error}"),
            Self::Closed(reason) => write!(f, "the server closed the connection: {reason}"),
            Self::Refused(text) => write!(f, "the server refused: {text}"),
            Self::Malformed(error) => write!(f, "the server's message cannot be read: {error}"),
        }
    }
}

impl std::error::Error for SignalError {}
