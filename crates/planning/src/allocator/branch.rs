use std::collections::{BTreeMap, BTreeSet};

use super::forest::{Forest, Slot};
use crate::device::Device;
use crate::engine::{ExclusionId, MeetingId, Node, NodeId, ReplicaId, ReplicationEngine, Route};
use crate::meeting::Place;

/// A branch that a meeting holds, and its nodes by receiver.
#[derive(Debug)]
pub(super) struct Branch {
    slot: Slot,
    nodes: BTreeMap<Place, NodeId>,
}

impl Branch {
    /// A branch without nodes.
    pub(super) fn new(slot: Slot) -> Self {
        Self {
            slot,
            nodes: BTreeMap::new(),
        }
    }

    /// The branch in its tree.
    pub(super) fn slot(&self) -> Slot {
        self.slot
    }

    /// Whether the branch has a node for the receiver.
    pub(super) fn contains(&self, receiver: Place) -> bool {
        self.nodes.contains_key(&receiver)
    }

    /// The receivers that have a node.
    pub(super) fn receivers(&self) -> impl Iterator<Item = Place> + '_ {
        self.nodes.keys().copied()
    }

    /// The treatment of a sender's packets that this branch copies.
    pub(super) fn route(&self, sender: Place, device: &Device) -> Route {
        let has_other = device.branches_per_tree() == 2;
        Route::Tree {
            tree: self.slot.tree,
            exclude: has_other.then_some(ExclusionId(2 - self.slot.branch)),
            own: self.replica(sender, device),
        }
    }

    /// Adds nodes for those of the receivers who have none.
    pub(super) fn add(
        &mut self,
        id: MeetingId,
        receivers: &BTreeSet<Place>,
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        for &receiver in receivers {
            if !self.contains(receiver) {
                let node = forest.take_node();
                engine.create_node(&self.node(node, id, receiver, device));
                self.nodes.insert(receiver, node);
            }
        }
    }

    /// Removes the nodes of receivers that are not kept.
    pub(super) fn retain(
        &mut self,
        id: MeetingId,
        keep: impl Fn(Place) -> bool,
        device: &Device,
        forest: &mut Forest,
        engine: &mut impl ReplicationEngine,
    ) {
        let gone: Vec<_> = self.nodes.keys().copied().filter(|receiver| !keep(*receiver)).collect();
        for receiver in gone {
            if let Some(node) = self.nodes.remove(&receiver) {
                engine.remove_node(&self.node(node, id, receiver, device));
                forest.release_node(node);
            }
        }
    }

    fn node(&self, id: NodeId, meeting: MeetingId, receiver: Place, device: &Device) -> Node {
        let (tree, exclusion) = (self.slot.tree, ExclusionId(self.slot.branch + 1));
        Node {
            id,
            tree,
            exclusion,
            replica: self.replica(receiver, device),
            meeting,
            receiver,
        }
    }

    /// The replica id of a receiver: its place, in the branch's share of the tree's ids.
    fn replica(&self, receiver: Place, device: &Device) -> ReplicaId {
        ReplicaId(u32::from(self.slot.branch) * device.replica_ids_per_branch() + u32::from(receiver.0))
    }
}
