//! Parts that the server cannot be without. If one of them ends, so does the process, and its
//! supervisor starts another.

use std::fmt;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::media_thread::Ended;

/// Which part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartEnded(&'static str);

impl fmt::Display for PartEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a part of the server has ended: {}", self.0)
    }
}

impl std::error::Error for PartEnded {}

/// Watches parts.
pub struct Parts {
    ended: mpsc::Receiver<PartEnded>,
    tell: mpsc::Sender<PartEnded>,
}

impl Parts {
    /// Watches the media node's thread and the controller's task.
    pub fn new(node: Ended, controller: JoinHandle<()>) -> Self {
        let (tell, ended) = mpsc::channel(1);
        let parts = Parts { ended, tell };
        let tell = parts.tell.clone();
        tokio::spawn(async move {
            // It tells by ending, also by a panic.
            let _ = node.await;
            let _ = tell.send(PartEnded("agent")).await;
        });
        parts.watch("controller", controller);
        parts
    }

    /// Watches another one.
    pub fn watch(&self, name: &'static str, task: JoinHandle<()>) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            // A panic is logged where it happens.
            let _ = task.await;
            // An error means that the process is ending.
            let _ = tell.send(PartEnded(name)).await;
        });
    }

    /// Waits until one of them has ended.
    pub async fn ended(&mut self) -> PartEnded {
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
            let mut parts = Parts::new(node, tokio::spawn(std::future::pending()));
            parts.watch("SIP", tokio::spawn(async move { assert!(!panics, "a bug") }));
            assert_eq!(parts.ended().await, PartEnded("SIP"));
        }
        let (running, node) = tokio::sync::oneshot::channel();
        let mut parts = Parts::new(node, tokio::spawn(std::future::pending()));
        drop(running);
        assert_eq!(parts.ended().await, PartEnded("agent"));
    }
}
