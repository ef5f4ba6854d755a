//! The rooms that this controller owns or claims.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use southbound::{Epoch, NodeId};

use crate::Part;
use crate::limits::PARTS_BYTES_MAX;
use crate::nodes::Followed;

/// How far the claim of a room is.
#[derive(Debug)]
pub(crate) enum Room {
    /// Its record is read.
    Reading { attempt: u32 },
    /// Its record is written.
    Claiming { attempt: u32, epoch: Epoch },
    /// Nodes are asked what they have of it.
    Adopting(Adoption),
    /// A race was lost, and the next attempt waits.
    Pausing { attempt: u32, until: Instant },
    /// This controller owns it.
    Owned(Ownership),
}

impl Room {
    /// When something is to be done about it, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Adopting(adoption) => Some(adoption.until),
            Self::Pausing { until, .. } => Some(*until),
            _ => None,
        }
    }
}

/// The adoption of a room.
#[derive(Debug)]
pub(crate) struct Adoption {
    pub(crate) attempt: u32,
    /// Nodes that have not said all yet, and how far they had followed before the claim.
    pub(crate) waiting: BTreeMap<NodeId, Followed>,
    pub(crate) ownership: Ownership,
    pub(crate) parts: Snapshot,
    pub(crate) until: Instant,
}

/// The ownership of a room.
#[derive(Debug)]
pub(crate) struct Ownership {
    pub(crate) epoch: Epoch,
    /// The revision of the room's record; `None` while it is to be written.
    pub(crate) stored: Option<u64>,
    /// The number of the last message.
    pub(crate) revision: u64,
    /// The last message to each node that the room was claimed at.
    pub(crate) sent: BTreeMap<NodeId, u64>,
}

impl Ownership {
    pub(crate) fn new(epoch: Epoch, stored: u64) -> Self {
        Self {
            epoch,
            stored: Some(stored),
            revision: 0,
            sent: BTreeMap::new(),
        }
    }

    /// The number of the next message, which goes to this node.
    pub(crate) fn number(&mut self, node: NodeId) -> u64 {
        self.revision += 1;
        self.sent.insert(node, self.revision);
        self.revision
    }
}

/// The parts of a room's snapshot. A part has one node, and the room's own part is the same at all
/// nodes that have followed as far; of several with one name that of the node with the highest
/// epoch and revision counts.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    parts: BTreeMap<Arc<str>, (Followed, Part)>,
    bytes: usize,
}

impl Snapshot {
    /// Takes a part of a node that had followed so far. Returns whether there is room for it.
    pub(crate) fn add(&mut self, followed: Followed, part: Part) -> bool {
        let known = self.parts.get(&part.name);
        if known.is_some_and(|(known, _)| *known >= followed) {
            return true;
        }
        let freed = known.map_or(0, |(_, known)| known.blob.len());
        if self.bytes - freed + part.blob.len() > PARTS_BYTES_MAX {
            return false;
        }
        self.bytes = self.bytes - freed + part.blob.len();
        self.parts.insert(part.name.clone(), (followed, part));
        true
    }

    pub(crate) fn into_sorted(self) -> Vec<Part> {
        self.parts.into_values().map(|(_, part)| part).collect()
    }
}
