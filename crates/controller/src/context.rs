//! The context of one input: everything that all parts of the controller may use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use environment::Random;
use southbound::{Command, MessageId, NodeId, SubscriptionId, TrackId, TransportId};

use crate::ids::{Ids, ParticipantRef, RoomKey};
use crate::leavers::Leavers;
use crate::nodes::Nodes;
use crate::quota::Usage;
use crate::{Config, Counter, DataMessage, Event, Output, WallClock};

/// The participants that the agent's names belong to.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) transports: BTreeMap<TransportId, ParticipantRef>,
    pub(crate) tracks: BTreeMap<TrackId, ParticipantRef>,
    pub(crate) subscriptions: BTreeMap<SubscriptionId, ParticipantRef>,
    /// Both ends of the trunks of rooms.
    pub(crate) trunks: BTreeMap<TransportId, RoomKey>,
    /// Subscriptions that trunks have, not participants.
    pub(crate) crossings: BTreeSet<SubscriptionId>,
    /// Those who left and whose last messages may not have been read yet.
    pub(crate) leavers: Leavers,
}

/// Timers by their time. A timer that fires for nothing does no harm, so none is ever cancelled.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Instant, Timer)>);

/// The subject of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Room(RoomKey),
    Participant(ParticipantRef),
    /// A node that drains.
    Node(NodeId),
}

impl Timers {
    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    pub(crate) fn insert(&mut self, at: Instant, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        self.0.first().filter(|(at, _)| *at <= now)?;
        self.0.pop_first().map(|(_, timer)| timer)
    }
}

/// State that outlives an input and belongs to no room.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) clock: WallClock,
    pub(crate) random: Random,
    pub(crate) ids: Ids,
    pub(crate) index: Index,
    pub(crate) timers: Timers,
    pub(crate) usage: Usage,
    pub(crate) storage: slots::Storage,
    /// Of data packets that are kept.
    pub(crate) data_storage: slots::Storage,
    pub(crate) nodes: Nodes,
    /// Nobody joins any more.
    pub(crate) is_draining: bool,
}

/// One input being handled.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    /// The name of the room that it is about.
    pub(crate) room: Arc<str>,
    pub(crate) core: &'a mut Core,
    pub(crate) out: &'a mut Vec<Output>,
}

impl Context<'_> {
    /// Commands a node, if it is still there.
    pub(crate) fn command(&mut self, node: NodeId, command: Command) {
        if self.core.nodes.contains(node) {
            let room = Some(self.room.clone());
            self.out.push(Output::Command { node, room, command });
        }
    }

    /// Sends a message to participants, by their node and transport: once to each node. Those of a
    /// node keep their order.
    pub(crate) fn send(
        &mut self,
        to: impl IntoIterator<Item = (NodeId, TransportId)>,
        message: Option<MessageId>,
        data: &DataMessage,
    ) {
        let mut by_node: BTreeMap<NodeId, Vec<TransportId>> = BTreeMap::new();
        for (node, transport) in to {
            by_node.entry(node).or_default().push(transport);
        }
        let known = by_node.into_iter().filter(|(node, _)| self.core.nodes.contains(*node));
        self.out.extend(known.map(|(node, to)| Output::Data {
            node,
            room: self.room.clone(),
            to,
            message,
            data: data.clone(),
        }));
    }

    pub(crate) fn count(&mut self, counter: Counter) {
        self.out.push(Output::Count(counter));
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.out.push(Output::Event(event));
    }

    pub(crate) fn wake(&mut self, after: Duration, timer: Timer) -> Instant {
        let at = self.now + after;
        self.core.timers.insert(at, timer);
        at
    }

    /// Since 1970-01-01 UTC.
    pub(crate) fn unix(&self) -> Duration {
        self.core.clock.unix(self.now)
    }
}
