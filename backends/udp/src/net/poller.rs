//! Sleeping until one of thousands of sockets has something.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::Duration;

use super::Bell;
use super::port::PortSocket;
use super::socket::check;

/// How many sockets one look tells of. Those that have to wait are told of first the next time.
const EVENTS_MAX: usize = 256;
/// With so many there is no use in waiting for more: who waits then falls behind.
const ENOUGH: usize = 16;
/// What the bell is called among places.
const BELL: u64 = u64::MAX;

/// An epoll set of a worker's ports, and its bell.
///
/// Level-triggered: of a port that has more than was taken it tells again, so nobody needs to read
/// until there is nothing left.
pub(crate) struct Poller {
    epoll: OwnedFd,
    bell: Bell,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    /// An empty set.
    ///
    /// Errors: the operating system's.
    pub(crate) fn new(bell: Bell) -> io::Result<Self> {
        // SAFETY: takes a number only.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let poller = Poller {
            // SAFETY: the descriptor is new, and nobody else's.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            bell,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX],
        };
        poller.add(poller.bell.raw(), BELL)?;
        Ok(poller)
    }

    /// Watches a port, which is called `place`.
    ///
    /// Errors: the operating system's, when it watches too many.
    pub(crate) fn begin(&self, place: usize, port: &PortSocket) -> io::Result<()> {
        self.add(port.raw(), place as u64)
    }

    /// Watches a port no more.
    pub(crate) fn end(&self, port: &PortSocket) {
        // SAFETY: takes numbers only; since Linux 2.6.9 there need not be an event.
        let _ = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                port.raw(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Sleeps until a port has something, the bell rings or the time is up, and when a few ports
    /// have, so long again for more; the places that have something.
    pub(crate) fn wait(
        &mut self,
        at_most: Option<Duration>,
        coalesce: Duration,
    ) -> impl Iterator<Item = usize> + Clone {
        let mut count = self.look(at_most);
        let has_come = self.events[..count].iter().any(|event| { event.u64 } != BELL);
        if has_come && count < ENOUGH && !coalesce.is_zero() {
            thread::sleep(coalesce);
            count = self.look(Some(Duration::ZERO));
        }
        let names = self.events[..count].iter().map(|event| event.u64);
        names.filter(|name| *name != BELL).map(|place| place as usize)
    }

    /// How many events there are.
    fn look(&mut self, at_most: Option<Duration>) -> usize {
        let timeout = at_most.map_or(-1, |time| {
            time.as_micros().div_ceil(1_000).try_into().unwrap_or(i32::MAX)
        });
        // SAFETY: the kernel writes at most as many events as there is room for, which lives as
        // long as the call.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS_MAX as i32,
                timeout,
            )
        };
        let count = usize::try_from(count).unwrap_or(0);
        if self.events[..count].iter().any(|event| { event.u64 } == BELL) {
            self.bell.quiet();
        }
        count
    }

    fn add(&self, fd: RawFd, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: name,
        };
        // SAFETY: the event is read from a structure that lives as long as the call.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
    }
}
