//! A media node that keeps what it is told, and forwards nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::{NodeEvent, Part};
use southbound::{ControllerId, Epoch, RoomContent, RoomMessage, RoomState};

/// The rooms of a node.
#[derive(Debug, Default)]
pub(crate) struct Media {
    rooms: BTreeMap<Arc<str>, RoomCopy>,
    /// Commands, parts and all messages that it was sent, and the bytes of parts.
    pub(crate) commands: usize,
    pub(crate) saved: usize,
    pub(crate) saved_bytes: usize,
    pub(crate) messages: usize,
}

#[derive(Debug, Default)]
struct RoomCopy {
    owner: ControllerId,
    epoch: Epoch,
    revision: u64,
    has_ended: bool,
    parts: BTreeMap<Arc<str>, Arc<[u8]>>,
}

impl Media {
    /// Takes a message. Returns what it answers.
    pub(crate) fn take(&mut self, from: ControllerId, message: RoomMessage) -> Vec<NodeEvent> {
        self.messages += 1;
        let RoomMessage {
            room,
            epoch,
            revision,
            content,
        } = message;
        let kept = self.rooms.entry(room.clone()).or_default();
        kept.revision = revision;
        match content {
            RoomContent::Claim => {
                (kept.owner, kept.epoch) = (from, epoch);
                let saved = kept.parts.iter().map(|(name, blob)| NodeEvent::Saved {
                    room: room.clone(),
                    epoch,
                    part: Part {
                        name: name.clone(),
                        blob: blob.clone(),
                    },
                });
                let claimed = NodeEvent::Claimed {
                    room: room.clone(),
                    epoch,
                };
                return saved.chain([claimed]).collect();
            }
            RoomContent::Command(_) => self.commands += 1,
            RoomContent::Save { part, blob } => {
                self.saved += 1;
                self.saved_bytes += blob.len();
                kept.parts.insert(part, blob);
            }
            RoomContent::Forget { part } => drop(kept.parts.remove(&part)),
            RoomContent::End => kept.has_ended = true,
            RoomContent::Complete => {}
        }
        Vec::new()
    }

    pub(crate) fn states(&self) -> Vec<RoomState> {
        let rooms = self.rooms.iter();
        let states = rooms.map(|(room, kept)| RoomState {
            room: room.clone(),
            owner: kept.owner,
            epoch: kept.epoch,
            revision: kept.revision,
            has_ended: kept.has_ended,
        });
        states.collect()
    }

    pub(crate) fn part_bytes(&self) -> usize {
        let parts = self.rooms.values().flat_map(|kept| kept.parts.values());
        parts.map(|blob| blob.len()).sum()
    }

    pub(crate) fn forget_counts(&mut self) {
        (self.commands, self.saved, self.saved_bytes, self.messages) = (0, 0, 0, 0);
    }
}
