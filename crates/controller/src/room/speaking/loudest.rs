//! The voices that a large room hears.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use allocation::{Key, Loudest, LoudestFew, Voice};
use southbound::TrackId;

/// Level of what is not heard, in -dBov (RFC 6464).
const SILENCE: u8 = 127;

/// The microphones of one room.
#[derive(Debug)]
pub(crate) struct Voices {
    few: LoudestFew,
    levels: BTreeMap<TrackId, u8>,
    held: BTreeSet<TrackId>,
}

impl Voices {
    pub(crate) fn new(config: Loudest) -> Self {
        Self {
            few: LoudestFew::new(config),
            levels: BTreeMap::new(),
            held: BTreeSet::new(),
        }
    }

    /// Whether a microphone is held back.
    pub(crate) fn holds(&self, track: TrackId) -> bool {
        self.held.contains(&track)
    }

    /// Takes the levels of the interval that ended, in -dBov; tracks that are missing were silent.
    pub(crate) fn hear(&mut self, levels: BTreeMap<TrackId, u8>) {
        self.levels = levels;
    }

    /// Chooses among all microphones there are; what has changed, true for those that are held back
    /// from now on.
    pub(crate) fn choose(&mut self, now: Instant, microphones: &[TrackId]) -> Vec<(TrackId, bool)> {
        let level = |track: &TrackId| self.levels.get(track).copied().unwrap_or(SILENCE);
        let voices: Vec<_> = microphones
            .iter()
            .map(|track| Voice {
                key: Key(track.0),
                level: level(track),
            })
            .collect();
        let heard = self.few.choose(now, &voices);
        let is_held = |track: &&TrackId| heard.binary_search(&Key(track.0)).is_err();
        let held: BTreeSet<_> = microphones.iter().filter(is_held).copied().collect();
        let changed = microphones
            .iter()
            .filter(|track| held.contains(track) != self.held.contains(track));
        let changes = changed.map(|track| (*track, held.contains(track))).collect();
        self.held = held;
        changes
    }
}
