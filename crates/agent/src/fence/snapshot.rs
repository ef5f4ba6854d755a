//! The parts of a room's snapshot, which the node keeps and cannot read.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::Refusal;

use crate::limits::{
    PART_COST, PART_LEN_MAX, PART_NAME_LEN_MAX, PARTS_BYTES_MAX, PARTS_BYTES_PER_ROOM_MAX, PARTS_PER_ROOM_MAX,
};

/// The sealed parts of one room.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    all: BTreeMap<Arc<str>, Arc<[u8]>>,
    bytes: usize,
}

impl Snapshot {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Keeps a part. `of_all_rooms` is what all rooms have.
    ///
    /// Errors: it is longer than a part may be, or the room or the node has as much as it can have;
    /// nothing has changed then.
    pub(super) fn save(&mut self, part: Arc<str>, blob: Arc<[u8]>, of_all_rooms: &mut usize) -> Result<(), Refusal> {
        if part.len() > PART_NAME_LEN_MAX || blob.len() > PART_LEN_MAX {
            return Err(Refusal::LongPart);
        }
        let before = self.all.get(&part);
        let is_new = before.is_none();
        let freed = before.map_or(0, |before| cost(&part, before));
        let added = cost(&part, &blob);
        if is_new && self.all.len() >= PARTS_PER_ROOM_MAX || self.bytes - freed + added > PARTS_BYTES_PER_ROOM_MAX {
            return Err(Refusal::FullRoom);
        }
        if *of_all_rooms - freed + added > PARTS_BYTES_MAX {
            return Err(Refusal::FullNode);
        }
        self.bytes = self.bytes - freed + added;
        *of_all_rooms = *of_all_rooms - freed + added;
        self.all.insert(part, blob);
        Ok(())
    }

    /// Forgets the part of this name.
    pub(super) fn forget(&mut self, part: &Arc<str>, of_all_rooms: &mut usize) {
        if let Some(blob) = self.all.remove(part) {
            self.bytes -= cost(part, &blob);
            *of_all_rooms -= cost(part, &blob);
        }
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self, of_all_rooms: &mut usize) {
        *of_all_rooms -= self.bytes;
        *self = Self::default();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Arc<str>, Arc<[u8]>)> {
        self.all.iter().map(|(part, blob)| (part.clone(), blob.clone()))
    }
}

/// The bytes that a part is taken to cost.
fn cost(part: &str, blob: &[u8]) -> usize {
    part.len() + blob.len() + PART_COST
}
