//! The controllers that are connected now.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::metrics::Metrics;

/// Counts the controllers that are connected. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConnectedControllers {
    count: Arc<AtomicUsize>,
    metrics: Metrics,
}

impl ConnectedControllers {
    /// None yet. The metrics show their number.
    pub(crate) fn new(metrics: Metrics) -> Self {
        let count = Arc::default();
        Self { count, metrics }
    }

    /// How many controllers are connected.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// One more, until the guard is dropped.
    pub(super) fn enter(&self) -> ConnectedGuard {
        self.change(|count| count.fetch_add(1, Ordering::Relaxed));
        ConnectedGuard(self.clone())
    }

    /// The lock of the metrics keeps their number up to date when two change it at once.
    fn change(&self, change: impl FnOnce(&AtomicUsize) -> usize) {
        self.metrics.of_cluster(|counts| {
            change(&self.count);
            counts.set_controllers(self.count());
        });
    }
}

/// A controller that is connected.
#[derive(Debug)]
pub(super) struct ConnectedGuard(ConnectedControllers);

impl Drop for ConnectedGuard {
    fn drop(&mut self) {
        self.0.change(|count| count.fetch_sub(1, Ordering::Relaxed));
    }
}
