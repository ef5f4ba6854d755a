//! The driver's state, as the agent's thread and the connection's thread share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::core::Core;
use crate::schema::Schema;

/// Called whenever there is something to poll.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// All of the driver. Both threads hold the lock only while they handle one input; neither is on
/// the way of a packet.
pub(crate) struct Shared {
    core: Mutex<Core>,
    pub(crate) schema: Schema,
    /// There may be something to write.
    pub(crate) work: Notify,
    is_over: AtomicBool,
    wake: Wake,
}

impl Shared {
    pub(crate) fn new(core: Core, schema: Schema, wake: Wake) -> Self {
        Shared {
            core: Mutex::new(core),
            schema,
            work: Notify::new(),
            is_over: AtomicBool::new(false),
            wake,
        }
    }

    /// The state.
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        // An input that panicked is not handled again.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles an input of the connection, and wakes the agent if that has an outcome for it.
    pub(crate) fn handle<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core();
        let done = act(core.at(crate::clock::now()));
        let has_news = core.relays.has_news() || core.rooms.has_news();
        drop(core);
        if has_news {
            (self.wake)();
        }
        done
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Ends the connection when the last of its holders is gone.
pub(crate) struct Holder(pub(crate) Arc<Shared>);

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.work.notify_one();
    }
}
