//! The parts of a room that its nodes keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::NodeId;

use super::PARTICIPANT;

/// Each part at each node, with a hash of its content.
pub(super) type PartHashes = BTreeMap<(Arc<str>, NodeId), u64>;

/// The parts of one room that nodes have.
#[derive(Debug, Default)]
pub(super) struct NodeParts {
    /// Those of the room and of front ends, which all nodes of the room have.
    pub(super) shared: PartHashes,
    /// Those of participants, each of which the participant's node has.
    people: PartHashes,
    /// Every participant has been compared with what nodes have.
    pub(super) is_compared: bool,
}

impl NodeParts {
    pub(super) fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.people.is_empty()
    }

    pub(super) fn has(&self, node: NodeId, part: &Arc<str>) -> bool {
        let key = (part.clone(), node);
        self.shared.contains_key(&key) || self.people.contains_key(&key)
    }

    /// Nodes may have these, among others.
    pub(super) fn extend(&mut self, hashes: PartHashes) {
        for (key, hash) in hashes {
            let is_person = key.0.starts_with(PARTICIPANT);
            let parts = if is_person { &mut self.people } else { &mut self.shared };
            parts.insert(key, hash);
        }
        self.is_compared = false;
    }

    /// A node may have nothing.
    pub(super) fn forget_node(&mut self, node: NodeId) {
        for parts in [&mut self.shared, &mut self.people] {
            parts.retain(|(_, at), _| *at != node);
        }
        self.is_compared = false;
    }

    /// The node of a participant keeps this. Returns whether it does not have it yet, and the other
    /// nodes that have a part of the participant.
    pub(super) fn set_person(&mut self, part: &Arc<str>, node: NodeId, hash: u64) -> (bool, Vec<NodeId>) {
        let others: Vec<_> = self.nodes_of(part).filter(|at| *at != node).collect();
        for other in &others {
            self.people.remove(&(part.clone(), *other));
        }
        let is_new = self.people.insert((part.clone(), node), hash) != Some(hash);
        (is_new, others)
    }

    /// A participant has left. Returns the nodes that have its part.
    pub(super) fn remove_person(&mut self, part: &Arc<str>) -> Vec<NodeId> {
        let nodes: Vec<_> = self.nodes_of(part).collect();
        for node in &nodes {
            self.people.remove(&(part.clone(), *node));
        }
        nodes
    }

    /// The participants of whom nodes have parts, each at least once.
    pub(super) fn people(&self) -> impl Iterator<Item = &Arc<str>> {
        self.people.keys().map(|(part, _)| part)
    }

    fn nodes_of(&self, part: &Arc<str>) -> impl Iterator<Item = NodeId> {
        let all = (part.clone(), NodeId(0))..=(part.clone(), NodeId(u64::MAX));
        self.people.range(all).map(|((_, node), _)| *node)
    }
}
