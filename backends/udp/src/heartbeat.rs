//! Heartbeats of workers, to find one that hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::net::EventFd;

/// Counts the turns of one worker, which alone writes it.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat(AtomicU64);

impl Heartbeat {
    /// Counts a turn, at its beginning.
    pub(crate) fn beat(&self) {
        let turns = self.0.load(Ordering::Relaxed);
        self.0.store(turns.wrapping_add(1), Ordering::Release);
    }
}

/// A ping to a worker, which answers with its next turn.
#[derive(Debug)]
pub(crate) struct Ping {
    heartbeat: Arc<Heartbeat>,
    /// Turns that had begun when the ping was sent.
    before: u64,
}

impl Ping {
    /// Wakes the worker, which then begins another turn.
    pub(crate) fn send(heartbeat: &Arc<Heartbeat>, event_fd: &EventFd) -> Self {
        let before = heartbeat.0.load(Ordering::Acquire);
        event_fd.wake();
        Ping {
            heartbeat: heartbeat.clone(),
            before,
        }
    }

    /// Whether the worker has begun another turn since.
    pub(crate) fn is_answered(&self) -> bool {
        self.heartbeat.0.load(Ordering::Acquire) != self.before
    }
}
