//! The drain before the end: nobody joins any more, and everybody who is here may finish.

mod served;

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout, timeout_at};
use tracing::info;

use super::service_manager::ServiceManager;
use crate::os::clock;
pub(super) use served::{Calls, Served};

/// How often the drain looks whether somebody is left.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How long it may take to tell the parts.
const TELL_MAX: Duration = Duration::from_secs(2);

/// The longest drain: a week.
const LIMIT_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Everybody that a process waits for before it ends.
pub(super) trait Occupants {
    /// Those who are left, in the words of an operator.
    type Left: Display;

    /// Has nobody join any more. A part that hangs does not keep the others from being told.
    async fn tell(&self);

    /// Everybody who is left; `None` if nobody is.
    async fn left(&self) -> Option<Self::Left>;
}

/// Those of two parts, of which the second may be missing.
impl<A: Occupants, B: Occupants> Occupants for (A, Option<B>) {
    type Left = String;

    async fn tell(&self) {
        let second = async {
            if let Some(second) = &self.1 {
                second.tell().await;
            }
        };
        tokio::join!(self.0.tell(), second);
    }

    async fn left(&self) -> Option<String> {
        let first = self.0.left().await.map(|left| left.to_string());
        let second = match &self.1 {
            Some(second) => second.left().await.map(|left| left.to_string()),
            None => None,
        };
        let left: Vec<_> = first.into_iter().chain(second).collect();
        (!left.is_empty()).then(|| left.join(", "))
    }
}

/// The drain of one process.
pub(super) struct Drain<O> {
    occupants: O,
    manager: ServiceManager,
    begun: Option<Instant>,
}

impl<O: Occupants> Drain<O> {
    /// None yet.
    pub(super) fn new(occupants: O, manager: ServiceManager) -> Self {
        Self {
            occupants,
            manager,
            begun: None,
        }
    }

    /// Begins it, if there may be one. Returns whether it has begun with this.
    pub(super) async fn begin(&mut self, limit: Duration) -> bool {
        if limit.is_zero() || self.begun.is_some() {
            return false;
        }
        info!(seconds = limit.as_secs_f64(), "draining: nobody joins any more");
        self.begun = Some(clock::now());
        // A part that hangs must not keep the second signal from its effect. It is told again.
        let _ = timeout(TELL_MAX, self.occupants.tell()).await;
        true
    }

    /// Waits until nobody is left, or until it has taken as long as it may. There is no end to wait
    /// for while it has not begun.
    pub(super) async fn end(&self, limit: Duration) {
        let Some(begun) = self.begun else {
            return std::future::pending().await;
        };
        let deadline = begun + limit.min(LIMIT_MAX);
        match timeout_at(deadline.into(), self.everybody_leaves()).await {
            Ok(()) => info!("drained: everybody has left"),
            Err(_) => info!("the drain has taken as long as it may"),
        }
    }

    async fn everybody_leaves(&self) {
        loop {
            // The queue of a part may have been full.
            self.occupants.tell().await;
            let Some(left) = self.occupants.left().await else {
                return;
            };
            self.manager.draining(left);
            sleep(LOOK_INTERVAL).await;
        }
    }
}
