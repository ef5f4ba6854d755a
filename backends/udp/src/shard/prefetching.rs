//! Prefetching of the state of replicas that are served next.

use dataplane::ReplicaId;

use crate::prefetch;
use crate::shard::leg::LegState;
use crate::shard::tables::Tables;

impl Tables {
    /// Prefetches what the first replicas need.
    pub(crate) fn prefetch_first(&self, part: &[(ReplicaId, usize)]) {
        part.iter().take(3).for_each(|(_, slot)| self.prefetch_replica(*slot));
        part.iter().take(2).for_each(|(_, slot)| self.prefetch_leg(*slot));
        part.iter().take(1).for_each(|(_, slot)| self.prefetch_behind(*slot));
    }

    /// Prefetches what the next replicas need: the replica of the third, the leg of the second and
    /// the leg's allocations of the first. Each points to the next.
    pub(crate) fn prefetch_next(&self, next: &[(ReplicaId, usize)]) {
        if let Some((_, third)) = next.get(2) {
            self.prefetch_replica(*third);
        }
        if let Some((_, second)) = next.get(1) {
            self.prefetch_leg(*second);
        }
        if let Some((_, first)) = next.first() {
            self.prefetch_behind(*first);
        }
    }

    fn prefetch_replica(&self, slot: usize) {
        prefetch::value(self.replicas.slot(slot));
    }

    fn prefetch_leg(&self, replica: usize) {
        let replica = &self.replicas[replica];
        prefetch::first(&replica.entry.formats);
        LegState::prefetch(self.legs.slot(replica.leg));
    }

    fn prefetch_behind(&self, replica: usize) {
        self.legs[self.replicas[replica].leg].prefetch_behind();
    }
}
