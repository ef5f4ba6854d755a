//! Parts that the server cannot be without. If one of them ends, so does the process, and its
//! supervisor starts another.

use std::fmt;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::media::media_thread::Ended;

/// Which part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DependencyEnded(&'static str);

impl fmt::Display for DependencyEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a part of the server has ended: {}", self.0)
    }
}

impl std::error::Error for DependencyEnded {}

/// Watches them.
pub(crate) struct Dependencies {
    ended: mpsc::Receiver<DependencyEnded>,
    tell: mpsc::Sender<DependencyEnded>,
}

impl Default for Dependencies {
    fn default() -> Self {
        let (tell, ended) = mpsc::channel(1);
        Self { ended, tell }
    }
}

impl Dependencies {
    /// Watches the media node's thread.
    pub(crate) fn watch_node(&self, node: Ended) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            // The end of the node, also by a panic, is the signal.
            let _ = node.await;
            let _ = tell.send(DependencyEnded("agent")).await;
        });
    }

    /// Watches another one.
    pub(crate) fn watch(&self, name: &'static str, task: JoinHandle<()>) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            // A panic is logged where it happens.
            let _ = task.await;
            // An error means that the process is ending.
            let _ = tell.send(DependencyEnded(name)).await;
        });
    }

    /// Waits until one of them has ended.
    pub(crate) async fn ended(&mut self) -> DependencyEnded {
        match self.ended.recv().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_or_returns_is_named() {
        for panics in [true, false] {
            let (_running, node) = tokio::sync::oneshot::channel();
            let mut dependencies = Dependencies::default();
            dependencies.watch_node(node);
            dependencies.watch("SIP", tokio::spawn(async move { assert!(!panics, "a bug") }));
            assert_eq!(dependencies.ended().await, DependencyEnded("SIP"));
        }
        let (running, node) = tokio::sync::oneshot::channel();
        let mut dependencies = Dependencies::default();
        dependencies.watch_node(node);
        drop(running);
        assert_eq!(dependencies.ended().await, DependencyEnded("agent"));
    }
}
