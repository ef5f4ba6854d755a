//! How a controller stands in its cluster, for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use southbound::{Epoch, NodeId};

use super::Cluster;
use crate::io::Holder;
use crate::rooms::Room;

/// A controller in its cluster, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The store has confirmed the lease.
    pub has_lease: bool,
    /// The store has told of all members.
    pub knows_members: bool,
    /// Rooms that it owns.
    pub owned: usize,
    /// Rooms that it claims and does not own yet.
    pub claiming: usize,
}

/// A room and its owner, as far as a controller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomStanding {
    /// The owner and its epoch.
    pub holder: Holder,
    /// The media nodes that have the room.
    pub nodes: Vec<NodeId>,
}

impl Cluster {
    /// This controller in its cluster.
    pub fn standing(&self, now: Instant) -> Standing {
        let owned = self.rooms.values().filter(|room| matches!(room, Room::Owned(_)));
        let owned = owned.count();
        Standing {
            has_lease: self.lease.is_held(now),
            knows_members: self.members.is_complete(),
            owned,
            claiming: self.rooms.len() - owned,
        }
    }

    /// The owner of a room, as far as its nodes say.
    pub fn holder(&self, room: &str) -> Option<Holder> {
        self.nodes.holder(room)
    }

    /// The first rooms by name, at most `max`: those that this controller owns, and those of others
    /// that connected media nodes have. Costs no more than `max` rooms of each node.
    pub fn first_rooms(&self, max: usize) -> BTreeMap<Arc<str>, RoomStanding> {
        let mut all = BTreeMap::<Arc<str>, RoomStanding>::new();
        let owned = self.rooms.iter().filter_map(|(name, room)| match room {
            Room::Owned(ownership) => Some((name, ownership.epoch)),
            _ => None,
        });
        for (name, epoch) in owned.take(max) {
            all.insert(name.clone(), self.own(epoch));
        }
        for (node, name, at_node) in self.nodes.first(max) {
            let nothing = || RoomStanding {
                holder: at_node.holder(),
                nodes: Vec::new(),
            };
            let room = all.entry(name.clone()).or_insert_with(nothing);
            room.nodes.push(node);
            if at_node.followed.epoch > room.holder.epoch {
                room.holder = at_node.holder();
            }
        }
        if let Some(beyond) = all.keys().nth(max).cloned() {
            all.split_off(&beyond);
        }
        all
    }

    fn own(&self, epoch: Epoch) -> RoomStanding {
        let controller = Some(self.config.controller);
        RoomStanding {
            holder: Holder { controller, epoch },
            nodes: Vec::new(),
        }
    }
}
