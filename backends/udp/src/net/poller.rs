//! Sleeping until one of thousands of sockets has something.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::Duration;

use super::event_fd::EventFd;
use super::port::PortSocket;
use super::socket::check;

/// The most sockets that one call reports. Those that have to wait are reported first the next
/// time.
const EVENTS_MAX: usize = 256;
/// With so many ready sockets the worker does not wait for more, or it would fall behind.
const ENOUGH: usize = 16;
/// The event file descriptor's name among places.
const WAKE: u64 = u64::MAX;

/// An epoll set of a worker's ports and its event file descriptor.
///
/// Level-triggered: a port that still has datagrams is reported again, so it need not be read until
/// it is empty.
pub(crate) struct Poller {
    epoll: OwnedFd,
    event_fd: EventFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    /// An empty set.
    ///
    /// Errors: the operating system's.
    pub(crate) fn new(event_fd: EventFd) -> io::Result<Self> {
        // SAFETY: takes a number only.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let poller = Poller {
            // SAFETY: the descriptor is new, and nobody else's.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            event_fd,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX],
        };
        poller.add(poller.event_fd.raw(), WAKE)?;
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

    /// Sleeps until a port has datagrams, the event file descriptor is signalled or the time is up.
    /// When a few ports have datagrams, sleeps for `coalesce` and polls again. Returns the places
    /// that have some.
    pub(crate) fn wait(
        &mut self,
        at_most: Option<Duration>,
        coalesce: Duration,
    ) -> impl Iterator<Item = usize> + Clone {
        let mut count = self.look(at_most);
        let has_come = self.events[..count].iter().any(|event| { event.u64 } != WAKE);
        if has_come && count < ENOUGH && !coalesce.is_zero() {
            thread::sleep(coalesce);
            count = self.look(Some(Duration::ZERO));
        }
        let names = self.events[..count].iter().map(|event| event.u64);
        names.filter(|name| *name != WAKE).map(|place| place as usize)
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
        if self.events[..count].iter().any(|event| { event.u64 } == WAKE) {
            self.event_fd.clear();
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
