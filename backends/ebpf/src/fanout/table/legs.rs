//! Legs: the pairs of addresses whose packets the kernel looks at.

use std::time::Instant;

use dataplane::{Leg, LegId, Path, Refused, ReplicaId, StreamKey};

use super::super::fit;
use super::super::kernel::pair;
use super::EntryTable;

impl EntryTable {
    pub(in super::super) fn set_leg(&mut self, now: Instant, id: LegId, leg: Leg) -> Result<(), Refused> {
        let answer = fit::leg(&leg).map_err(Refused::Unsupported);
        let accepted = if answer.is_ok() { &leg.paths[..] } else { &[] };
        if let Some(before) = self.legs.get(&id) {
            for gone in before.paths.clone().iter().filter(|path| !accepted.contains(path)) {
                self.unlist(gone, id);
            }
        }
        self.legs.insert(id, leg);
        self.pairs.set_listed(id, true);
        let answer = answer.and_then(|()| self.list(id));
        let concerned: Vec<ReplicaId> = self.concerned(id).collect();
        self.settle(now, &concerned);
        // Its pair may be there for other legs, so a stream that is only left behind has to go.
        let streams = self.streams.keys().filter(|key| key.leg == id);
        let unfit: Vec<StreamKey> = streams.filter(|key| self.fits(**key).is_err()).copied().collect();
        unfit.into_iter().for_each(|key| self.publish(now, key));
        answer
    }

    /// Has the kernel look at packets of a leg's pairs.
    fn list(&mut self, id: LegId) -> Result<(), Refused> {
        let leg = &self.legs[&id];
        let number = self.pairs.number(id, leg);
        let mut is_listed = true;
        for path in &leg.paths {
            let pair = pair(path.local, path.remote);
            self.adopted.claim(&pair);
            match self.kernel.set_leg(pair, number) {
                Ok(()) => self.pairs.add(*path, id),
                Err(_) => is_listed = false,
            }
        }
        self.pairs.set_listed(id, is_listed);
        is_listed.then_some(()).ok_or(Refused::Full)
    }

    /// Has the kernel look at no packets of a pair for this leg.
    fn unlist(&mut self, path: &Path, id: LegId) {
        if self.pairs.remove(path, id) {
            self.kernel.remove_leg(&pair(path.local, path.remote));
        }
    }

    pub(in super::super) fn remove_leg(&mut self, now: Instant, id: LegId) {
        let sent: Vec<ReplicaId> = self
            .replicas
            .iter()
            .filter(|(_, table)| table.entry.leg == id)
            .map(|(id, _)| *id)
            .collect();
        sent.into_iter().for_each(|replica| self.remove_replica(now, replica));
        let streams: Vec<StreamKey> = self.streams.keys().filter(|key| key.leg == id).copied().collect();
        streams.into_iter().for_each(|key| self.remove_stream(now, key));
        if let Some(leg) = self.legs.remove(&id) {
            for path in &leg.paths {
                self.unlist(path, id);
            }
            self.pairs.forget(id, &leg);
        }
        self.counts.remove(now, id);
    }

    /// Tries again to have the kernel look at the pairs for which it had no room.
    pub(super) fn list_again(&mut self, now: Instant) {
        for id in self.pairs.unlisted() {
            if self.list(id).is_ok() {
                let concerned: Vec<ReplicaId> = self.concerned(id).collect();
                self.settle(now, &concerned);
            }
        }
    }
}
