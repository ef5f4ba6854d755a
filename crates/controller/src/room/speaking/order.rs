//! The order of speakers in a room, made steady enough that video quality may change with it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::ids::ParticipantKey;
use crate::room::speaking::levels::Speaker;

/// So many voices have a place; more at once is noise.
const PLACES: usize = 3;
/// A speaker that falls silent keeps its place so long, since conversations come back to it.
const LINGER: Duration = Duration::from_secs(4);
/// Places change no more often than this.
const CHANGE_AFTER: Duration = Duration::from_secs(1);

/// The order of the speakers of one room, loudest first.
#[derive(Debug, Default)]
pub(crate) struct SpeakerOrder {
    places: Vec<ParticipantKey>,
    spoke: BTreeMap<ParticipantKey, Instant>,
    changed: Option<Instant>,
}

impl SpeakerOrder {
    /// Takes the levels of this moment; [`places`](Self::places) are those of it afterwards.
    pub(crate) fn update(&mut self, now: Instant, speaking: &[Speaker]) {
        self.spoke
            .extend(speaking.iter().map(|speaker| (speaker.participant, now)));
        self.spoke.retain(|_, at| now < *at + LINGER);
        if self.changed.is_some_and(|changed| now < changed + CHANGE_AFTER) {
            return;
        }
        let mut places: Vec<_> = self.spoke.keys().copied().collect();
        places.sort_by_key(|participant| {
            let level = speaking.iter().find(|speaker| speaker.participant == *participant);
            let before = self.places.iter().position(|known| known == participant);
            (std::cmp::Reverse(level.map(loudness)), before.unwrap_or(usize::MAX))
        });
        places.truncate(PLACES);
        if places != self.places {
            self.places = places;
            self.changed = Some(now);
        }
    }

    /// The speakers that have a place, the loudest first.
    pub(crate) fn places(&self) -> &[ParticipantKey] {
        &self.places
    }

    pub(crate) fn forget(&mut self, participant: ParticipantKey) {
        self.places.retain(|known| *known != participant);
        self.spoke.remove(&participant);
    }
}

/// Loud or not: finer steps would make two people who speak at once take turns.
fn loudness(speaker: &Speaker) -> bool {
    speaker.level > 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Ids;

    fn people() -> [ParticipantKey; 4] {
        let mut ids = Ids::default();
        std::array::from_fn(|_| ids.participant())
    }

    fn speaks(participant: ParticipantKey, level: f32) -> Speaker {
        Speaker { participant, level }
    }

    #[test]
    fn the_loudest_comes_first_and_like_voices_do_not_take_turns() {
        let ([ada, bob, cat, _], mut now) = (people(), Instant::now());
        let mut order = SpeakerOrder::default();
        order.update(now, &[speaks(ada, 0.2), speaks(bob, 0.8)]);
        assert_eq!(order.places(), [bob, ada]);
        for wobble in [0.6, 0.9, 0.7] {
            now += CHANGE_AFTER;
            order.update(now, &[speaks(bob, wobble), speaks(cat, 0.8)]);
            assert_eq!(order.places()[..2], [bob, cat]);
        }
    }

    #[test]
    fn a_place_outlasts_a_pause_and_not_much_more() {
        let ([ada, ..], now) = (people(), Instant::now());
        let mut order = SpeakerOrder::default();
        order.update(now, &[speaks(ada, 0.9)]);
        order.update(now + LINGER / 2, &[]);
        assert_eq!(order.places(), [ada]);
        order.update(now + LINGER, &[]);
        assert!(order.places().is_empty());
    }

    #[test]
    fn places_change_once_a_second_and_are_few() {
        let (all, now) = (people(), Instant::now());
        let mut order = SpeakerOrder::default();
        order.update(now, &[speaks(all[0], 0.9)]);
        let everybody = all.map(|participant| speaks(participant, 0.9));
        order.update(now + CHANGE_AFTER / 2, &everybody);
        assert_eq!(order.places(), [all[0]]);
        order.update(now + CHANGE_AFTER, &everybody);
        assert_eq!(order.places().len(), PLACES);
    }
}
