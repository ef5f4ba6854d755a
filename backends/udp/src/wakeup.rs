//! Waking the consumer of a ring only while it sleeps.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Calls a function once for each time its owner has announced to sleep.
///
/// The owner calls [`arm`](Self::arm), looks at its rings once more, and sleeps. A producer pushes
/// to a ring and then calls [`wake`](Self::wake). Either the last look sees the item, or the owner
/// is woken: nothing is lost in between.
pub struct Wakeup {
    armed: AtomicBool,
    call: Box<dyn Fn() + Send + Sync>,
}

impl Wakeup {
    /// A wake-up by `call`, which must not block.
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Wakeup {
            armed: AtomicBool::new(false),
            call: Box::new(call),
        }
    }

    /// A wake-up for an owner that never sleeps.
    pub fn silent() -> Self {
        Self::new(|| {})
    }

    /// Announces sleep. The owner looks at its rings once more after this.
    pub fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Withdraws the announcement, when the last look found something.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }

    /// Wakes the owner if it sleeps or is about to.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) && self.armed.swap(false, Ordering::SeqCst) {
            (self.call)();
        }
    }
}

impl fmt::Debug for Wakeup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakeup")
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}
