//! The rooms that this controller owns or claims.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use southbound::{Epoch, NodeId};

use crate::limits::{ATTEMPTS_MAX, PARTS_BYTES_MAX};
use crate::nodes::Followed;
use crate::{Holder, Part};

/// The attempts to claim a room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Those that have failed.
    pub(crate) failed: u32,
    /// When the first one began.
    pub(crate) begun: Instant,
}

impl Attempt {
    pub(crate) fn first(now: Instant) -> Self {
        Self { failed: 0, begun: now }
    }

    /// The next one; `None` if there have been too many.
    pub(crate) fn next(self) -> Option<Self> {
        let failed = self.failed + 1;
        (failed <= ATTEMPTS_MAX).then_some(Self { failed, ..self })
    }
}

/// How far the claim of a room is.
#[derive(Debug)]
pub(crate) enum Room {
    /// Its record is read.
    Reading(Search),
    /// Its record is written.
    Claiming { attempt: Attempt, epoch: Epoch },
    /// Nodes are asked what they have of it.
    Adopting(Adoption),
    /// A race was lost, and the next attempt waits.
    Pausing { attempt: Attempt, until: Instant },
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

/// The search for the owner of a room.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) attempt: Attempt,
    /// The room is claimed where nobody has it.
    pub(crate) creates: bool,
    /// The address of a controller that nodes may name and that does not serve the room.
    pub(crate) denied_by: Option<String>,
}

/// The adoption of a room.
#[derive(Debug)]
pub(crate) struct Adoption {
    pub(crate) attempt: Attempt,
    /// The owner that the nodes obeyed before.
    pub(crate) former: Option<Holder>,
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
    parts: BTreeMap<Arc<str>, (Followed, NodeId, Part)>,
    bytes: usize,
}

impl Snapshot {
    /// Takes a part of a node that had followed so far. Returns whether there is room for it.
    pub(crate) fn add(&mut self, node: NodeId, followed: Followed, part: Part) -> bool {
        let known = self.parts.get(&part.name);
        if known.is_some_and(|(known, ..)| *known >= followed) {
            return true;
        }
        let freed = known.map_or(0, |(.., known)| known.blob.len());
        if self.bytes - freed + part.blob.len() > PARTS_BYTES_MAX {
            return false;
        }
        self.bytes = self.bytes - freed + part.blob.len();
        self.parts.insert(part.name.clone(), (followed, node, part));
        true
    }

    pub(crate) fn into_sorted(self) -> Vec<(NodeId, Part)> {
        let parts = self.parts.into_values();
        parts.map(|(_, node, part)| (node, part)).collect()
    }
}
