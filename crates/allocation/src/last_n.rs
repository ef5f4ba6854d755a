//! Which videos a large room shows at all.

use std::cmp::Reverse;
use std::time::Instant;

use crate::{Key, Source};

/// Chooses the `n` videos that may compete for the estimate: screens, then those with priority,
/// then the latest speakers.
///
/// A video loses its place only to one whose publisher spoke since: the order changes only when
/// somebody speaks, and among publishers who never spoke the shown ones stay.
#[derive(Clone, Debug)]
pub struct LastN {
    n: usize,
    shown: Vec<Key>,
    order: Vec<(Place, Key)>,
}

/// A video that could be shown.
#[derive(Clone, Copy, Debug)]
pub struct VideoSlot {
    /// The subscription.
    pub key: Key,
    /// Screens come first.
    pub source: Source,
    /// The viewer's priority comes next.
    pub priority: u8,
    /// When its publisher was last counted as speaking.
    pub spoke: Option<Instant>,
}

/// Sorts the shown videos to the front.
type Place = (Reverse<Source>, Reverse<u8>, Reverse<Option<Instant>>, bool);

impl LastN {
    /// Shows `n` videos.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            shown: Vec::with_capacity(n),
            order: Vec::new(),
        }
    }

    /// The videos to show from now on, sorted by key.
    pub fn choose(&mut self, slots: &[VideoSlot]) -> &[Key] {
        self.order.clear();
        for slot in slots {
            let hidden = self.shown.binary_search(&slot.key).is_err();
            let place = (
                Reverse(slot.source),
                Reverse(slot.priority),
                Reverse(slot.spoke),
                hidden,
            );
            self.order.push((place, slot.key));
        }
        self.order.sort_unstable();
        self.shown.clear();
        self.shown.extend(self.order.iter().take(self.n).map(|(_, key)| *key));
        self.shown.sort_unstable();
        &self.shown
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use std::time::Duration;

    use super::*;

    fn slot(key: u64, spoke: Option<Instant>) -> VideoSlot {
        VideoSlot {
            key: Key(key),
            source: Source::Camera,
            priority: 0,
            spoke,
        }
    }

    #[test]
    fn a_speaker_replaces_the_least_recent_one() {
        let at = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        let mut last = LastN::new(2);
        let [one, two, three] = [at(1), at(2), at(3)];
        assert_eq!(
            last.choose(&[slot(1, one), slot(2, two), slot(3, None)]),
            [Key(1), Key(2)]
        );
        assert_eq!(
            last.choose(&[slot(1, one), slot(2, two), slot(3, three)]),
            [Key(2), Key(3)]
        );
    }

    #[test]
    fn without_speakers_newcomers_take_nobodys_place() {
        let mut last = LastN::new(2);
        last.choose(&[slot(5, None), slot(6, None)]);
        let all = [slot(1, None), slot(5, None), slot(6, None)];
        assert_eq!(last.choose(&all), [Key(5), Key(6)]);
        assert_eq!(
            last.choose(&all[..2]),
            [Key(1), Key(5)],
            "a place that is free is taken"
        );
    }

    #[test]
    fn screens_and_the_viewers_choices_are_shown_for_any_speaker() {
        let now = Some(Instant::now());
        let screen = VideoSlot {
            source: Source::Screen,
            ..slot(8, None)
        };
        let chosen = VideoSlot {
            priority: 1,
            ..slot(9, None)
        };
        assert_eq!(LastN::new(2).choose(&[slot(1, now), screen, chosen]), [Key(8), Key(9)]);
    }
}
