//! The way of a room to its owner: its record, then its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use southbound::{ControllerId, Epoch, RoomContent};

use super::{Cluster, Purpose, say};
use crate::io::{Event, Output, StoreOperation, StoredValue, UnavailableReason};
use crate::limits::{ADOPTION_MAX, PAUSE, ROOMS_MAX};
use crate::record::{RoomRecord, room_key};
use crate::rooms::{Adoption, Attempt, Ownership, Room, Search, Snapshot};

impl Cluster {
    pub(super) fn open(
        &mut self,
        now: Instant,
        room: Arc<str>,
        creates: bool,
        denied_by: Option<String>,
        out: &mut Vec<Output>,
    ) {
        let is_full = self.rooms.len() >= ROOMS_MAX;
        match self.rooms.get_mut(&room) {
            Some(Room::Owned(ownership)) => out.push(Output::Opened {
                epoch: ownership.epoch,
                room,
                parts: Vec::new(),
                nodes: Vec::new(),
                former: None,
                begun: now,
            }),
            // Its answer is for everybody who asks meanwhile.
            Some(Room::Reading(search)) => {
                search.creates |= creates;
                search.denied_by = denied_by.or(search.denied_by.take());
            }
            Some(_) => {}
            None if is_full => {
                let reason = UnavailableReason::Full;
                out.push(Output::Unavailable { room, reason });
            }
            None => {
                let search = Search {
                    attempt: Attempt::first(now),
                    creates,
                    denied_by,
                };
                self.read(now, room, search, out);
            }
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
        for node in nodes {
            if self.nodes.is_connected(node) {
                say(&mut ownership, room, node, RoomContent::End, out);
                self.nodes.ended(node, room);
            }
        }
        self.unclaim(room, ownership.stored, out);
    }

    /// The nodes go on with the room, and keep its snapshot for the next owner.
    pub(super) fn release(&mut self, room: &Arc<str>, out: &mut Vec<Output>) {
        match self.rooms.remove(room) {
            Some(Room::Owned(ownership)) => self.unclaim(room, ownership.stored, out),
            Some(other) => drop(self.rooms.insert(room.clone(), other)),
            None => {}
        }
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
                let search = Search {
                    attempt,
                    creates: true,
                    denied_by: None,
                };
                self.read(now, room, search, out);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Instant, room: Arc<str>, search: Search, out: &mut Vec<Output>) {
        // Before all members are known nobody can be told from one that is gone.
        if !self.lease.is_held(now) || !self.members.is_complete() {
            return self.unread(now, room, &search, out);
        }
        let key = room_key(&room);
        self.rooms.insert(room.clone(), Room::Reading(search));
        self.ask(Purpose::Read { room }, StoreOperation::Read { key }, out);
    }

    /// The store does not say who owns a room. Its nodes know, if there is one, and need no store
    /// for that.
    pub(super) fn unread(&mut self, now: Instant, room: Arc<str>, search: &Search, out: &mut Vec<Output>) {
        let named = self.nodes.holder(&room).and_then(|holder| holder.controller);
        let other = named.filter(|owner| *owner != self.config.controller);
        let found = other.and_then(|owner| Some((owner, self.members.presumed_address(now, owner)?)));
        let found = found.filter(|(_, address)| search.denied_by.as_deref() != Some(*address));
        match found.map(|(owner, address)| (owner, address.to_owned())) {
            Some((owner, address)) => {
                self.rooms.remove(&room);
                out.push(Output::Elsewhere { room, owner, address });
            }
            None => self.unavailable(room, UnavailableReason::Store, out),
        }
    }

    /// The record of a room is known: it names an owner that runs, or the room is claimed.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        room: Arc<str>,
        search: Search,
        found: Option<StoredValue>,
        out: &mut Vec<Output>,
    ) {
        let record = match found
            .as_ref()
            .map(|found| serde_json::from_slice::<RoomRecord>(&found.value))
        {
            Some(Err(_)) => return self.unavailable(room, UnavailableReason::Record, out),
            Some(Ok(record)) => Some(record),
            None => None,
        };
        // The store may have forgotten the record, and the nodes know the owner.
        let owner = match record {
            Some(record) => Some(ControllerId::new(record.owner)),
            None => self.nodes.holder(&room).and_then(|holder| holder.controller),
        };
        if let Some(owner) = owner.filter(|owner| *owner != self.config.controller) {
            let address = match record {
                Some(_) => self.members.address(owner),
                None => {
                    let presumed = self.members.presumed_address(now, owner);
                    presumed.filter(|address| search.denied_by.as_deref() != Some(*address))
                }
            };
            if let Some(address) = address.map(str::to_owned) {
                self.rooms.remove(&room);
                return out.push(Output::Elsewhere { room, owner, address });
            }
        }
        if !search.creates && self.nodes.with(&room).is_empty() {
            self.rooms.remove(&room);
            return out.push(Output::Absent { room });
        }
        let stored = record.map_or(0, |record| record.epoch);
        let Some(epoch) = stored.max(self.nodes.highest(&room).0).checked_add(1) else {
            return self.unavailable(room, UnavailableReason::Record, out);
        };
        self.claim(
            now,
            room,
            search.attempt,
            Epoch(epoch),
            found.map(|found| found.revision),
            out,
        );
    }

    /// Writes the record of a room, in place of this revision of it.
    fn claim(
        &mut self,
        now: Instant,
        room: Arc<str>,
        attempt: Attempt,
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
        attempt: Attempt,
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
        let former = self.nodes.holder(&room);
        for (node, followed) in self.nodes.with(&room) {
            self.nodes.note(node, &room, self.config.controller, epoch);
            say(&mut ownership, &room, node, RoomContent::Claim, out);
            waiting.insert(node, followed);
        }
        let is_alone = waiting.is_empty();
        let adoption = Adoption {
            attempt,
            former,
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
        attempt: Attempt,
        held: Epoch,
        stored: Option<u64>,
        out: &mut Vec<Output>,
    ) {
        match held.0.checked_add(1).zip(attempt.next()) {
            Some((epoch, attempt)) => self.claim(now, room, attempt, Epoch(epoch), stored, out),
            None => {
                self.unclaim(&room, stored, out);
                self.unavailable(room, UnavailableReason::Contended, out);
            }
        }
    }

    /// Looks again after a pause: somebody else has claimed the room.
    pub(super) fn pause(&mut self, now: Instant, room: Arc<str>, attempt: Attempt, out: &mut Vec<Output>) {
        let Some(attempt) = attempt.next() else {
            return self.unavailable(room, UnavailableReason::Contended, out);
        };
        // Two controllers must not pause alike.
        let share = PAUSE.mul_f64(f64::from(self.config.controller.number() % 1_000) / 1_000.0);
        let until = now + PAUSE * attempt.failed + share;
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
            former: adoption.former,
            begun: adoption.attempt.begun,
        });
        self.rooms.insert(room, Room::Owned(adoption.ownership));
    }
}
