//! The changes that wait for the watchers of a store in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::memory::{Shared, lock};
use crate::watch::{CHANGES_MAX, Change, Changes};

/// The changes that wait for one watcher.
pub(super) struct Tail {
    prefix: String,
    queue: Mutex<Queue>,
    filled: Notify,
}

struct Queue {
    changes: VecDeque<Change>,
    missed: bool,
}

pub(super) struct Reader {
    pub(super) shared: Arc<Mutex<Shared>>,
    pub(super) tail: Arc<Tail>,
}

impl Tail {
    /// A watcher's tail, which begins with all there is.
    pub(super) fn new(prefix: &str) -> Self {
        let queue = Mutex::new(Queue {
            changes: VecDeque::new(),
            missed: true,
        });
        Self {
            prefix: prefix.into(),
            queue,
            filled: Notify::new(),
        }
    }

    pub(super) fn wake(&self) {
        self.filled.notify_one();
    }

    pub(super) fn take(&self, change: &Change) {
        let key = match change {
            Change::Put(key, _) | Change::Deleted(key) => key,
            Change::Reset(_) => return,
        };
        if key.starts_with(&self.prefix) {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.changes.len() < CHANGES_MAX && !queue.missed {
                queue.changes.push_back(change.clone());
                self.filled.notify_one();
            } else {
                drop(queue);
                self.miss();
            }
        }
    }

    pub(super) fn miss(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.changes.clear();
        queue.missed = true;
        self.filled.notify_one();
    }
}

#[async_trait]
impl Changes for Reader {
    async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.waiting() {
                return Some(change);
            }
            self.tail.filled.notified().await;
        }
    }
}

impl Reader {
    fn waiting(&self) -> Option<Change> {
        let shared = lock(&self.shared);
        if shared.faults.unavailable {
            return None;
        }
        let mut queue = self.tail.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.missed {
            let all = shared.state.list(&self.tail.prefix).ok()?;
            queue.missed = false;
            return Some(Change::Reset(all));
        }
        queue.changes.pop_front()
    }
}
