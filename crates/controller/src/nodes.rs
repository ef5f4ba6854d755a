//! The media nodes that this controller commands, and the choice among them.

use std::collections::BTreeMap;

use southbound::{Node, NodeId};

use crate::limits::NODES_MAX;

/// The nodes that have said where they are.
#[derive(Debug, Default)]
pub(crate) struct Nodes(BTreeMap<NodeId, KnownNode>);

#[derive(Debug)]
struct KnownNode {
    node: Node,
    participants: usize,
}

impl Nodes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(&id).map(|known| &known.node)
    }

    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.0.contains_key(&id)
    }

    /// Takes what a node says of itself. Returns false at the limit.
    pub(crate) fn announce(&mut self, node: Node) -> bool {
        if let Some(known) = self.0.get_mut(&node.node) {
            known.node = node;
            return true;
        }
        let has_place = self.0.len() < NODES_MAX;
        if has_place {
            let id = node.node;
            self.0.insert(id, KnownNode { node, participants: 0 });
        }
        has_place
    }

    /// The nodes that were where this one is. A node that starts again has another id and has
    /// forgotten everything.
    pub(crate) fn replaced_by(&self, node: &Node) -> Vec<NodeId> {
        let others = self.0.values().filter(|known| known.node.node != node.node);
        let is_there = |known: &&KnownNode| known.node.addresses.iter().any(|at| node.addresses.contains(at));
        others.filter(is_there).map(|known| known.node.node).collect()
    }

    pub(crate) fn remove(&mut self, id: NodeId) -> bool {
        self.0.remove(&id).is_some()
    }

    /// The node for a newcomer: the one that the rest of its room is on, since a room is on one
    /// node, else the one with the fewest participants. Of several such it is the one with the
    /// lowest id, so that the same history gives the same choice.
    pub(crate) fn place(&self, of_room: Option<NodeId>) -> Option<NodeId> {
        let emptiest = || self.0.iter().min_by_key(|(_, known)| known.participants);
        let room = of_room.filter(|id| self.contains(*id));
        room.or_else(|| emptiest().map(|(id, _)| *id))
    }

    pub(crate) fn participant_joined(&mut self, id: NodeId) {
        if let Some(known) = self.0.get_mut(&id) {
            known.participants += 1;
        }
    }

    pub(crate) fn participant_left(&mut self, id: NodeId) {
        if let Some(known) = self.0.get_mut(&id) {
            known.participants = known.participants.saturating_sub(1);
        }
    }
}
