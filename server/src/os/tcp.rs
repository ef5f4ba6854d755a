//! TCP ports, and connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

/// How much of what waits to be sent the kernel takes; the rest waits with us, where it is counted.
const UNSENT_MAX: u32 = 128 << 10;

/// Opens a port to listen on.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // An IPv6 wildcard must not take the IPv4 port, which has a listener of its own.
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Configures a connection for low latency. The kernel keeps unsent data of a closed connection for
/// `time_limit`.
pub(crate) fn tune(stream: &TcpStream, time_limit: Duration) {
    let socket = SockRef::from(stream);
    // A connection works without these, too.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_user_timeout(Some(time_limit));
    let _ = socket.set_tcp_notsent_lowat(UNSENT_MAX);
}

/// Has a connection fail once the other machine has not answered for `time_limit`, which is some
/// seconds, also while nothing is said. The kernel asks four times in that time.
pub(crate) fn expect_life(stream: &TcpStream, time_limit: Duration) {
    let socket = SockRef::from(stream);
    let questions = TcpKeepalive::new()
        .with_time(time_limit / 4)
        .with_interval(time_limit / 4);
    // A connection works without these, too.
    let _ = socket.set_tcp_keepalive(&questions);
    let _ = socket.set_tcp_user_timeout(Some(time_limit));
}
