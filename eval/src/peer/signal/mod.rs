//! The WebSocket side of the LiveKit protocol.

mod server;
mod traffic;

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use livekit_protocol::{SignalRequest, SignalResponse, signal_request, signal_response};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket};
use prost::Message as _;
use tungstenite::handshake::HandshakeError;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::client::ClientHandshake;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket};

pub use server::{Admission, Server};
pub use traffic::{Count, Purpose, Traffic};

/// Why a participant could not join, or was lost.
#[derive(Debug)]
pub enum SignalError {
    /// The operator gave an address that names no server.
    Address(String),
    /// The server could not be reached, or went away.
    Network(std::io::Error),
    /// The server closed the connection, and said why.
    Closed(String),
    /// The server refused, or broke the WebSocket protocol.
    Refused(String),
    /// The server sent what is no message of the LiveKit protocol.
    Malformed(prost::DecodeError),
}

/// One participant's signalling connection. It never blocks: many connect at the same time.
pub struct Signal {
    state: State,
    traffic: Traffic,
}

enum State {
    /// The TCP connection is being made; then a WebSocket is asked for at this address.
    Connecting(TcpStream, String),
    /// The server has still to accept the WebSocket.
    Upgrading(MidHandshake<ClientHandshake<TcpStream>>),
    /// Messages flow.
    Open(Box<WebSocket<TcpStream>>),
    /// It failed.
    Failed,
}

impl Signal {
    /// Begins to connect; `epoll` reports with `token` whenever [`poll`](Self::poll) has something to do. `query` goes
    /// behind the token.
    pub fn connect(
        server: &Server,
        (path, query): (&str, &str),
        admission: Admission<'_>,
        (epoll, token): (&Epoll, u64),
    ) -> Result<Self, SignalError> {
        let url = server.url(path, query, admission)?;
        let stream = begin_connecting(server).map_err(SignalError::Network)?;
        // Edges: a connection that can be written to, as most can always, must not wake anybody.
        let interest = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        epoll
            .add(&stream, EpollEvent::new(interest, token))
            .map_err(|error| SignalError::Network(error.into()))?;
        Ok(Self {
            state: State::Connecting(stream, url),
            traffic: Traffic::default(),
        })
    }

    /// What the server has signalled so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Sends a request; there is none to send before the server has accepted the connection.
    ///
    /// Errors: none here. A connection that the server closed is found by [`poll`](Self::poll), behind what the server said
    /// last.
    pub fn send(&mut self, message: signal_request::Message) {
        if let State::Open(socket) = &mut self.state {
            let bytes = SignalRequest { message: Some(message) }.encode_to_vec();
            let _ = socket.send(Message::Binary(bytes.into()));
        }
    }

    /// The next response that has arrived, or `None`.
    pub fn poll(&mut self) -> Result<Option<signal_response::Message>, SignalError> {
        self.advance()?;
        let State::Open(socket) = &mut self.state else {
            return Ok(None);
        };
        loop {
            match socket.read() {
                Ok(Message::Binary(bytes)) => {
                    let response = SignalResponse::decode(bytes.as_ref()).map_err(SignalError::Malformed)?;
                    if let Some(message) = response.message {
                        self.traffic.count(&message, bytes.len());
                        return Ok(Some(message));
                    }
                }
                Ok(Message::Close(frame)) => return Err(SignalError::Closed(frame.map_or_else(String::new, closing))),
                Ok(_) => {}
                // What did not fit the kernel's buffer before may do so now.
                Err(error) if would_block(&error) => match socket.flush() {
                    Err(error) if !would_block(&error) => return Err(broken(error)),
                    _ => return Ok(None),
                },
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Goes as far towards an open connection as the network lets it.
    fn advance(&mut self) -> Result<(), SignalError> {
        let shaken = match std::mem::replace(&mut self.state, State::Failed) {
            State::Connecting(stream, url) => {
                if let Some(error) = stream.take_error().map_err(SignalError::Network)? {
                    return Err(SignalError::Network(error));
                }
                if stream.peer_addr().is_err() {
                    self.state = State::Connecting(stream, url);
                    return Ok(());
                }
                tungstenite::client(url, stream)
            }
            State::Upgrading(handshake) => handshake.handshake(),
            other => {
                self.state = other;
                return Ok(());
            }
        };
        self.state = match shaken {
            Ok((socket, _)) => State::Open(Box::new(socket)),
            Err(HandshakeError::Interrupted(handshake)) => State::Upgrading(handshake),
            Err(HandshakeError::Failure(error)) => return Err(broken(error)),
        };
        Ok(())
    }

    /// Tells the server that the connection ends. Whoever leaves does not wait for an answer.
    pub fn close(&mut self) {
        if let State::Open(socket) = &mut self.state {
            let _ = socket.close(None);
            let _ = socket.flush();
        }
    }
}

fn begin_connecting(server: &Server) -> io::Result<TcpStream> {
    let address = SockaddrStorage::from(server.address());
    let family = if server.address().is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let stream = TcpStream::from(socket(family, SockType::Stream, flags, None)?);
    stream.set_nodelay(true)?;
    match connect(stream.as_raw_fd(), &address) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}

fn closing(frame: CloseFrame) -> String {
    format!("{} {}", u16::from(frame.code), frame.reason)
}

fn would_block(error: &tungstenite::Error) -> bool {
    matches!(error, tungstenite::Error::Io(error) if error.kind() == ErrorKind::WouldBlock)
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
            Self::Closed(reason) => write!(f, "the server closed the connection: {reason}"),
            Self::Refused(text) => write!(f, "the server refused: {text}"),
            Self::Malformed(error) => write!(f, "the server's message cannot be read: {error}"),
        }
    }
}

impl std::error::Error for SignalError {}
