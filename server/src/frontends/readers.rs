//! Limits of reading what peers say, which happens on the tasks of their connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The most long messages, session descriptions among them, that may be parsed, or wait for the
/// controller after parsing, at the same time. Further ones wait in their sockets, whose
/// connections take turns: a parsed message takes many times its length in memory, and all other
/// messages to the controller wait after the parsed ones.
const LONG_MESSAGES_MAX: usize = 2;

/// The longest message that is read at once, without waiting for a place, in bytes.
const SHORT: usize = 1024;

/// Places for those who read.
#[derive(Clone)]
pub(super) struct Readers {
    long_messages: Arc<Semaphore>,
    /// The number of tasks that may read at a time: half of the processors, so that the others are
    /// there for the controller however much is to be read.
    readers: Arc<Semaphore>,
}

impl Default for Readers {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
        Self {
            long_messages: Arc::new(Semaphore::new(LONG_MESSAGES_MAX)),
            readers: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }
}

impl Readers {
    /// Waits for a place for a long message, which it keeps until the controller has handled it.
    pub(super) async fn long_message(&self) -> Option<OwnedSemaphorePermit> {
        self.long_messages.clone().acquire_owned().await.ok()
    }

    /// Waits until a frame of this length may be read: its place until it is handled, if it is
    /// long, and its turn until it is read.
    pub(super) async fn frame(&self, len: usize) -> (Option<OwnedSemaphorePermit>, Option<SemaphorePermit<'_>>) {
        match len > SHORT {
            true => (self.long_message().await, self.turn().await),
            false => (None, None),
        }
    }

    /// Waits until one more may read.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.readers.acquire().await.ok()
    }
}
