//! Sockets that are waited for together.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Sockets that are read once at a wake-up.
const EVENTS: usize = 64;

/// Sockets by their places.
pub(crate) struct Sockets(Epoll);

impl Sockets {
    pub(crate) fn new<'a>(sockets: impl IntoIterator<Item = &'a UdpSocket>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (place, socket) in sockets.into_iter().enumerate() {
            epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, place as u64))?;
        }
        Ok(Sockets(epoll))
    }

    /// The places of sockets that have something, after at most this time.
    pub(crate) fn wait(&self, time: Duration) -> io::Result<Vec<usize>> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let timeout = EpollTimeout::from(time.as_micros().div_ceil(1_000).min(1_000) as u16);
        match self.0.wait(&mut events, timeout) {
            Ok(count) => Ok(events[..count].iter().map(|event| event.data() as usize).collect()),
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}
