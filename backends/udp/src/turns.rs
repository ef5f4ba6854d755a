//! Whether workers still take turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::net::EventFd;

/// Counts the turns of one worker, which alone writes it.
#[derive(Debug, Default)]
pub(crate) struct Turns(AtomicU64);

impl Turns {
    /// Another turn begins.
    pub(crate) fn begin(&self) {
        let turns = self.0.load(Ordering::Relaxed);
        self.0.store(turns.wrapping_add(1), Ordering::Release);
    }
}

/// A worker that is asked for a sign of life: how it is woken, and how many turns it had begun
/// then.
#[derive(Debug)]
pub(crate) struct Asked {
    turns: Arc<Turns>,
    before: u64,
}

impl Asked {
    /// Wakes the worker, which begins another turn then.
    pub(crate) fn wake(turns: &Arc<Turns>, event_fd: &EventFd) -> Self {
        let before = turns.0.load(Ordering::Acquire);
        event_fd.wake();
        Asked {
            turns: turns.clone(),
            before,
        }
    }

    /// Whether it has begun one.
    pub(crate) fn workers_answered(&self) -> bool {
        self.turns.0.load(Ordering::Acquire) != self.before
    }
}
