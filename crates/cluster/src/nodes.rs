//! The rooms of the media nodes that are connected.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::{ControllerId, Epoch, NodeId, RoomState};

use crate::Holder;
use crate::limits::NODE_ROOMS_MAX;

/// The connected nodes, with their rooms.
#[derive(Debug, Default)]
pub(crate) struct Nodes(BTreeMap<NodeId, BTreeMap<Arc<str>, NodeRoom>>);

/// How far a node has followed the owner of a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Followed {
    pub(crate) epoch: Epoch,
    pub(crate) revision: u64,
}

/// A room at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRoom {
    pub(crate) owner: ControllerId,
    pub(crate) followed: Followed,
    /// Only the epoch is left of it.
    pub(crate) has_ended: bool,
}

impl NodeRoom {
    fn of(state: RoomState) -> (Arc<str>, Self) {
        let RoomState {
            room,
            owner,
            epoch,
            revision,
            has_ended,
        } = state;
        let followed = Followed { epoch, revision };
        let at_node = Self {
            owner,
            followed,
            has_ended,
        };
        (room, at_node)
    }

    /// The owner. One that was never said has the number 0.
    pub(crate) fn holder(&self) -> Holder {
        Holder {
            controller: Some(self.owner).filter(|owner| *owner != ControllerId::default()),
            epoch: self.followed.epoch,
        }
    }
}

impl Nodes {
    pub(crate) fn connected(&mut self, node: NodeId, rooms: Vec<RoomState>) {
        self.0.insert(node, rooms.into_iter().map(NodeRoom::of).collect());
    }

    /// Another controller has claimed or ended a room at a node.
    pub(crate) fn changed(&mut self, node: NodeId, state: RoomState) {
        if let Some(rooms) = self.0.get_mut(&node) {
            let (name, room) = NodeRoom::of(state);
            make_place(rooms);
            rooms.insert(name, room);
        }
    }

    pub(crate) fn lost(&mut self, node: NodeId) {
        self.0.remove(&node);
    }

    pub(crate) fn is_connected(&self, node: NodeId) -> bool {
        self.0.contains_key(&node)
    }

    pub(crate) fn room(&self, node: NodeId, room: &str) -> Option<NodeRoom> {
        self.0.get(&node)?.get(room).copied()
    }

    /// Notes the owner and the epoch of a room at a node, as its message says.
    pub(crate) fn note(&mut self, node: NodeId, room: &Arc<str>, owner: ControllerId, epoch: Epoch) {
        let Some(rooms) = self.0.get_mut(&node) else {
            return;
        };
        make_place(rooms);
        let known = rooms.entry(room.clone()).or_insert(NodeRoom {
            owner,
            followed: Followed { epoch, revision: 0 },
            has_ended: false,
        });
        if known.followed.epoch <= epoch {
            (known.owner, known.followed.epoch, known.has_ended) = (owner, epoch, false);
        }
    }

    /// Notes the epoch of a room at a node that has an owner which is not known.
    pub(crate) fn note_epoch(&mut self, node: NodeId, room: &Arc<str>, epoch: Epoch) {
        let owner = self.room(node, room).map(|known| known.owner).unwrap_or_default();
        self.note(node, room, owner, epoch);
    }

    /// A node takes nothing of a room.
    pub(crate) fn forget(&mut self, node: NodeId, room: &str) {
        if let Some(rooms) = self.0.get_mut(&node) {
            rooms.remove(room);
        }
    }

    /// The room is over at a node, which keeps its epoch.
    pub(crate) fn ended(&mut self, node: NodeId, room: &str) {
        if let Some(known) = self.0.get_mut(&node).and_then(|rooms| rooms.get_mut(room)) {
            known.has_ended = true;
        }
    }

    /// The connected nodes that have a room, and how far they have followed.
    pub(crate) fn with(&self, room: &str) -> Vec<(NodeId, Followed)> {
        let nodes = self.0.iter();
        let there = nodes.filter_map(|(node, rooms)| Some((*node, rooms.get(room)?)));
        let there = there.filter(|(_, known)| !known.has_ended);
        there.map(|(node, known)| (node, known.followed)).collect()
    }

    /// The highest epoch of a room that a node has seen.
    pub(crate) fn highest(&self, room: &str) -> Epoch {
        let known = self.0.values().filter_map(|rooms| rooms.get(room));
        known.map(|known| known.followed.epoch).max().unwrap_or_default()
    }

    /// The controller that the nodes obey which have followed the furthest in a room.
    pub(crate) fn holder(&self, room: &str) -> Option<Holder> {
        let known = self.0.values().filter_map(|rooms| rooms.get(room));
        let there = known.filter(|known| !known.has_ended);
        there.max_by_key(|known| known.followed).map(NodeRoom::holder)
    }

    /// The first rooms of each node by name, at most `max` of each.
    pub(crate) fn first(&self, max: usize) -> impl Iterator<Item = (NodeId, &Arc<str>, NodeRoom)> {
        self.0.iter().flat_map(move |(node, rooms)| {
            let there = rooms.iter().filter(|(_, known)| !known.has_ended);
            there.take(max).map(|(name, known)| (*node, name, *known))
        })
    }

    /// The rooms that nodes have of owners that do not run, each with one of these owners.
    pub(crate) fn orphans(&self, runs: impl Fn(ControllerId) -> bool) -> BTreeMap<Arc<str>, ControllerId> {
        let all = self.0.values().flatten();
        let orphans = all.filter(|(_, room)| !room.has_ended && !runs(room.owner));
        orphans.map(|(name, room)| (name.clone(), room.owner)).collect()
    }
}

/// At the limit forgets the epochs of rooms that are over. The node knows them.
fn make_place(rooms: &mut BTreeMap<Arc<str>, NodeRoom>) {
    if rooms.len() >= NODE_ROOMS_MAX {
        rooms.retain(|_, room| !room.has_ended);
    }
}
