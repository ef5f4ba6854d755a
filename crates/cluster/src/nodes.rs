//! The rooms of the media nodes that are connected.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::{Epoch, NodeId, RoomState};

/// The connected nodes, with their rooms.
#[derive(Debug, Default)]
pub(crate) struct Nodes(BTreeMap<NodeId, BTreeMap<Arc<str>, Followed>>);

/// How far a node has followed the owner of a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Followed {
    pub(crate) epoch: Epoch,
    pub(crate) revision: u64,
}

impl Nodes {
    pub(crate) fn connected(&mut self, node: NodeId, rooms: Vec<RoomState>) {
        let followed = rooms.into_iter().map(|state| {
            let RoomState { room, epoch, revision } = state;
            (room, Followed { epoch, revision })
        });
        self.0.insert(node, followed.collect());
    }

    /// Another controller has claimed a room at a node.
    pub(crate) fn claimed(&mut self, node: NodeId, state: RoomState) {
        if let Some(rooms) = self.0.get_mut(&node) {
            let RoomState { room, epoch, revision } = state;
            rooms.insert(room, Followed { epoch, revision });
        }
    }

    pub(crate) fn lost(&mut self, node: NodeId) {
        self.0.remove(&node);
    }

    pub(crate) fn is_connected(&self, node: NodeId) -> bool {
        self.0.contains_key(&node)
    }

    pub(crate) fn followed(&self, node: NodeId, room: &str) -> Option<Followed> {
        self.0.get(&node)?.get(room).copied()
    }

    /// Notes the epoch of a room at a node, as its message says.
    pub(crate) fn note(&mut self, node: NodeId, room: &Arc<str>, epoch: Epoch) {
        if let Some(rooms) = self.0.get_mut(&node) {
            let followed = rooms.entry(room.clone()).or_insert(Followed { epoch, revision: 0 });
            followed.epoch = followed.epoch.max(epoch);
        }
    }

    /// The room is over at a node.
    pub(crate) fn forget(&mut self, node: NodeId, room: &str) {
        if let Some(rooms) = self.0.get_mut(&node) {
            rooms.remove(room);
        }
    }

    /// The connected nodes that have a room, and how far they have followed.
    pub(crate) fn with(&self, room: &str) -> Vec<(NodeId, Followed)> {
        let nodes = self.0.iter();
        let nodes = nodes.filter_map(|(node, rooms)| Some((*node, *rooms.get(room)?)));
        nodes.collect()
    }

    /// The highest epoch of a room that a node has seen.
    pub(crate) fn highest(&self, room: &str) -> Epoch {
        let epochs = self.0.values().filter_map(|rooms| rooms.get(room));
        epochs.map(|followed| followed.epoch).max().unwrap_or_default()
    }
}
