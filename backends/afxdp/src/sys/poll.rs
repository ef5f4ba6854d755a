//! Waiting for descriptors.

use std::os::fd::RawFd;

/// Waits until one of the descriptors has something to read, or for `at_most` milliseconds. Which
/// of them have.
pub(crate) fn readable<const N: usize>(descriptors: [RawFd; N], at_most: i32) -> [bool; N] {
    let mut watched = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: N entries, which live as long as the call.
    unsafe { libc::poll(watched.as_mut_ptr(), N as libc::nfds_t, at_most) };
    watched.map(|watched| watched.revents != 0)
}
