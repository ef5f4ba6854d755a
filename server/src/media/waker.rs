//! The flag that wakes the media node's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::os::clock;

/// Wakes the agent's thread when there is something to do.
#[derive(Clone, Default)]
pub(crate) struct Waker(Arc<WakerState>);

#[derive(Default)]
struct WakerState {
    awake: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Waker {
    /// Wakes the thread, or makes it not fall asleep.
    pub(crate) fn wake(&self) {
        // Only the first of many pays for waking the thread.
        if !self.0.awake.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.0.thread.get()
        {
            thread.unpark();
        }
    }

    /// Wakes the thread that calls this from now on.
    pub(crate) fn wake_this_thread(&self) {
        self.0.thread.get_or_init(thread::current);
    }

    /// Sleeps until then or until the thread is woken, and not longer than `longest`.
    pub(crate) fn sleep(&self, longest: Duration, until: Option<Instant>) {
        let wait = until.map_or(longest, |until| {
            until.saturating_duration_since(clock::now()).min(longest)
        });
        if !self.0.awake.load(Ordering::SeqCst) && !wait.is_zero() {
            thread::park_timeout(wait);
        }
        // Before the queues are looked at: what is put there from now on sets it again.
        self.0.awake.store(false, Ordering::SeqCst);
    }
}
