//! Entries that an earlier process left in the tables. Their packets are still forwarded.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aya::maps::MapError;

use super::kernel::Kernel;
use crate::layout::fanout::{FANOUT_COPIES, Pair, StreamKey};

/// Adopted entries, whose owners are unknown. New entries get other places and numbers, so that the
/// two do not affect each other. Adopted entries that are not ordered again in time are removed.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    pairs: Vec<Pair>,
    streams: Vec<StreamKey>,
    pub(super) stream_entries: BTreeSet<u32>,
    pub(super) stream_states: BTreeSet<u32>,
    pub(super) replica_entries: BTreeSet<u32>,
    pub(super) replica_states: BTreeSet<u32>,
    /// Slots of the transport-wide numbers of legs.
    pub(super) counts: BTreeSet<u32>,
    /// The lowest number of legs that is not in use, and none above it is.
    pub(super) legs_from: u32,
    /// When all of it is removed.
    pub(super) until: Option<Instant>,
}

impl Adopted {
    /// Reads the entries from the tables. They stay until `now` plus `keep`.
    pub(super) fn read(kernel: &Kernel, now: Instant, keep: Duration) -> Result<Self, MapError> {
        let mut adopted = Adopted::default();
        let mut legs = BTreeSet::new();
        for entry in kernel.legs() {
            let (pair, leg) = entry?;
            adopted.pairs.push(pair);
            legs.insert(leg);
        }
        for entry in kernel.streams() {
            let (key, place) = entry?;
            adopted.streams.push(key);
            adopted.stream_entries.insert(place.entry);
            adopted.stream_states.insert(place.state);
            legs.insert(key.leg);
            adopted.read_replicas(kernel, place.entry)?;
        }
        adopted.legs_from = legs.last().map_or(0, |highest| highest.wrapping_add(1));
        adopted.until = (!adopted.pairs.is_empty() || !adopted.streams.is_empty()).then_some(now + keep);
        Ok(adopted)
    }

    fn read_replicas(&mut self, kernel: &Kernel, stream: u32) -> Result<(), MapError> {
        let stream = kernel.stream_entries.get(&stream, 0)?;
        let places = stream.replicas.iter().flat_map(|row| row.places);
        for place in places.take(stream.replicas_count.min(FANOUT_COPIES) as usize) {
            self.replica_entries.insert(place);
            let replica = kernel.replica_entries.get(&place, 0)?;
            self.replica_states.insert(replica.state);
            self.counts.extend((replica.number_id != 0).then_some(replica.leg));
        }
        Ok(())
    }

    /// How many streams there are of it.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Gives a pair of addresses to a new leg: it is no longer adopted, so the sweep keeps it.
    pub(super) fn claim(&mut self, pair: &Pair) {
        self.pairs.retain(|found| found != pair);
    }

    /// Has the kernel forget it. Its places are free then.
    pub(super) fn remove_from(&self, kernel: &mut Kernel) {
        for key in &self.streams {
            kernel.remove_stream(key);
        }
        for pair in &self.pairs {
            kernel.remove_leg(pair);
        }
    }
}
