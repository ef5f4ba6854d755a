//! Replicas that the base started and that could be in the kernel: once there is room again, or the
//! obstacle is gone.
//!
//! The base is asked to release a replica and answers with its state, from which the kernel
//! continues. The replica's place is reserved until the answer arrives, so that no more are asked
//! for than there is room for. The next attempt is a second later, regardless of the answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use dataplane::{LegId, Reason, Refused, ReplicaId, ReplicaSnapshot};

use super::super::kernel::set;
use super::super::{fit, handover, stamp};
use super::{EntryTable, Location};
use crate::layout::fanout::{Probe, ReplicaCell};

/// The interval between attempts for replicas whose entries have not changed.
const AGAIN: Duration = Duration::from_secs(1);

/// Those that are asked for.
#[derive(Debug, Default)]
pub(super) struct Promotion {
    /// Whether the base was asked.
    asked: BTreeMap<ReplicaId, bool>,
    next: VecDeque<ReplicaId>,
    looks_at: Option<Instant>,
    /// The number of replicas that have moved here.
    came: u64,
}

impl Promotion {
    /// Whether a place among a stream's copies is kept for a replica.
    pub(super) fn has_room_for(&self, id: ReplicaId) -> bool {
        self.asked.contains_key(&id)
    }

    fn ask(&mut self, id: ReplicaId) {
        if self.asked.insert(id, false).is_none() {
            self.next.push_back(id);
        }
    }

    fn take(&mut self) -> Option<ReplicaId> {
        let id = self.next.pop_front()?;
        self.asked.insert(id, true);
        Some(id)
    }

    pub(super) fn forget(&mut self, id: ReplicaId) {
        self.asked.remove(&id);
        self.next.retain(|next| *next != id);
    }

    /// Drops a candidate that cannot be here after all, before the base was asked.
    fn drop_unasked(&mut self, id: ReplicaId) {
        if self.asked.get(&id) == Some(&false) {
            self.forget(id);
        }
    }
}

impl EntryTable {
    /// Looks for replicas for which there is room again.
    pub(in super::super) fn look_for_room(&mut self, now: Instant) {
        if self.promotion.looks_at.is_some_and(|at| now < at) {
            return;
        }
        self.promotion.looks_at = Some(now + AGAIN);
        self.list_again(now);
        // All other obstacles are in the replica's own entry.
        let by_others = |why: &Refused| match why {
            Refused::Full | Refused::Unsupported(Reason::Companion | Reason::Extensions) => true,
            Refused::Unsupported(_) | Refused::Gone | Refused::Pending => false,
        };
        let may_move = |location: &Location| matches!(location, Location::Base { begun: true, why } if by_others(why));
        let here: Vec<ReplicaId> = self
            .replicas
            .iter()
            .filter(|(_, table)| may_move(&table.location))
            .map(|(id, _)| *id)
            .collect();
        here.into_iter().for_each(|id| self.consider_move(id));
    }

    /// The number of replicas that have moved here from the base so far.
    pub(in super::super) fn came(&self) -> u64 {
        self.promotion.came
    }

    /// The next replica that the base is to let go.
    pub(in super::super) fn next_candidate(&mut self) -> Option<ReplicaId> {
        self.promotion.take()
    }

    /// Asks for a replica of the base's if it could be here.
    pub(super) fn consider_move(&mut self, id: ReplicaId) {
        let is_begun = matches!(self.replicas[&id].location, Location::Base { begun: true, .. });
        match is_begun && self.could_go_on(id) && self.could_count(self.replicas[&id].entry.leg) {
            true => self.promotion.ask(id),
            false => self.promotion.drop_unasked(id),
        }
    }

    /// Whether a replica could continue here from its state.
    fn could_go_on(&self, id: ReplicaId) -> bool {
        let entry = &self.replicas[&id].entry;
        let Some(source) = entry.source.filter(|_| !entry.paused) else {
            return false;
        };
        self.fits_here(id).is_ok() && fit::can_be_continued(&self.streams[&source].entry, &self.legs[&source.leg])
    }

    /// Whether a leg's packets can be counted here from some time on. Then all replicas of the leg
    /// must be able to move here.
    fn could_count(&self, leg: LegId) -> bool {
        if !stamp::are_wanted(&self.legs[&leg]) || self.counts.place(leg).is_some() {
            return true;
        }
        let stays = |(id, table): (&ReplicaId, &super::ReplicaRow)| {
            let is_begun = matches!(table.location, Location::Base { begun: true, .. });
            table.entry.leg == leg && is_begun && !self.could_go_on(*id)
        };
        !self.replicas.iter().any(stays)
    }

    /// Goes on with a replica where the base stopped, if that is known.
    pub(in super::super) fn take_over(
        &mut self,
        now: Instant,
        id: ReplicaId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) -> Result<(), Refused> {
        self.promotion.forget(id);
        let companion = Refused::Unsupported(Reason::Companion);
        let table = self.replicas.get(&id).ok_or(companion)?;
        let is_begun = matches!(table.location, Location::Base { begun: true, .. });
        let from = from.filter(|from| {
            is_begun && !from.awaits_key_frame && from.source.is_some() && table.entry.source == from.source
        });
        let from = from.ok_or(companion)?;
        if !self.could_go_on(id) || !self.could_count(self.replicas[&id].entry.leg) {
            return Err(companion);
        }
        self.count_from(now, id, transport_sequence)?;
        let state = self.replica_states.take(now).ok_or(Refused::Full)?;
        let table = self.replicas.get_mut(&id).expect("it was looked at");
        let cell = ReplicaCell {
            progress: handover::resumed(&from, table.epoch),
            ..ReplicaCell::default()
        };
        if !set(&mut self.kernel.replica_states, state, cell) {
            self.replica_states.give_up(state, now);
            return Err(Refused::Full);
        }
        table.location = Location::Kernel { state, place: None };
        self.left.remove(&id);
        self.promotion.came += 1;
        let streams: Vec<_> = table.lingers.iter().chain(&table.entry.source).copied().collect();
        streams.into_iter().for_each(|key| self.publish(now, key));
        Ok(())
    }

    /// Counts a leg's packets here, from this number on if that is new.
    fn count_from(&mut self, now: Instant, id: ReplicaId, transport_sequence: u16) -> Result<(), Refused> {
        let leg = self.replicas[&id].entry.leg;
        if !stamp::are_wanted(&self.legs[&leg]) {
            return Ok(());
        }
        if let Some(place) = self.counts.take(now, leg).map_err(|()| Refused::Full)? {
            self.counts.is_free(leg);
            set(&mut self.kernel.transport_numbers, place, transport_sequence.into());
            set(&mut self.kernel.probes, place, Probe::default());
        }
        Ok(())
    }
}
