//! The links that other nodes make to this one.

use std::collections::{BTreeMap, VecDeque};

use southbound::{LinkHello, LinkedMessage, MessageId, NodeId};

use crate::limits::{LINK_OPEN_MAX, LINK_PEERS_MAX, LINKED_NAMES_MAX, LINKED_RECEIVERS_MAX, MESSAGE_COST, MESSAGE_MAX};

/// The nodes that have made links. They are remembered after their links have ended.
#[derive(Debug, Default)]
pub(in crate::fence) struct Incoming {
    origins: BTreeMap<NodeId, Origin>,
    /// Counts connections, to find the oldest.
    connections: u64,
}

/// The node at the other end.
#[derive(Debug, Default)]
struct Origin {
    is_connected: bool,
    connection: u64,
    series: u64,
    /// The number of the last message of the series that was taken.
    taken: u64,
    /// The last series that the node has given up. Nothing more of it is taken.
    ended: u64,
    /// Messages whose receivers do not have them yet, with their lengths.
    open: BTreeMap<u64, usize>,
    open_bytes: usize,
    /// The last messages that were taken, with the number up to which endpoints have got each.
    names: VecDeque<(u64, u64)>,
}

/// The fate of a message that came over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fence) enum Taking {
    /// It has not come before.
    New {
        /// The series that it is in.
        series: u64,
    },
    /// It was taken before.
    Repeated,
    /// Its link was given up, and a controller passes it on.
    Late,
    /// It breaks the protocol.
    Refused,
}

impl Incoming {
    /// A node has made a link. Returns the last number that was taken of its series; `None` if the
    /// link is refused.
    pub(in crate::fence) fn connected(&mut self, hello: &LinkHello) -> Option<u64> {
        if !self.origins.contains_key(&hello.node) {
            self.make_place()?;
        }
        self.connections += 1;
        let origin = self.origins.entry(hello.node).or_default();
        if hello.series < origin.series || hello.series <= origin.ended {
            return None;
        }
        if hello.series > origin.series {
            (origin.series, origin.taken) = (hello.series, 0);
        }
        (origin.is_connected, origin.connection) = (true, self.connections);
        Some(origin.taken)
    }

    pub(in crate::fence) fn disconnected(&mut self, node: NodeId) {
        if let Some(origin) = self.origins.get_mut(&node) {
            origin.is_connected = false;
        }
    }

    /// A message waits for its receivers.
    pub(in crate::fence) fn opened(&mut self, message: MessageId, len: usize) {
        if let Some(origin) = self.origins.get_mut(&message.node)
            && origin.open.insert(message.number, len).is_none()
        {
            origin.open_bytes += len + MESSAGE_COST;
        }
    }

    /// All receivers of a message have it.
    pub(in crate::fence) fn delivered_to_all(&mut self, message: MessageId) {
        if let Some(origin) = self.origins.get_mut(&message.node)
            && let Some(len) = origin.open.remove(&message.number)
        {
            origin.open_bytes -= len + MESSAGE_COST;
        }
    }

    /// Whether so much of a node waits for receivers that nothing more is to be taken from it.
    pub(in crate::fence) fn is_full(&self, node: NodeId) -> bool {
        let origin = self.origins.get(&node);
        origin.is_some_and(|origin| origin.open_bytes >= LINK_OPEN_MAX)
    }

    /// How many nodes are linked to this one.
    pub(in crate::fence) fn connected_count(&self) -> usize {
        self.origins.values().filter(|origin| origin.is_connected).count()
    }

    /// Whether answers reach a node.
    pub(in crate::fence) fn is_connected(&self, node: NodeId) -> bool {
        self.origins.get(&node).is_some_and(|origin| origin.is_connected)
    }

    /// The last number of the series that was taken.
    pub(in crate::fence) fn taken(&self, node: NodeId) -> u64 {
        self.origins.get(&node).map_or(0, |origin| origin.taken)
    }

    /// A message has come.
    pub(in crate::fence) fn take(&mut self, node: NodeId, linked: &LinkedMessage) -> Taking {
        let Some(origin) = self.origins.get_mut(&node).filter(|origin| origin.is_connected) else {
            return Taking::Refused;
        };
        let is_foreign = linked.message.is_some_and(|message| message.node != node);
        let receivers = linked.identities.len() + linked.sids.len();
        let is_too_long = linked.payload.len() > MESSAGE_MAX || receivers > LINKED_RECEIVERS_MAX;
        if is_foreign || is_too_long || linked.track.is_some() && linked.is_reliable() {
            return Taking::Refused;
        }
        if origin.series <= origin.ended {
            return Taking::Late;
        }
        let series = origin.series;
        if !linked.is_reliable() {
            return Taking::New { series };
        }
        if linked.number <= origin.taken {
            return Taking::Repeated;
        }
        if linked.number > origin.taken + 1 {
            return Taking::Refused;
        }
        origin.taken = linked.number;
        if let Some(MessageId { number, .. }) = linked.message {
            if origin.names.back().is_some_and(|(last, _)| number < *last) {
                return Taking::Refused;
            }
            if origin.names.len() >= LINKED_NAMES_MAX {
                origin.names.pop_front();
            }
            origin.names.push_back((number, linked.reach));
        }
        Taking::New { series }
    }

    /// A node has given up a series, and controllers pass on what is left of it.
    pub(in crate::fence) fn end_series(&mut self, node: NodeId, series: u64) {
        if let Some(origin) = self.origins.get_mut(&node) {
            origin.ended = origin.ended.max(series);
        } else if self.make_place().is_some() {
            let ended = Origin {
                ended: series,
                ..Origin::default()
            };
            self.origins.insert(node, ended);
        }
    }

    /// The number up to which endpoints have got a message over a link.
    pub(in crate::fence) fn delivered(&self, message: MessageId) -> u64 {
        let Some(origin) = self.origins.get(&message.node) else {
            return 0;
        };
        let place = origin.names.partition_point(|(number, _)| *number < message.number);
        let found = origin.names.get(place).filter(|(number, _)| *number == message.number);
        found.map_or(0, |(_, reach)| *reach)
    }

    /// At the limit forgets the node whose link ended and was made first.
    fn make_place(&mut self) -> Option<()> {
        if self.origins.len() < LINK_PEERS_MAX {
            return Some(());
        }
        let gone = self.origins.iter().filter(|(_, origin)| !origin.is_connected);
        let oldest = gone.min_by_key(|(_, origin)| origin.connection);
        let oldest = oldest.map(|(node, _)| *node)?;
        self.origins.remove(&oldest);
        Some(())
    }
}
