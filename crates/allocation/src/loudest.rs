//! Which voices a large room hears.

use std::time::{Duration, Instant};

use crate::Key;

/// How voices are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loudest {
    /// The number of audio streams sent at once.
    pub voices: usize,
    /// Up to this number of audio publishers, all audio is sent.
    pub small_room: usize,
    /// A publisher that falls silent keeps its place for this long, so that a pause for breath
    /// costs no first syllable.
    pub keep: Duration,
    /// A publisher keeps a new place at least for this long, however loud others are.
    pub stay: Duration,
    /// Another publisher must be louder by this to take the place then. Shape: dB.
    pub louder: u8,
    /// Quieter is silence. Shape: dB below the loudest there can be (RFC 6464).
    pub silence: u8,
}

impl Default for Loudest {
    fn default() -> Self {
        Self {
            voices: 5,
            small_room: 12,
            keep: Duration::from_secs(3),
            stay: Duration::from_secs(1),
            louder: 6,
            silence: 50,
        }
    }
}

/// The loudness of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The track or subscription.
    pub key: Key,
    /// Its level over the last few hundred milliseconds. Shape: dB below the loudest there can be,
    /// 127 for silence (RFC 6464).
    pub level: u8,
}

/// Keeps the few loudest speakers of a room.
///
/// A publisher without a place takes a free one at once. If none is free, it takes that of the
/// publisher that has been silent longest, or of the quietest if that is quieter by a margin. A
/// publisher keeps a new place for a while.
#[derive(Clone, Debug)]
pub struct LoudestFew {
    config: Loudest,
    places: Vec<Place>,
    newcomers: Vec<Voice>,
    heard: Vec<Key>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    key: Key,
    level: u8,
    since: Instant,
    audible: Instant,
}

impl LoudestFew {
    /// Nobody has spoken yet.
    pub fn new(config: Loudest) -> Self {
        Self {
            config,
            places: Vec::with_capacity(config.voices),
            newcomers: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// The audio streams to send from now on, sorted by key. `voices` are all that publish audio,
    /// including silent ones.
    pub fn choose(&mut self, now: Instant, voices: &[Voice]) -> &[Key] {
        self.listen(now, voices);
        for at in 0..self.newcomers.len() {
            self.admit(now, self.newcomers[at]);
        }
        self.heard.clear();
        if voices.len() <= self.config.small_room {
            self.heard.extend(voices.iter().map(|voice| voice.key));
        } else {
            self.heard.extend(self.places.iter().map(|place| place.key));
        }
        self.heard.sort_unstable();
        &self.heard
    }

    /// Records levels, frees the places of publishers that are gone or silent, and lists those that
    /// want one, the loudest first.
    fn listen(&mut self, now: Instant, voices: &[Voice]) {
        let config = self.config;
        self.places.iter_mut().for_each(|place| place.level = u8::MAX);
        self.newcomers.clear();
        for voice in voices {
            let audible = voice.level <= config.silence;
            match self.places.iter_mut().find(|place| place.key == voice.key) {
                Some(place) => {
                    place.level = voice.level;
                    place.audible = if audible { now } else { place.audible };
                }
                None if audible => self.newcomers.push(*voice),
                None => {}
            }
        }
        self.places
            .retain(|place| place.level != u8::MAX && now < place.audible + config.keep);
        self.newcomers.sort_unstable_by_key(|voice| (voice.level, voice.key));
    }

    fn admit(&mut self, now: Instant, voice: Voice) {
        let place = Place {
            key: voice.key,
            level: voice.level,
            since: now,
            audible: now,
        };
        if self.places.len() < self.config.voices {
            self.places.push(place);
            return;
        }
        let config = self.config;
        let settled = self.places.iter_mut().filter(|other| now >= other.since + config.stay);
        let quietest = settled.min_by_key(|other| (other.audible, 127 - other.level.min(127), other.key));
        if let Some(other) = quietest
            && (other.level > config.silence || voice.level.saturating_add(config.louder) <= other.level)
        {
            *other = place;
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use super::*;

    /// A room where two are heard, once there are more than three.
    fn room() -> (LoudestFew, Instant) {
        let config = Loudest {
            voices: 2,
            small_room: 3,
            ..Loudest::default()
        };
        (LoudestFew::new(config), Instant::now())
    }

    fn voices(levels: [u8; 4]) -> [Voice; 4] {
        std::array::from_fn(|at| Voice {
            key: Key(at as u64),
            level: levels[at],
        })
    }

    const TICK: Duration = Duration::from_millis(500);

    #[test]
    fn a_small_room_hears_everybody() {
        let (mut loudest, now) = room();
        let all = voices([127; 4]);
        assert_eq!(loudest.choose(now, &all[..3]), [Key(0), Key(1), Key(2)]);
        assert!(loudest.choose(now, &all).is_empty());
    }

    #[test]
    fn the_loudest_get_the_places() {
        let (mut loudest, now) = room();
        assert_eq!(loudest.choose(now, &voices([40, 20, 30, 45])), [Key(1), Key(2)]);
    }

    #[test]
    fn a_pause_for_breath_loses_no_place_and_a_long_one_does() {
        let (mut loudest, now) = room();
        loudest.choose(now, &voices([20, 127, 127, 127]));
        assert_eq!(loudest.choose(now + TICK, &voices([127; 4])), [Key(0)]);
        assert!(loudest.choose(now + 6 * TICK, &voices([127; 4])).is_empty());
    }

    #[test]
    fn a_new_speaker_replaces_a_silent_one_at_once() {
        let (mut loudest, now) = room();
        loudest.choose(now, &voices([20, 25, 127, 127]));
        let heard = loudest.choose(now + 2 * TICK, &voices([20, 127, 49, 127]));
        assert_eq!(heard, [Key(0), Key(2)]);
    }

    #[test]
    fn speakers_of_like_loudness_do_not_take_turns() {
        let (mut loudest, mut now) = room();
        loudest.choose(now, &voices([30, 30, 127, 127]));
        for tick in 0..100 {
            now += TICK;
            let wobble = if tick % 2 == 0 { 3 } else { 0 };
            let heard = loudest.choose(now, &voices([30 - wobble, 30, 27 + wobble, 28]));
            assert_eq!(heard, [Key(0), Key(1)]);
        }
        assert_eq!(loudest.choose(now, &voices([30, 40, 30, 127])), [Key(0), Key(2)]);
    }
}
