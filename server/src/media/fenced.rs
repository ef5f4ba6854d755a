//! Controllers on other machines, behind a fence.
//!
//! The thread never waits for one of them. A controller that sends more than the agent takes fills
//! its own queue, which its connection waits for. One that does not take its messages is
//! disconnected, and learns everything again when it is back.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agent::fence::{Fence, Output};
use southbound::relay::RelayNotice;
use southbound::{Command, ControllerId, NodeId, NodeMessage, Notice, RoomMessage, Versions};
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{mpsc, oneshot};

use super::controllers::{Controllers, Switch};
use super::links::Links;
use crate::metrics::Metrics;
use crate::os::clock;

/// Controllers at once; one more is turned away.
pub(crate) const CONTROLLERS_MAX: usize = 64;

/// Messages of a controller that wait for the thread; then its connection waits.
pub(crate) const MESSAGES_MAX: usize = 256;

/// Messages to a controller that wait for its connection; further ones wait here.
pub(crate) const EVENTS_MAX: usize = 1_024;

/// Messages to a controller that wait here; with more it is disconnected.
const WAITING_MAX: usize = 1 << 16;

/// How long messages may wait here for a controller that takes none; then it is disconnected.
const STUCK_MAX: Duration = Duration::from_secs(5);

/// Messages taken from one controller before the next one has its turn.
const BATCH: usize = 16;

/// Commands for relayed calls that are taken before the controllers of rooms have their turn.
const RELAY_BATCH: usize = 256;

/// A connection of a controller, as the thread sees it. Its end is that of both queues.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The controller at the other end.
    pub controller: ControllerId,
    /// The version of the protocol that both speak.
    pub version: u32,
    /// The messages that it sends.
    pub messages: mpsc::Receiver<RoomMessage>,
    /// The messages that it gets.
    pub events: mpsc::Sender<NodeMessage>,
    /// Gets the reason when the thread ends the connection.
    pub ended: oneshot::Sender<Ending>,
}

/// Why the thread ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The same controller has a later one.
    Replaced,
    /// The controller did not take its messages.
    Slow,
    /// There are as many controllers as there may be.
    Full,
}

/// The controllers that are connected, and the fence before the agent.
pub(super) struct FencedControllers {
    arrivals: mpsc::Receiver<Connection>,
    connected: Vec<Connected>,
    fence: Fence,
    links: Links,
    /// The place in `connected` whose turn it is.
    turn: usize,
    relay: LocalRelay,
}

/// The other ends of the queues of SIP proxies' calls, whose controller is in this process. It
/// needs no fence: nobody else has commands for its ports.
pub(super) struct LocalRelay {
    pub commands: mpsc::Receiver<Command>,
    pub notices: mpsc::Sender<Vec<RelayNotice>>,
}

impl LocalRelay {
    /// Carries out commands that wait. Says whether there may be more.
    fn take(&mut self, switch: &mut Switch) -> bool {
        for _ in 0..RELAY_BATCH {
            match self.commands.try_recv() {
                Ok(command) => switch.command(clock::now(), command),
                // Without a controller of calls there are no commands.
                Err(_) => return false,
            }
        }
        true
    }

    fn tell(&self, notices: Vec<RelayNotice>) {
        if !notices.is_empty() {
            // The same.
            let _ = self.notices.blocking_send(notices);
        }
    }
}

struct Connected {
    connection: Connection,
    waiting: VecDeque<NodeMessage>,
    /// Since when the controller takes none of what waits.
    stuck: Option<Instant>,
}

impl FencedControllers {
    /// Of a node that speaks these versions.
    pub(super) fn new(
        (node, versions): (NodeId, Versions),
        arrivals: mpsc::Receiver<Connection>,
        relay: LocalRelay,
        links: Links,
    ) -> Self {
        Self {
            relay,
            arrivals,
            connected: Vec::new(),
            fence: Fence::new(node, Box::new(livekit::Messages)).speaking(versions),
            links,
            turn: 0,
        }
    }

    /// Takes new connections. Says whether there will be no further ones.
    fn admit(&mut self, switch: &mut Switch) -> bool {
        loop {
            match self.arrivals.try_recv() {
                Ok(connection) => self.connect(connection, switch),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    fn connect(&mut self, connection: Connection, switch: &mut Switch) {
        let (controller, version) = (connection.controller, connection.version);
        let is_it = |connected: &Connected| connected.connection.controller == controller;
        if let Some(place) = self.connected.iter().position(is_it) {
            self.disconnect(place, Some(Ending::Replaced), switch);
        }
        if self.connected.len() >= CONTROLLERS_MAX {
            let _ = connection.ended.send(Ending::Full);
            return;
        }
        self.connected.push(Connected {
            connection,
            waiting: VecDeque::new(),
            stuck: None,
        });
        let mut out = Output::default();
        self.fence.connect(controller, version, &mut out);
        self.pass_on(out, switch);
    }

    fn disconnect(&mut self, place: usize, why: Option<Ending>, switch: &mut Switch) {
        let connection = self.connected.swap_remove(place).connection;
        let mut out = Output::default();
        self.fence.disconnect(connection.controller, &mut out);
        if let Some(why) = why {
            // An error means that the connection has ended by itself.
            let _ = connection.ended.send(why);
        }
        self.pass_on(out, switch);
    }

    fn pass_on(&mut self, out: Output, switch: &mut Switch) {
        for message in out.held {
            switch.agent.hold(message);
        }
        for (message, len) in out.opened {
            switch.agent.open_linked(message, len);
        }
        for command in out.commands {
            switch.command(clock::now(), command);
        }
        for message in out.released {
            switch.release(clock::now(), message);
        }
        for message in out.parked {
            switch.park(clock::now(), message);
        }
        let broken = self.links.hand_out(out.links, &mut self.fence);
        for message in broken.released {
            switch.release(clock::now(), message);
        }
        for (controller, message) in out.messages {
            let mut connected = self.connected.iter_mut();
            if let Some(connected) = connected.find(|connected| connected.connection.controller == controller) {
                connected.waiting.push_back(message);
            }
        }
    }

    /// Takes a few messages of the controller whose turn it is. Says whether there were any. One
    /// with answers that wait has to take those first: a claim may have thousands.
    fn take_batch(&mut self, switch: &mut Switch) -> bool {
        let place = self.turn % self.connected.len();
        self.turn = place + 1;
        for taken in 0..BATCH {
            let connected = &mut self.connected[place];
            if !connected.waiting.is_empty() {
                return taken > 0;
            }
            let controller = connected.connection.controller;
            match connected.connection.messages.try_recv() {
                Ok(message) => self.take_message(controller, message, switch),
                Err(TryRecvError::Empty) => return taken > 0,
                Err(TryRecvError::Disconnected) => {
                    self.disconnect(place, None, switch);
                    return true;
                }
            }
        }
        true
    }

    fn take_message(&mut self, controller: ControllerId, message: RoomMessage, switch: &mut Switch) {
        let (room, epoch, revision) = (message.room.clone(), message.epoch, message.revision);
        let mut out = Output::default();
        if let Err(why) = self.fence.take(controller, message, &mut out) {
            let refused = NodeMessage::Refused {
                room,
                epoch,
                revision,
                why,
            };
            out.messages.push((controller, refused));
        }
        self.pass_on(out, switch);
    }

    /// Hands messages to the connections, as many as each takes.
    fn hand_out(&mut self, switch: &mut Switch) {
        let now = clock::now();
        let mut place = 0;
        while let Some(connected) = self.connected.get_mut(place) {
            let handed_out = connected.hand_out();
            if handed_out == Ok(true) {
                connected.stuck = None;
            }
            let stuck = match connected.waiting.is_empty() {
                true => None,
                false => Some(*connected.stuck.get_or_insert(now)),
            };
            let is_slow = connected.waiting.len() > WAITING_MAX || stuck.is_some_and(|since| now > since + STUCK_MAX);
            match handed_out {
                Err(Gone) => self.disconnect(place, None, switch),
                Ok(_) if is_slow => self.disconnect(place, Some(Ending::Slow), switch),
                Ok(_) => place += 1,
            }
        }
    }
}

/// The other end of a connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gone;

impl Connected {
    /// Returns whether the connection took anything.
    fn hand_out(&mut self) -> Result<bool, Gone> {
        let mut took = false;
        while let Some(message) = self.waiting.pop_front() {
            match self.connection.events.try_send(message) {
                Ok(()) => took = true,
                Err(TrySendError::Full(message)) => {
                    self.waiting.push_front(message);
                    break;
                }
                Err(TrySendError::Closed(_)) => return Err(Gone),
            }
        }
        Ok(took)
    }
}

impl Controllers for FencedControllers {
    fn take(&mut self, end: Instant, switch: &mut Switch) -> (bool, bool) {
        if self.admit(switch) {
            return (true, false);
        }
        let mut out = Output::default();
        let has_room = !switch.agent.is_full();
        let mut has_more = self.links.take(&mut self.fence, has_room, &mut out);
        self.pass_on(out, switch);
        has_more |= self.relay.take(switch);
        let mut idle = 0;
        while idle < self.connected.len() {
            match self.take_batch(switch) {
                true => idle = 0,
                false => idle += 1,
            }
            if clock::now() >= end {
                return (false, true);
            }
        }
        (false, has_more)
    }

    fn deliver(&mut self, switch: &mut Switch) -> Result<(), ()> {
        // Commands of the fence's own may cause further notices.
        let mut of_calls = Vec::new();
        while !switch.out.is_empty() {
            let mut out = Output::default();
            for notice in switch.out.drain(..) {
                match notice {
                    Notice::Relay(notice) => of_calls.push(notice),
                    notice => self.fence.notice(notice, &mut out),
                }
            }
            self.pass_on(out, switch);
        }
        self.relay.tell(of_calls);
        let mut out = Output::default();
        self.fence.delivered(switch.agent.take_delivered(), &mut out);
        self.pass_on(out, switch);
        self.hand_out(switch);
        let mut out = Output::default();
        self.links.review_holding(clock::now(), &mut self.fence, &mut out);
        self.pass_on(out, switch);
        self.links.review_wanted(&self.fence);
        Ok(())
    }

    fn must_look(&self) -> bool {
        self.connected.iter().any(|connected| !connected.waiting.is_empty())
    }

    fn publish(&self, metrics: &Metrics) {
        metrics.publish_fence(self.fence.counters().clone());
        let figures = self.fence.link_figures();
        let packet_bytes = self.links.packet_bytes();
        metrics.of_cluster(|counts| counts.set_links(figures, packet_bytes));
    }
}
