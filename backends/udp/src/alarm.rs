//! Waking whoever sleeps on the other side of a ring, and nobody who does not.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Rings a bell once for each time its owner has announced to sleep.
///
/// The owner calls [`arm`](Self::arm), looks at its rings once more, and sleeps. Whoever fills a
/// ring calls [`raise`](Self::raise) behind it. Either the last look sees the item, or the bell
/// rings: nothing is lost in between.
pub struct Alarm {
    armed: AtomicBool,
    bell: Box<dyn Fn() + Send + Sync>,
}

impl Alarm {
    /// An alarm that rings `bell`, which must not block.
    pub fn new(bell: impl Fn() + Send + Sync + 'static) -> Self {
        Alarm {
            armed: AtomicBool::new(false),
            bell: Box::new(bell),
        }
    }

    /// An alarm for an owner that never sleeps.
    pub fn silent() -> Self {
        Self::new(|| {})
    }

    /// Announces sleep; look at the rings once more after this.
    pub fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back, when the last look found something.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Relaxed);
    }

    /// Wakes the owner if it sleeps or is about to.
    pub fn raise(&self) {
        fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) && self.armed.swap(false, Ordering::SeqCst) {
            (self.bell)();
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm")
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}
