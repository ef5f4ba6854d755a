//! The nodes that a room's messages come from over links, and messages that came too early.
//!
//! When messages for an endpoint begin to come over a link, earlier ones may still be on their way
//! through the owner of the room. The owner says when those have arrived
//! ([`Command::SetSource`](southbound::Command::SetSource)). Messages that come over the link
//! before that wait here for the endpoint, so that it gets all of them in their order.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::{LinkedMessage, NodeId};

use crate::limits::{LINK_PEERS_MAX, LINK_WAITING_MAX, LINK_WAITING_NODE_MAX, LINK_WAITING_ROOM_MAX, LINKED_COST};

/// The nodes that messages of one room come from.
#[derive(Debug, Default)]
pub(super) struct Sources(BTreeMap<NodeId, Source>);

#[derive(Debug, Default)]
struct Source {
    series: u64,
    number: u64,
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

/// The bytes of messages that wait in all rooms, and the part of each node that they come from.
#[derive(Debug, Default)]
pub(super) struct WaitingBytes {
    all: usize,
    nodes: BTreeMap<NodeId, usize>,
}

impl WaitingBytes {
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Returns false if there is no room for so much of a node.
    fn add(&mut self, node: NodeId, cost: usize) -> bool {
        let of_node = self.nodes.get(&node).copied().unwrap_or(0);
        if self.all + cost > LINK_WAITING_MAX || of_node + cost > LINK_WAITING_NODE_MAX {
            return false;
        }
        self.all += cost;
        self.nodes.insert(node, of_node + cost);
        true
    }

    fn remove(&mut self, node: NodeId, cost: usize) {
        self.all -= cost;
        if let Some(of_node) = self.nodes.get_mut(&node) {
            *of_node -= cost;
            if *of_node == 0 {
                self.nodes.remove(&node);
            }
        }
    }
}

/// A message that waits for some of its receivers.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) linked: Arc<LinkedMessage>,
    series: u64,
    /// The number up to which endpoints have it.
    pub(super) after: u64,
}

impl Waiting {
    fn cost(&self) -> usize {
        self.linked.payload.len() + LINKED_COST
    }
}

impl Sources {
    /// The number up to which endpoints may get messages of a series of a node.
    pub(super) fn number(&self, node: NodeId, series: u64) -> u64 {
        let source = self.0.get(&node).filter(|source| source.series == series);
        source.map_or(0, |source| source.number)
    }

    /// A message waits for endpoints with numbers after this one. Returns false if too much waits.
    pub(super) fn wait(
        &mut self,
        node: NodeId,
        linked: Arc<LinkedMessage>,
        (series, after): (u64, u64),
        of_all_rooms: &mut WaitingBytes,
    ) -> bool {
        let waiting = Waiting { linked, series, after };
        let cost = waiting.cost();
        let is_new = !self.0.contains_key(&node);
        if is_new && self.0.len() >= LINK_PEERS_MAX {
            return false;
        }
        let source = self.0.entry(node).or_default();
        if source.bytes + cost > LINK_WAITING_ROOM_MAX || !of_all_rooms.add(node, cost) {
            return false;
        }
        source.bytes += cost;
        source.waiting.push_back(waiting);
        true
    }

    /// Notes that messages by the owner have arrived. Returns the messages that waited for that,
    /// each with the number up to which endpoints may get it now.
    pub(super) fn set(
        &mut self,
        node: NodeId,
        (series, number): (u64, u64),
        of_all_rooms: &mut WaitingBytes,
    ) -> Vec<(Waiting, u64)> {
        if !self.0.contains_key(&node) && self.0.len() >= LINK_PEERS_MAX {
            return Vec::new();
        }
        let source = self.0.entry(node).or_default();
        if (series, number) <= (source.series, source.number) {
            return Vec::new();
        }
        (source.series, source.number) = (series, number);
        let mut ready = Vec::new();
        for mut waiting in std::mem::take(&mut source.waiting) {
            // Messages by the owner of before an earlier series have arrived as well.
            let upto = match waiting.series.cmp(&series) {
                Ordering::Less => waiting.linked.reach,
                Ordering::Equal => number,
                Ordering::Greater => 0,
            };
            if waiting.after < upto {
                ready.push((waiting.clone(), upto));
                waiting.after = upto;
            }
            if waiting.linked.reach > waiting.after {
                source.waiting.push_back(waiting);
            } else {
                source.bytes -= waiting.cost();
                of_all_rooms.remove(node, waiting.cost());
            }
        }
        ready
    }

    /// Forgets nodes and messages.
    pub(super) fn clear(&mut self, of_all_rooms: &mut WaitingBytes) {
        for (node, source) in std::mem::take(&mut self.0) {
            of_all_rooms.remove(node, source.bytes);
        }
    }
}
