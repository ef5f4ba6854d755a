//! The choice of the side that runs a replica, and the departure of a replica from the kernel.

use std::collections::BTreeSet;
use std::time::Instant;

use dataplane::{Leg, LegId, Protection, Reason, Refused, ReplicaId, StreamKey};

use super::super::kernel::set;
use super::super::{fit, handover, stamp};
use super::{EntryTable, Location};
use crate::layout::fanout::{FANOUT_COPIES, Probe, ReplicaCell, ReplicaEntry};

/// Reads a value as it is between two changes under its lock.
const BPF_F_LOCK: u64 = 4;

impl EntryTable {
    /// Decides where replicas run, and writes every stream affected to the kernel.
    pub(super) fn settle(&mut self, now: Instant, replicas: &[ReplicaId]) {
        let mut streams = BTreeSet::new();
        let mut left = Vec::new();
        for id in replicas {
            let before = self.replicas[id].location;
            self.assign(now, *id);
            if let (Location::Kernel { state, .. }, false) = (before, self.sends(*id)) {
                left.push((*id, before, self.followed(state)));
            }
            let table = &self.replicas[id];
            streams.extend(table.lingers.iter().chain(&table.entry.source));
        }
        for key in streams {
            self.publish(now, key);
        }
        // This is done after the kernel has stopped sending them. Their state stays in the tables
        // until the place is reused.
        left.into_iter()
            .for_each(|(id, location, source)| self.leave(id, location, source));
    }

    /// Ends a replica that followed a stream here, and keeps its state for the base.
    fn leave(&mut self, id: ReplicaId, location: Location, source: Option<StreamKey>) {
        let Location::Kernel { state, place } = location else {
            return;
        };
        if let Some((place, entry)) = place {
            // A packet may still be in progress with the old entry. It gets no number after the one
            // that is read here, since the program checks the entry again under the lock.
            let paused = ReplicaEntry { paused: 1, ..entry };
            set(&mut self.kernel.replica_entries, place, paused);
        }
        let progress = self
            .kernel
            .replica_states
            .get(&state, BPF_F_LOCK)
            .map(|cell| cell.progress);
        let Some(progress) = progress.ok().filter(|progress| progress.started == 1) else {
            return;
        };
        let Some(table) = self.replicas.get_mut(&id) else {
            return;
        };
        table.sent = table.sent.with_counts_of(&handover::counts(&progress));
        let source = match progress.continues {
            // No packet has arrived since it moved here.
            1 => table.entry.source,
            _ => source,
        };
        let source = source.filter(|_| progress.epoch == table.epoch);
        self.left.insert(id, handover::snapshot(source, &progress));
        // It has had numbers, whether or not the base has anything to send of it yet.
        if let Some(Location::Base { begun, .. }) = self.replicas.get_mut(&id).map(|table| &mut table.location) {
            *begun = true;
        }
    }

    /// Decides where a replica runs.
    fn assign(&mut self, now: Instant, id: ReplicaId) {
        let location = self.replicas[&id].location;
        let is_free = !matches!(location, Location::Base { begun: true, .. });
        let wanted = self.where_to(id).and_then(|()| match is_free {
            true => self.count(now, id),
            false => Ok(()),
        });
        let new = match (location, wanted) {
            (Location::Base { begun: true, .. }, Ok(())) => Location::Base {
                why: Refused::Unsupported(Reason::Companion),
                begun: true,
            },
            (Location::Base { begun, .. }, Err(why)) => Location::Base {
                why,
                begun: begun || self.may_send(id),
            },
            (Location::Kernel { .. }, Ok(())) => location,
            (Location::Kernel { .. }, Err(why)) => {
                self.give_up(now, location);
                Location::Base {
                    why,
                    begun: self.may_send(id),
                }
            }
            (Location::Base { begun: false, .. }, Ok(())) => match self.replica_states.take(now) {
                Some(state) if set(&mut self.kernel.replica_states, state, ReplicaCell::default()) => {
                    Location::Kernel { state, place: None }
                }
                _ => Location::Base {
                    why: Refused::Full,
                    begun: self.may_send(id),
                },
            },
        };
        let table = self.replicas.get_mut(&id).expect("it was looked at");
        table.location = new;
        let leg = table.entry.leg;
        if matches!(new, Location::Base { begun: true, .. }) && self.legs.get(&leg).is_some_and(stamp::are_wanted) {
            self.counts.leave(leg);
        }
        self.consider_move(id);
    }

    /// Has the packets of a replica's leg counted here, if they are to be.
    fn count(&mut self, now: Instant, id: ReplicaId) -> Result<(), Refused> {
        let leg = self.replicas[&id].entry.leg;
        if !stamp::are_wanted(&self.legs[&leg]) {
            return Ok(());
        }
        let new = self.counts.take(now, leg).map_err(|()| Refused::Full)?;
        if let Some(place) = new {
            set(&mut self.kernel.transport_numbers, place, 0);
            set(&mut self.kernel.probes, place, Probe::default());
        }
        Ok(())
    }

    fn where_to(&self, id: ReplicaId) -> Result<(), Refused> {
        self.fits_here(id)?;
        self.may_count(self.replicas[&id].entry.leg)
    }

    /// Whether a replica could run here, apart from the counting of its leg's packets.
    pub(super) fn fits_here(&self, id: ReplicaId) -> Result<(), Refused> {
        let table = &self.replicas[&id];
        let to = self
            .legs
            .get(&table.entry.leg)
            .ok_or(Reason::Companion)
            .map_err(Refused::Unsupported)?;
        for key in table.lingers.iter().chain(&table.entry.source) {
            self.fits(*key)?;
            let (stream, from) = (&self.streams[key], &self.legs[&key.leg]);
            fit::replica(&table.entry, to, from).map_err(Refused::Unsupported)?;
            let others = stream
                .members
                .iter()
                .filter(|other| **other != id && (self.sends(**other) || self.promotion.has_room_for(**other)));
            if others.clone().count() >= FANOUT_COPIES as usize {
                return Err(Refused::Full);
            }
            // A replica has one list of payload types for all its sources.
            if table.entry.source.is_some_and(|source| !self.are_alike(*key, source)) {
                return Err(Refused::Unsupported(Reason::Codec));
            }
            // An element that is removed from packets is removed for all receivers.
            let carried = |to: &Leg| fit::carried(to, from);
            let mut others = others.filter_map(|other| self.legs.get(&self.replicas[other].entry.leg));
            if others.next().is_some_and(|other| carried(other) != carried(to)) {
                return Err(Refused::Unsupported(Reason::Extensions));
            }
        }
        fit::leg(to).map_err(Refused::Unsupported)
    }

    /// Whether a leg's packets can be counted here, where they are to be.
    fn may_count(&self, id: LegId) -> Result<(), Refused> {
        match stamp::are_wanted(&self.legs[&id]) && self.counts.is_elsewhere(id) {
            true => Err(Refused::Unsupported(Reason::Companion)),
            false => Ok(()),
        }
    }

    fn are_alike(&self, one: StreamKey, other: StreamKey) -> bool {
        let formats = |key| self.streams.get(&key).map(|stream| &stream.entry.formats);
        formats(one) == formats(other)
    }

    /// Whether the base would send a replica if a packet arrived now.
    fn may_send(&self, id: ReplicaId) -> bool {
        let entry = &self.replicas[&id].entry;
        let is_open = |leg: LegId| {
            self.legs
                .get(&leg)
                .is_some_and(|leg| leg.protection != Protection::Pending)
        };
        let has_path = self.legs.get(&entry.leg).is_some_and(|leg| !leg.paths.is_empty());
        has_path && is_open(entry.leg) && entry.source.is_some_and(|key| is_open(key.leg)) && !entry.paused
    }

    pub(super) fn give_up(&mut self, now: Instant, location: Location) {
        if let Location::Kernel { state, place } = location {
            self.replica_states.give_up(state, now);
            if let Some((place, _)) = place {
                self.replica_entries.give_up(place, now);
            }
        }
    }
}
