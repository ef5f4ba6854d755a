//! The observations about one participant: the newest ones, in memory of a fixed size.

use operator::{Observation, TimelineEntry, TimelineTrack};

use crate::limits::{NAME_LEN, NAMES, RECORD_LEN, RECORDS, RING_LEN};
use crate::names;
use crate::record::Record;

/// The newest observations about one participant.
///
/// Its memory is allocated once, and takes [`RING_LEN`] bytes. Recording allocates nothing.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Names of tracks, then records.
    bytes: Box<[u8]>,
    /// All observations so far. The newest is in the place of this number less one, modulo
    /// [`RECORDS`].
    recorded: u64,
    /// Names that lost their place.
    renamed: u64,
}

// The fields count, too.
const _: () = assert!(RING_LEN + size_of::<Ring>() <= 64 << 10);

impl Default for Ring {
    fn default() -> Self {
        Ring {
            bytes: vec![0; RING_LEN].into_boxed_slice(),
            recorded: 0,
            renamed: 0,
        }
    }
}

impl Ring {
    /// Records an observation. `at_ms` is in milliseconds since the Unix epoch. Returns whether an
    /// older observation was overwritten.
    pub fn record(&mut self, at_ms: u64, track: Option<&TimelineTrack>, observation: Observation) -> bool {
        let (names, records) = self.bytes.split_at_mut(NAMES * NAME_LEN);
        let name = track.map(|track| {
            let (name, replaces) = names::take(names, track, self.recorded as u32);
            self.renamed += u64::from(replaces);
            name
        });
        let record = Record {
            at_ms,
            name,
            observation,
        };
        let place = (self.recorded % RECORDS as u64) as usize;
        if let Some(place) = records.as_chunks_mut::<RECORD_LEN>().0.get_mut(place) {
            record.encode(place);
        }
        self.recorded += 1;
        self.recorded > RECORDS as u64
    }

    /// The observations at or after a time, in the order in which they were recorded.
    pub fn entries(&self, since_ms: u64) -> impl Iterator<Item = TimelineEntry> + use<'_> {
        let (names, records) = self.bytes.split_at(NAMES * NAME_LEN);
        let oldest = self.recorded.saturating_sub(RECORDS as u64);
        (oldest..self.recorded).filter_map(move |number| {
            let place = records
                .as_chunks::<RECORD_LEN>()
                .0
                .get((number % RECORDS as u64) as usize)?;
            let record = Record::decode(place).filter(|record| record.at_ms >= since_ms)?;
            Some(TimelineEntry {
                at_ms: record.at_ms,
                track: record.name.and_then(|name| names::read(names, name)),
                observation: record.observation,
            })
        })
    }

    /// The number of observations that it has.
    pub fn len(&self) -> usize {
        self.recorded.min(RECORDS as u64) as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.recorded == 0
    }

    /// How many observations were overwritten by newer ones.
    pub fn overwritten(&self) -> u64 {
        self.recorded - self.len() as u64
    }

    /// How many tracks lost their names to others.
    pub fn renamed(&self) -> u64 {
        self.renamed
    }
}
