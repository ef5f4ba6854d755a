//! Rooms whose owner is gone and that no client may ask for: somebody has to end them, or to go on
//! with their media.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use southbound::ControllerId;

use super::Cluster;
use crate::io::Output;
use crate::limits::{ORPHANS_AFTER, ORPHANS_AT_ONCE, ORPHANS_INTERVAL};
use crate::rooms::Room;

/// Rooms whose owner is gone.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    /// Those that this controller adopts next.
    waiting: VecDeque<Arc<str>>,
    /// Those that it adopts.
    adopting: Vec<Arc<str>>,
    /// The owners of those that were found last.
    pub(super) owners: BTreeSet<ControllerId>,
    /// When they are looked for again. `None` before the first node is connected.
    look: Option<Instant>,
}

impl Orphans {
    /// Whether rooms are left that were found and are not adopted. Their owners stay gone
    /// meanwhile, however long it takes: the store may have their records still.
    pub(super) fn is_under_way(&self, rooms: &BTreeMap<Arc<str>, Room>) -> bool {
        !self.waiting.is_empty() || self.adopting.iter().any(|room| is_under_way(rooms, room))
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.look
    }
}

impl Cluster {
    /// A controller has no record any more. It may be the store that has forgotten.
    pub(super) fn expect_orphans(&mut self, now: Instant) {
        let at = now + ORPHANS_AFTER;
        self.orphans.look = Some(self.orphans.look.map_or(at, |look| look.min(at)));
    }

    /// Looks for rooms of owners that are gone. Of all controllers that run one adopts each, so
    /// that they do not race.
    pub(super) fn look_for_orphans(&mut self, now: Instant) {
        self.orphans.look = Some(now + ORPHANS_INTERVAL);
        if !self.members.is_complete() {
            return;
        }
        let own = self.config.controller;
        let orphans = self
            .nodes
            .orphans(|owner| owner == own || self.members.presumed_address(now, owner).is_some());
        let of_this = |room: &Arc<str>| !self.rooms.contains_key(room) && self.rendezvous(room) == own;
        let orphans = orphans.into_iter().filter(|(room, _)| of_this(room));
        (self.orphans.waiting, self.orphans.owners) = orphans.unzip();
    }

    /// Adopts orphans, a bounded number at a time.
    pub(super) fn adopt_orphans(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.orphans.waiting.is_empty() {
            return;
        }
        let rooms = &self.rooms;
        self.orphans.adopting.retain(|room| is_under_way(rooms, room));
        while self.orphans.adopting.len() < ORPHANS_AT_ONCE {
            let Some(room) = self.orphans.waiting.pop_front() else {
                return;
            };
            if self.rooms.contains_key(&room) {
                continue;
            }
            self.open(now, room.clone(), false, None, out);
            if self.rooms.contains_key(&room) {
                self.orphans.adopting.push(room);
            }
        }
    }

    /// The controller of those that run that adopts a room.
    ///
    /// Source: highest random weight hashing, Thaler and Ravishankar 1998.
    fn rendezvous(&self, room: &str) -> ControllerId {
        let own = self.config.controller;
        let others = self.members.controllers().map(|(controller, _)| controller);
        let all = others.filter(|controller| *controller != own).chain([own]);
        all.max_by_key(|controller| (weight(room, *controller), *controller))
            .unwrap_or(own)
    }
}

fn is_under_way(rooms: &BTreeMap<Arc<str>, Room>, room: &Arc<str>) -> bool {
    !matches!(rooms.get(room), None | Some(Room::Owned(_)))
}

/// FNV-1a of a room's name and a controller's number, mixed so that its high bits differ as well.
fn weight(room: &str, controller: ControllerId) -> u64 {
    let number = controller.number().to_be_bytes();
    let bytes = room.bytes().chain(number);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests;
