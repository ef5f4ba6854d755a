//! UDP ports of the server itself; those of media are the data plane's.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

/// Room for datagrams of many clients that arrive while the task of the port does not run.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Opens a port for one peer. One of IPv6 does not take IPv4, which has a port of its own.
pub(crate) fn bind(at: SocketAddr) -> io::Result<UdpSocket> {
    open(at, None)
}

/// The same for many peers, with a larger receive buffer.
pub(crate) fn bind_shared(at: SocketAddr) -> io::Result<UdpSocket> {
    open(at, Some(RECEIVE_BUFFER))
}

fn open(at: SocketAddr, receive_buffer: Option<usize>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    if at.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if let Some(bytes) = receive_buffer {
        // As much of it as the system allows.
        let _ = socket.set_recv_buffer_size(bytes);
    }
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    UdpSocket::from_std(socket.into())
}
