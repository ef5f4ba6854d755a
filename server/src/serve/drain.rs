//! The drain before the end: nobody joins any more, and everybody who is here may finish.

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout, timeout_at};
use tracing::info;

use super::service_manager::ServiceManager;
use crate::controller_task;
use crate::os::clock;
use crate::sip;

/// How often the drain looks whether somebody is left.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How long it may take to tell the parts.
const TELL_MAX: Duration = Duration::from_secs(2);

/// The longest drain: a week.
const LIMIT_MAX: Duration = Duration::from_secs(7 * 86_400);

/// The drain of one process.
pub(super) struct Drain {
    controller: controller_task::Handle,
    sip: Option<sip::Handle>,
    manager: ServiceManager,
    begun: Option<Instant>,
}

/// Everybody who is still served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    participants: usize,
    /// Of SIP proxies: those that end with this process.
    calls: usize,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} participants, {} calls", self.participants, self.calls)
    }
}

impl Drain {
    /// None yet.
    pub(super) fn new(controller: controller_task::Handle, sip: Option<sip::Handle>, manager: ServiceManager) -> Self {
        Self {
            controller,
            sip,
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
        let _ = timeout(TELL_MAX, self.tell()).await;
        true
    }

    /// Has nobody join any more. A part that hangs does not keep the others from being told.
    async fn tell(&self) {
        let sip = async {
            if let Some(sip) = &self.sip {
                sip.drain().await;
            }
        };
        tokio::join!(self.controller.drain(), sip);
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
            self.tell().await;
            let left = self.left().await;
            if left == Left::default() {
                return;
            }
            self.manager.draining(left);
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn left(&self) -> Left {
        let calls = match &self.sip {
            Some(sip) => sip.ending_calls().await,
            None => 0,
        };
        Left {
            participants: self.controller.participants().await,
            calls,
        }
    }
}
