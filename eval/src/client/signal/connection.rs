//! A WebSocket that never blocks.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket};
use tungstenite::handshake::HandshakeError;
use tungstenite::handshake::MidHandshake;
use tungstenite::handshake::client::ClientHandshake;
use tungstenite::protocol::CloseFrame;
use tungstenite::{ClientRequestBuilder, Message, WebSocket};

use super::SignalError;

/// A WebSocket from the first step of its making to its end.
pub(crate) struct Connection(State);

enum State {
    /// The TCP connection is being made; then a WebSocket is asked for in this way.
    Connecting(TcpStream, ClientRequestBuilder),
    /// The server has still to accept the WebSocket.
    Upgrading(MidHandshake<ClientHandshake<TcpStream>>),
    /// Messages flow.
    Open(Box<WebSocket<TcpStream>>),
    /// It failed.
    Failed,
}

impl Connection {
    /// Begins to connect; `epoll` reports with `token` whenever there may be something to do.
    pub(crate) fn begin(
        address: SocketAddr,
        request: ClientRequestBuilder,
        (epoll, token): (&Epoll, u64),
    ) -> Result<Self, SignalError> {
        let stream = begin_connecting(address).map_err(SignalError::Network)?;
        // Edges: a connection that can be written to, as most can always, must not wake anybody.
        let interest = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        epoll
            .add(&stream, EpollEvent::new(interest, token))
            .map_err(|error| SignalError::Network(error.into()))?;
        Ok(Self(State::Connecting(stream, request)))
    }

    /// Whether messages flow.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.0, State::Open(_))
    }

    /// Sends a message; there is none to send before the server has accepted the connection.
    ///
    /// Errors: none here. A connection that the server closed is found by [`read`](Self::read),
    /// after the server's last message.
    pub(crate) fn send(&mut self, message: Message) {
        if let State::Open(socket) = &mut self.0 {
            let _ = socket.send(message);
        }
    }

    /// The next message that has arrived, or `None`.
    pub(crate) fn read(&mut self) -> Result<Option<Message>, SignalError> {
        let State::Open(socket) = &mut self.0 else {
            return Ok(None);
        };
        loop {
            match socket.read() {
                Ok(Message::Close(frame)) => return Err(SignalError::Closed(frame.map_or_else(String::new, closing))),
                Ok(message @ (Message::Binary(_) | Message::Text(_))) => return Ok(Some(message)),
                Ok(_) => {}
                // Data that did not fit into the kernel's buffer earlier may fit now.
                Err(error) if would_block(&error) => match socket.flush() {
                    Err(error) if !would_block(&error) => return Err(broken(error)),
                    _ => return Ok(None),
                },
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Goes as far towards an open connection as the network lets it.
    pub(crate) fn advance(&mut self) -> Result<(), SignalError> {
        let shaken = match std::mem::replace(&mut self.0, State::Failed) {
            State::Connecting(stream, request) => {
                if let Some(error) = stream.take_error().map_err(SignalError::Network)? {
                    return Err(SignalError::Network(error));
                }
                if stream.peer_addr().is_err() {
                    self.0 = State::Connecting(stream, request);
                    return Ok(());
                }
                tungstenite::client(request, stream)
            }
            State::Upgrading(handshake) => handshake.handshake(),
            other => {
                self.0 = other;
                return Ok(());
            }
        };
        self.0 = match shaken {
            Ok((socket, _)) => State::Open(Box::new(socket)),
            Err(HandshakeError::Interrupted(handshake)) => State::Upgrading(handshake),
            Err(HandshakeError::Failure(error)) => return Err(broken(error)),
        };
        Ok(())
    }

    /// Tells the server that the connection ends. Does not wait for the server's answer.
    pub(crate) fn close(&mut self) {
        if let State::Open(socket) = &mut self.0 {
            let _ = socket.close(None);
            let _ = socket.flush();
        }
    }
}

fn begin_connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let stream = TcpStream::from(socket(family, SockType::Stream, flags, None)?);
    stream.set_nodelay(true)?;
    match connect(stream.as_raw_fd(), &SockaddrStorage::from(address)) {
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
