//! Sets of watched descriptors (epoll(7)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use super::socket::check;

/// The most descriptors that one call reports; the others are reported by the next.
const EVENTS_MAX: usize = 256;

/// A set of watched descriptors, each with a name. It can be watched itself, by
/// [`raw`](Self::raw): it has something to read while one of its descriptors is ready.
pub(crate) struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Its name.
    pub(crate) name: u64,
    /// Whether the other end sends no more, or the connection has failed.
    pub(crate) is_ended: bool,
}

impl Epoll {
    /// An empty set.
    ///
    /// Errors: the operating system's.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes a number only.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Epoll {
            // SAFETY: the descriptor is new, and nobody else's.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            events: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX],
        })
    }

    /// Watches a descriptor, which is reported as long as it has something to read.
    ///
    /// Errors: the operating system's, when it watches too many.
    pub(crate) fn watch(&self, fd: RawFd, name: u64) -> io::Result<()> {
        self.add(fd, name, libc::EPOLLIN)
    }

    /// Watches a descriptor, which is reported once for each time that more can be read or, after
    /// it was full, written.
    ///
    /// Errors: the operating system's, when it watches too many.
    pub(crate) fn watch_edges(&self, fd: RawFd, name: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.add(fd, name, events)
    }

    /// Watches a descriptor no more.
    pub(crate) fn forget(&self, fd: RawFd) {
        // SAFETY: takes numbers only; since Linux 2.6.9 there need not be an event.
        let _ = unsafe { libc::epoll_ctl(self.raw(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }

    /// Waits until a descriptor is ready or the time is up, and adds those that are to `ready`.
    pub(crate) fn wait(&mut self, at_most: Option<Duration>, ready: &mut Vec<Readiness>) {
        let timeout = at_most.map_or(-1, |time| {
            time.as_micros().div_ceil(1_000).try_into().unwrap_or(i32::MAX)
        });
        // SAFETY: the kernel writes at most as many events as there is room for, which lives as
        // long as the call.
        let count = unsafe { libc::epoll_wait(self.raw(), self.events.as_mut_ptr(), EVENTS_MAX as i32, timeout) };
        let count = usize::try_from(count).unwrap_or(0);
        let ended = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        ready.extend(self.events[..count].iter().map(|event| Readiness {
            name: { event.u64 },
            is_ended: { event.events } & ended != 0,
        }));
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn add(&self, fd: RawFd, name: u64, events: libc::c_int) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: name,
        };
        // SAFETY: the event is read from a structure that lives as long as the call.
        check(unsafe { libc::epoll_ctl(self.raw(), libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
    }
}
