//! Priorities of threads below the workers, which carry the media.
//!
//! They have no effect while there are processors to spare. Otherwise decisions about media may be
//! late, but media may not: a slow worker loses packets, and losses cause more work for everything
//! else.

/// The agent's: a third of a worker's part of a processor that both want.
pub(crate) const AGENT: i32 = 5;

/// Threads that compute handshakes: a join may take longer.
pub(crate) const HANDSHAKES: i32 = 10;

/// Makes the calling thread give way by so much.
pub(crate) fn give_way(by: i32) {
    // On Linux this applies to the calling thread alone. If it is refused, all threads have the
    // same priority, which works too.
    let now = rustix::process::getpriority_process(None).unwrap_or(0);
    let _ = rustix::process::setpriority_process(None, now + by);
}
