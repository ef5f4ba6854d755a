//! Forwards the datagrams of one client to one address of the server, and back.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::link::{DATAGRAM_MAX, Framing, Link, WAIT};
use super::{Route, turn};

/// Two threads that forward until this is dropped.
pub(crate) struct Forwarder {
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
}

impl Forwarder {
    /// Connects the client at `client` with `server`; `None` for UDP, which needs no forwarder.
    ///
    /// Errors: those of sockets; the TURN server refuses.
    pub(crate) fn open(route: &Route, client: SocketAddr, server: SocketAddr) -> io::Result<Option<Self>> {
        let (link, framing) = match route {
            Route::Udp => return Ok(None),
            Route::Tcp => (Link::tcp(server)?, Framing::Length),
            Route::Turn(access) => turn::connect(access, server)?,
        };
        let socket = UdpSocket::bind((client.ip(), 0))?;
        socket.connect(client)?;
        socket.set_read_timeout(Some(WAIT))?;
        let forwarder = Forwarder {
            address: socket.local_addr()?,
            has_ended: Arc::default(),
        };
        let ends = [(); 2].map(|()| forwarder.has_ended.clone());
        let (other_socket, other_link) = (socket.try_clone()?, link.try_clone()?);
        let [ended, other_ended] = ends;
        thread::spawn(move || send(&socket, link, framing, &ended));
        thread::spawn(move || receive(&other_socket, other_link, framing, &other_ended));
        Ok(Some(forwarder))
    }

    /// The address that stands for the server's.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

/// From the client to the server, until the link fails.
fn send(socket: &UdpSocket, mut link: Link, framing: Framing, has_ended: &AtomicBool) {
    let mut buffer = [0; DATAGRAM_MAX];
    while !has_ended.load(Ordering::Relaxed) {
        // An error is the time limit, or the answer to a datagram after the client's end.
        let Ok(len) = socket.recv(&mut buffer) else { continue };
        if link.send(framing, framing.message(&buffer[..len])).is_err() {
            return;
        }
    }
}

/// From the server to the client, until the link fails.
fn receive(socket: &UdpSocket, mut link: Link, framing: Framing, has_ended: &AtomicBool) {
    let mut bytes = Vec::new();
    while !has_ended.load(Ordering::Relaxed) {
        match link.read(&mut bytes) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Err(_) => return,
        }
        let mut taken = 0;
        while let Ok(Some((datagram, len))) = framing.first(&bytes[taken..]) {
            // An error is the answer to a datagram after the client's end.
            let _ = socket.send(&bytes[taken..][datagram]);
            taken += len;
        }
        bytes.drain(..taken);
    }
}
