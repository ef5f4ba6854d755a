//! Answers of the store, and the records that this controller keeps there.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use southbound::{ControllerId, Epoch};

use super::{Cluster, Purpose};
use crate::io::{
    Event, Holder, LostReason, Output, RequestId, StoreAnswer, StoreOperation, StoredValue, UnavailableReason,
};
use crate::limits::{AUDITED, STORE_RETRY, WRITES_MAX};
use crate::record::{RoomRecord, controller_key, room_key};
use crate::rooms::Room;

impl Cluster {
    pub(super) fn answered(&mut self, now: Instant, request: RequestId, answer: StoreAnswer, out: &mut Vec<Output>) {
        let Some(purpose) = self.requests.remove(&request) else {
            return;
        };
        if answer == StoreAnswer::LeaseLost {
            self.lease_lost(now, out);
        }
        match purpose {
            Purpose::Lease => self.lease_answered(now, &answer, out),
            Purpose::Own => self.own_record_answered(now, answer, out),
            Purpose::Read { room } => self.read_answered(now, room, answer, out),
            Purpose::Claim { room, epoch } => self.claim_answered(now, room, epoch, answer, out),
            Purpose::Rewrite { room } => {
                self.registration.writing -= 1;
                self.rewrite_answered(now, room, answer, out);
                self.write_records(now, out);
            }
            Purpose::Nothing => {}
        }
    }

    fn lease_answered(&mut self, now: Instant, answer: &StoreAnswer, out: &mut Vec<Output>) {
        match answer {
            StoreAnswer::Done => match self.lease.confirmed(now) {
                true => self.register(now, out),
                false => self.audit(now, out),
            },
            StoreAnswer::LeaseLost => {}
            _ => self.lease.failed(now, STORE_RETRY),
        }
    }

    /// The records of the lease are gone. Rooms go on, since their nodes obey this controller.
    fn lease_lost(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.lease.lost(now) {
            out.push(Output::Event(Event::LeaseLost));
        }
    }

    /// Writes everything anew: there is a new lease.
    fn register(&mut self, now: Instant, out: &mut Vec<Output>) {
        (self.registration.is_own_due, self.registration.own) = (true, None);
        for (name, room) in &mut self.rooms {
            if let Room::Owned(ownership) = room {
                ownership.stored = None;
                self.registration.rooms.push_back(name.clone());
            }
        }
        self.write_records(now, out);
    }

    /// Looks at the controller's own record and at those of the next rooms.
    fn audit(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.registration.is_own_due = true;
        let after = self.registration.audited.take();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let owned = self.rooms.range::<Arc<str>, _>((from, Bound::Unbounded));
        let owned = owned.filter(|(_, room)| matches!(room, Room::Owned(_)));
        let next: Vec<_> = owned.take(AUDITED).map(|(name, _)| name.clone()).collect();
        // At the end it begins again.
        self.registration.audited = next.last().filter(|_| next.len() == AUDITED).cloned();
        self.registration.rooms.extend(next);
        self.write_records(now, out);
    }

    /// Writes what is to be written, a bounded number of records at a time.
    pub(super) fn write_records(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.registration.retry.is_some() || !self.lease.is_held(now) {
            return;
        }
        if std::mem::take(&mut self.registration.is_own_due) {
            let key = controller_key(self.config.controller);
            let value = crate::record::write(&self.config.record);
            self.ask(Purpose::Own, StoreOperation::Claim { key, value }, out);
        }
        while self.registration.writing < WRITES_MAX {
            let Some(room) = self.registration.rooms.pop_front() else {
                return;
            };
            if let Some(Room::Owned(ownership)) = self.rooms.get(&room) {
                let (key, value) = (room_key(&room), self.room_record(ownership.epoch));
                self.registration.writing += 1;
                self.ask(Purpose::Rewrite { room }, StoreOperation::Claim { key, value }, out);
            }
        }
    }

    fn own_record_answered(&mut self, now: Instant, answer: StoreAnswer, out: &mut Vec<Output>) {
        match answer {
            StoreAnswer::Won { revision } => self.registration.own = Some(revision),
            StoreAnswer::Taken(found) if Some(found.revision) == self.registration.own => {}
            // It is bound to an earlier lease.
            StoreAnswer::Taken(StoredValue { revision, .. }) => {
                let key = controller_key(self.config.controller);
                let value = crate::record::write(&self.config.record);
                self.ask(Purpose::Own, StoreOperation::Swap { key, revision, value }, out);
            }
            _ => {
                self.registration.is_own_due = true;
                self.retry_later(now);
            }
        }
    }

    fn read_answered(&mut self, now: Instant, room: Arc<str>, answer: StoreAnswer, out: &mut Vec<Output>) {
        let Some(Room::Reading(search)) = self.rooms.get(&room) else {
            return;
        };
        let search = search.clone();
        match answer {
            StoreAnswer::Entry(found) => self.decide(now, room, search, found, out),
            _ => self.unread(now, room, &search, out),
        }
    }

    fn claim_answered(
        &mut self,
        now: Instant,
        room: Arc<str>,
        epoch: Epoch,
        answer: StoreAnswer,
        out: &mut Vec<Output>,
    ) {
        let attempt = match self.rooms.get(&room) {
            Some(Room::Claiming {
                attempt,
                epoch: claimed,
            }) if *claimed == epoch => *attempt,
            _ => {
                // Nobody wants the room any more.
                if let StoreAnswer::Won { revision } = answer {
                    self.unclaim(&room, Some(revision), out);
                }
                return;
            }
        };
        match answer {
            StoreAnswer::Won { revision } => self.adopt(now, room, attempt, epoch, revision, out),
            StoreAnswer::Taken(_) | StoreAnswer::Gone => self.pause(now, room, attempt, out),
            _ => self.unavailable(room, UnavailableReason::Store, out),
        }
    }

    fn rewrite_answered(&mut self, now: Instant, room: Arc<str>, answer: StoreAnswer, out: &mut Vec<Output>) {
        let Some(Room::Owned(ownership)) = self.rooms.get_mut(&room) else {
            if let StoreAnswer::Won { revision } = answer {
                self.unclaim(&room, Some(revision), out);
            }
            return;
        };
        match answer {
            StoreAnswer::Won { revision } => ownership.stored = Some(revision),
            StoreAnswer::Taken(StoredValue { value, revision }) => {
                let other = serde_json::from_slice::<RoomRecord>(&value).ok();
                let (ours, epoch) = (self.config.controller.number(), ownership.epoch);
                if ownership.stored == Some(revision) {
                    return;
                }
                // One that cannot be read is replaced: the nodes obey this controller.
                if let Some(other) = other.filter(|other| other.owner != ours && other.epoch >= epoch.0) {
                    let winner = Holder {
                        controller: Some(ControllerId::new(other.owner)),
                        epoch: Epoch(other.epoch),
                    };
                    return self.lose(room, winner, LostReason::Record, out);
                }
                let (key, value) = (room_key(&room), self.room_record(epoch));
                self.registration.writing += 1;
                self.ask(
                    Purpose::Rewrite { room },
                    StoreOperation::Swap { key, revision, value },
                    out,
                );
            }
            StoreAnswer::Gone => self.registration.rooms.push_back(room),
            _ => {
                self.registration.rooms.push_back(room);
                self.retry_later(now);
            }
        }
    }
}
