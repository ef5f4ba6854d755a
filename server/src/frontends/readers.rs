//! Limits of reading what peers say, which happens on the tasks of their connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The most session descriptions that may be parsed, or wait for the controller after parsing, at
/// the same time. Further ones wait in their sockets: a parsed description takes many times its
/// length in memory, and all other messages to the controller wait after the parsed ones.
const DESCRIPTIONS_MAX: usize = 2;

/// Places for those who read.
#[derive(Clone)]
pub(super) struct Readers {
    descriptions: Arc<Semaphore>,
    /// The number of tasks that may read at a time: half of the processors, so that the others are
    /// there for the controller however much is to be read.
    readers: Arc<Semaphore>,
}

impl Default for Readers {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
        Self {
            descriptions: Arc::new(Semaphore::new(DESCRIPTIONS_MAX)),
            readers: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }
}

impl Readers {
    /// Waits for a place for a description, which it keeps until the controller has handled it.
    pub(super) async fn description(&self) -> Option<OwnedSemaphorePermit> {
        self.descriptions.clone().acquire_owned().await.ok()
    }

    /// Waits until one more may read.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.readers.acquire().await.ok()
    }
}
