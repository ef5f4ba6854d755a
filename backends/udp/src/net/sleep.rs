//! Sleeping until a datagram arrives or an event file descriptor is signalled.

use std::os::fd::RawFd;
use std::time::Duration;

use super::event_fd::EventFd;
use super::socket::Socket;

/// The most sockets one worker has, one for each address it is bound to.
pub(super) const SOCKETS_MAX: usize = 16;
/// The most other descriptors it watches beside them.
pub(super) const OTHERS_MAX: usize = 64;

/// Which of a worker's sockets have something to read, one bit each, and whether one of those has
/// that may be made to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready(u16, bool);

const _: () = assert!(SOCKETS_MAX <= u16::BITS as usize, "a socket is a bit");

impl Ready {
    pub(super) fn has(self, socket: usize) -> bool {
        self.0 & (1 << socket) != 0
    }

    pub(super) fn has_more(self) -> bool {
        self.1
    }

    /// Whether there is something that may not wait.
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}

/// Sleeps until a socket, one of some `more` or another descriptor has something to read, the event
/// file descriptor is signalled or the time is up.
pub(super) fn sleep(
    sockets: &[Socket],
    more: &[Socket],
    others: &[RawFd],
    event_fd: &EventFd,
    at_most: Option<Duration>,
) -> Ready {
    let mut watched = [libc::pollfd {
        fd: -1,
        events: 0,
        revents: 0,
    }; 2 * SOCKETS_MAX + OTHERS_MAX + 2];
    let fds = sockets
        .iter()
        .map(Socket::raw)
        .chain([event_fd.raw()])
        .chain(more.iter().map(Socket::raw))
        .chain(others.iter().copied());
    let mut count = 0;
    for (place, fd) in watched.iter_mut().zip(fds) {
        *place = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        count += 1;
    }
    let timeout = at_most.map_or(-1, |time| {
        time.as_micros().div_ceil(1_000).try_into().unwrap_or(i32::MAX)
    });
    // SAFETY: `count` entries of the array are filled in, and it lives as long as the call.
    unsafe { libc::poll(watched.as_mut_ptr(), count, timeout) };
    if watched[sockets.len()].revents != 0 {
        event_fd.clear();
    }
    let readable = watched[..sockets.len()].iter().enumerate();
    let bits = readable.map(|(socket, watched)| u16::from(watched.revents != 0) << socket);
    let mut watched_more = watched[sockets.len() + 1..][..more.len()].iter();
    Ready(
        bits.fold(0, |all, bit| all | bit),
        watched_more.any(|watched| watched.revents != 0),
    )
}

/// Sets the calling thread's timer slack to a nanosecond. By default the kernel ends sleeps up to
/// 50 microseconds late, so that several end at once.
pub(crate) fn set_timer_slack() {
    let slack: libc::c_ulong = 1;
    // SAFETY: takes numbers only. If it is refused, sleeps are longer.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
}

/// Waits for room in a socket, a millisecond at most.
pub(super) fn wait_writable(socket: &Socket) {
    let mut watched = libc::pollfd {
        fd: socket.raw(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one entry, which lives as long as the call.
    unsafe { libc::poll(&raw mut watched, 1, 1) };
}
