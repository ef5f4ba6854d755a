//! Watches: changes through a bounded buffer, whole again after anything that may be missed.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender};

use crate::entry::Entry;

/// The most changes that wait for a watcher.
pub const CHANGES_MAX: usize = 1024;

/// The time after which a watch that failed begins again.
pub(crate) const AGAIN: Duration = Duration::from_millis(250);

/// A change of the watched entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An entry was written.
    Put(String, Entry),
    /// An entry was deleted, or its lease ended.
    Deleted(String),
    /// All entries there are. The watcher forgets what it knew: a change may have been missed.
    Reset(Vec<(String, Entry)>),
}

/// A source of changes.
#[async_trait]
pub(crate) trait Changes: Send {
    async fn next(&mut self) -> Option<Change>;
}

#[async_trait]
impl Changes for Receiver<Change> {
    async fn next(&mut self) -> Option<Change> {
        self.recv().await
    }
}

/// The changes of the entries under a prefix. A watch that is dropped ends.
pub struct Watch {
    changes: Box<dyn Changes>,
}

impl Watch {
    pub(crate) fn new(changes: impl Changes + 'static) -> Self {
        Self {
            changes: Box::new(changes),
        }
    }

    /// Waits for the next change. A call that is cancelled loses none. None after the store has
    /// ended, which no failure of a server causes.
    pub async fn next(&mut self) -> Option<Change> {
        self.changes.next().await
    }
}

/// The reason why changes stop.
pub(crate) enum Stop {
    /// The watcher was dropped.
    Gone,
    /// Changes may be missing. The watcher has to be told all.
    Missed,
}

/// Hands a change to the watcher without waiting for it.
pub(crate) fn hand(to: &Sender<Change>, change: Change) -> Result<(), Stop> {
    to.try_send(change).map_err(|error| match error {
        TrySendError::Full(_) => Stop::Missed,
        TrySendError::Closed(_) => Stop::Gone,
    })
}
