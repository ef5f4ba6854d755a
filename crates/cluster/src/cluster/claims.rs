//! The way of a room to its owner: its record, then its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use southbound::{ControllerId, Epoch, RoomContent};

use super::{Cluster, Purpose, say};
use crate::io::{Event, Output, StoreOperation, StoredValue, UnavailableReason};
use crate::limits::{ADOPTION_MAX, ATTEMPTS_MAX, PAUSE, ROOMS_MAX};
use crate::record::{RoomRecord, room_key};
use crate::rooms::{Adoption, Ownership, Room, Snapshot};

impl Cluster {
    pub(super) fn open(&mut self, now: Instant, room: Arc<str>, out: &mut Vec<Output>) {
        match self.rooms.get(&room) {
            Some(Room::Owned(ownership)) => out.push(Output::Opened {
                epoch: ownership.epoch,
                room,
                parts: Vec::new(),
                nodes: Vec::new(),
            }),
            // Its answer is for everybody who asks meanwhile.
            Some(_) => {}
            None if self.rooms.len() >= ROOMS_MAX => {
                let reason = UnavailableReason::Full;
                out.push(Output::Unavailable { room, reason });
            }
            None => self.read(now, room, 0, out),
        }
    }

    pub(super) fn end(&mut self, room: &Arc<str>, out: &mut Vec<Output>) {
        let mut ownership = match self.rooms.remove(room) {
            Some(Room::Owned(ownership)) => ownership,
            // Nobody wants the room any more. A request that is under way is undone when it is
            // answered.
            Some(Room::Adopting(adoption)) => return self.unclaim(room, adoption.ownership.stored, out),
            _ => return,
        };
        let nodes: Vec<_> = ownership.sent.keys().copied().collect();
        for node in nodes.into_iter().filter(|node| self.nodes.is_connected(*node)) {
            say(&mut ownership, room, node, RoomContent::End, out);
        }
        self.unclaim(room, ownership.stored, out);
    }

    pub(super) fn room_timeout(&mut self, now: Instant, room: Arc<str>, out: &mut Vec<Output>) {
        match self.rooms.get_mut(&room) {
            Some(Room::Adopting(adoption)) => {
                let late = std::mem::take(&mut adoption.waiting);
                for node in late.keys() {
                    adoption.ownership.sent.remove(node);
                }
                out.extend(late.into_keys().map(|node| {
                    let room = room.clone();
                    Output::Event(Event::Late { node, room })
                }));
                self.finish(room, out);
            }
            Some(Room::Pausing { attempt, .. }) => {
                let attempt = *attempt;
                self.read(now, room, attempt, out);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Instant, room: Arc<str>, attempt: u32, out: &mut Vec<Output>) {
        // Before all members are known nobody can be told from one that is gone.
        if !self.lease.is_held(now) || !self.members.is_complete() {
            return self.unavailable(room, UnavailableReason::Store, out);
        }
        let key = room_key(&room);
        self.rooms.insert(room.clone(), Room::Reading { attempt });
        self.ask(Purpose::Read { room }, StoreOperation::Read { key }, out);
    }

    /// The record of a room is known: it names an owner that runs, or the room is claimed.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        room: Arc<str>,
        attempt: u32,
        found: Option<StoredValue>,
        out: &mut Vec<Output>,
    ) {
        let record = match found.as_ref().map(|found| serde_json::from_slice(&found.value)) {
            Some(Err(_)) => return self.unavailable(room, UnavailableReason::Record, out),
            Some(Ok(record)) => Some(record),
            None => None,
        };
        if let Some(RoomRecord { owner, .. }) = record {
            let owner = ControllerId::new(owner);
            let address = self.members.address(owner).filter(|_| owner != self.config.controller);
            if let Some(address) = address.map(str::to_owned) {
                self.rooms.remove(&room);
                return out.push(Output::Elsewhere { room, owner, address });
            }
        }
        let stored = record.map_or(0, |record| record.epoch);
        let Some(epoch) = stored.max(self.nodes.highest(&room).0).checked_add(1) else {
            return self.unavailable(room, UnavailableReason::Record, out);
        };
        self.claim(now, room, attempt, Epoch(epoch), found.map(|found| found.revision), out);
    }

    /// Writes the record of a room, in place of this revision of it.
    fn claim(
        &mut self,
        now: Instant,
        room: Arc<str>,
        attempt: u32,
        epoch: Epoch,
        revision: Option<u64>,
        out: &mut Vec<Output>,
    ) {
        if !self.lease.is_held(now) {
            return self.unavailable(room, UnavailableReason::Store, out);
        }
        let (key, value) = (room_key(&room), self.room_record(epoch));
        let operation = match revision {
            Some(revision) => StoreOperation::Swap { key, revision, value },
            None => StoreOperation::Claim { key, value },
        };
        self.rooms.insert(room.clone(), Room::Claiming { attempt, epoch });
        self.ask(Purpose::Claim { room, epoch }, operation, out);
    }

    /// The record is this controller's. Nodes that have something of the room say it.
    pub(super) fn adopt(
        &mut self,
        now: Instant,
        room: Arc<str>,
        attempt: u32,
        epoch: Epoch,
        stored: u64,
        out: &mut Vec<Output>,
    ) {
        let highest = self.nodes.highest(&room);
        if highest >= epoch {
            // A node has connected meanwhile that knows more than the store.
            return self.raise(now, room, attempt, highest, Some(stored), out);
        }
        let mut ownership = Ownership::new(epoch, stored);
        let mut waiting = BTreeMap::new();
        for (node, followed) in self.nodes.with(&room) {
            self.nodes.note(node, &room, epoch);
            say(&mut ownership, &room, node, RoomContent::Claim, out);
            waiting.insert(node, followed);
        }
        let is_alone = waiting.is_empty();
        let adoption = Adoption {
            attempt,
            waiting,
            ownership,
            parts: Snapshot::default(),
            until: now + ADOPTION_MAX,
        };
        self.wait(room.clone(), Room::Adopting(adoption));
        if is_alone {
            self.finish(room, out);
        }
    }

    /// Claims the room again, in an epoch after `held`.
    pub(super) fn raise(
        &mut self,
        now: Instant,
        room: Arc<str>,
        attempt: u32,
        held: Epoch,
        stored: Option<u64>,
        out: &mut Vec<Output>,
    ) {
        match held.0.checked_add(1).filter(|_| attempt < ATTEMPTS_MAX) {
            Some(epoch) => self.claim(now, room, attempt + 1, Epoch(epoch), stored, out),
            None => {
                self.unclaim(&room, stored, out);
                self.unavailable(room, UnavailableReason::Contended, out);
            }
        }
    }

    /// Looks again after a pause: somebody else has claimed the room.
    pub(super) fn pause(&mut self, now: Instant, room: Arc<str>, attempt: u32, out: &mut Vec<Output>) {
        if attempt >= ATTEMPTS_MAX {
            return self.unavailable(room, UnavailableReason::Contended, out);
        }
        let attempt = attempt + 1;
        // Two controllers must not pause alike.
        let share = PAUSE.mul_f64(f64::from(self.config.controller.number() % 1_000) / 1_000.0);
        let until = now + PAUSE * attempt + share;
        self.wait(room, Room::Pausing { attempt, until });
    }

    /// All nodes of a room that is being adopted have said what they have, or had their time.
    pub(super) fn finish(&mut self, room: Arc<str>, out: &mut Vec<Output>) {
        let Some(Room::Adopting(adoption)) = self.rooms.remove(&room) else {
            return;
        };
        out.push(Output::Opened {
            room: room.clone(),
            epoch: adoption.ownership.epoch,
            parts: adoption.parts.into_sorted(),
            nodes: adoption.ownership.sent.keys().copied().collect(),
        });
        self.rooms.insert(room, Room::Owned(adoption.ownership));
    }
}
