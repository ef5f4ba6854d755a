//! The controllers of a media node, as its thread sees them.

use std::time::Instant;

use agent::Agent;
use dataplane::DataPlane;
use southbound::relay::RelayNotice;
use southbound::{Command, MessageId, Notice};
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::os::clock;

/// An agent with its data plane, and the notices that wait for controllers.
pub(super) struct Switch {
    pub agent: Agent,
    pub plane: Box<dyn DataPlane + Send>,
    pub out: Vec<Notice>,
}

impl Switch {
    /// Carries a command out.
    pub(super) fn command(&mut self, now: Instant, command: Command) {
        self.agent.command(now, command, &mut *self.plane, &mut self.out);
    }

    /// A link holds a message no longer.
    pub(super) fn release(&mut self, now: Instant, message: MessageId) {
        self.agent.release(now, message, &mut *self.plane, &mut self.out);
    }

    /// The controller of a message is away.
    pub(super) fn park(&mut self, now: Instant, message: MessageId) {
        self.agent.park(now, message, &mut *self.plane, &mut self.out);
    }
}

/// The other ends of a node's queues.
pub(super) trait Controllers: Send + 'static {
    /// Carries out the commands that wait, until `end`. Says whether the controllers are gone, and
    /// whether more commands may be waiting.
    fn take(&mut self, end: Instant, switch: &mut Switch) -> (bool, bool);

    /// Passes the notices on.
    ///
    /// Errors: the controllers are gone.
    fn deliver(&mut self, switch: &mut Switch) -> Result<(), ()>;

    /// Whether something waits here that the thread is not woken for.
    fn must_look(&self) -> bool;

    /// Publishes what was counted.
    fn publish(&self, metrics: &Metrics);
}

/// The controllers in this process: one of rooms, and one of SIP proxies' calls.
pub(super) struct LocalControllers {
    pub commands: mpsc::Receiver<Command>,
    /// To the controller of rooms.
    pub notices: mpsc::Sender<Notice>,
    /// To the controller of calls, which is woken once for all notices of a turn.
    pub relay_notices: mpsc::Sender<Vec<RelayNotice>>,
}

impl Controllers for LocalControllers {
    fn take(&mut self, end: Instant, switch: &mut Switch) -> (bool, bool) {
        let mut now = clock::now();
        while now < end {
            match self.commands.try_recv() {
                Ok(command) => switch.command(now, command),
                Err(mpsc::error::TryRecvError::Empty) => return (false, false),
                Err(mpsc::error::TryRecvError::Disconnected) => return (true, false),
            }
            now = clock::now();
        }
        (false, true)
    }

    /// Waits if the controller is slow, while media continues.
    fn deliver(&mut self, switch: &mut Switch) -> Result<(), ()> {
        let mut relay_notices = Vec::new();
        for notice in switch.out.drain(..) {
            match notice {
                Notice::Relay(notice) => relay_notices.push(notice),
                notice => self.notices.blocking_send(notice).map_err(drop)?,
            }
        }
        if !relay_notices.is_empty() {
            // Without a controller of calls there are no notices of relays.
            let _ = self.relay_notices.blocking_send(relay_notices);
        }
        Ok(())
    }

    fn must_look(&self) -> bool {
        false
    }

    fn publish(&self, _: &Metrics) {}
}
