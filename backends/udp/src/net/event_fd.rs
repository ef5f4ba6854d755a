//! Event file descriptors (eventfd(2)), which wake a sleeping thread.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use super::socket::check;
use crate::wakeup::Wakeup;

/// Wakes one sleeping thread from any thread.
#[derive(Clone, Debug)]
pub struct EventFd(Arc<OwnedFd>);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(EventFd(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Signals the descriptor.
    pub(crate) fn wake(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes are read from a number that lives as long as the call. A full counter
        // is signalled already.
        let _ = unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// A wake-up that signals the descriptor.
    pub(crate) fn to_wakeup(&self) -> Arc<Wakeup> {
        let event_fd = self.clone();
        Arc::new(Wakeup::new(move || event_fd.wake()))
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Resets the descriptor after a wake-up.
    pub(super) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to a number that lives as long as the call.
        let _ = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}
