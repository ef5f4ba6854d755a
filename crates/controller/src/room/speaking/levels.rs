//! Levels of speakers, made steady enough to be shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use southbound::AudioActivity;

use crate::ids::ParticipantKey;

/// How often the agent reports what it heard.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);
/// Quieter than this is not speech, in -dBov.
const ACTIVE_LEVEL: u8 = 35;
/// Less of an interval than this is a click, not speech.
const ACTIVE_SHARE: f32 = 0.3;
/// How much of the old level remains after one interval.
const MEMORY: f32 = 0.5;
/// Levels are told in this many steps, so that a breath is not news.
const STEPS: f32 = 8.0;
/// Below this share of full scale nobody is said to speak.
const FLOOR: f32 = 0.01;

/// The speakers of one room.
#[derive(Debug, Default)]
pub(crate) struct Speakers {
    levels: BTreeMap<ParticipantKey, Level>,
    heard: BTreeMap<ParticipantKey, f32>,
    updated: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    smoothed: f32,
    told: f32,
}

/// One participant's level as it is told: 0 when it stopped speaking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speaker {
    pub(crate) participant: ParticipantKey,
    pub(crate) level: f32,
}

impl Speakers {
    /// Takes the level of one track of a participant in the interval that ends.
    pub(crate) fn hear(&mut self, participant: ParticipantKey, activity: AudioActivity) {
        let share = activity.active.as_secs_f32() / INTERVAL.as_secs_f32();
        if activity.level > ACTIVE_LEVEL || share < ACTIVE_SHARE {
            return;
        }
        // Loudness as people hear it is closer to decibels than to amplitude: 0 dBov is 1, the
        // threshold just above 0.
        let level = 1.0 - f32::from(activity.level) / f32::from(ACTIVE_LEVEL + 1);
        let heard = self.heard.entry(participant).or_default();
        *heard = heard.max(level);
    }

    /// Ends an interval: who changed, those who stopped included.
    pub(crate) fn update(&mut self, now: Instant) -> Vec<Speaker> {
        self.updated = Some(now);
        let heard = std::mem::take(&mut self.heard);
        for participant in heard.keys() {
            self.levels.entry(*participant).or_default();
        }
        let mut changed = Vec::new();
        self.levels.retain(|participant, level| {
            let observed = heard.get(participant).copied().unwrap_or(0.0);
            // Starting to speak is told at once; falling silent takes two intervals, the pause
            // between two words.
            level.smoothed = if observed > level.smoothed {
                observed
            } else {
                level.smoothed * MEMORY + observed * (1.0 - MEMORY)
            };
            let steps = (level.smoothed * STEPS).ceil() / STEPS;
            let tell = if level.smoothed < FLOOR || (observed == 0.0 && level.smoothed < 0.3) {
                0.0
            } else {
                steps
            };
            if tell != level.told {
                level.told = tell;
                changed.push(Speaker {
                    participant: *participant,
                    level: tell,
                });
            }
            tell > 0.0 || observed > 0.0
        });
        changed
    }

    /// Whether an interval has passed without a report: silence is not reported.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.updated.is_none_or(|updated| now >= updated + INTERVAL)
    }

    pub(crate) fn anybody(&self) -> bool {
        !self.levels.is_empty()
    }

    /// The speakers, as clients were last told.
    pub(crate) fn speaking(&self) -> impl Iterator<Item = Speaker> {
        let told = self.levels.iter().filter(|(_, level)| level.told > 0.0);
        told.map(|(participant, level)| Speaker {
            participant: *participant,
            level: level.told,
        })
    }

    pub(crate) fn forget(&mut self, participant: ParticipantKey) {
        self.levels.remove(&participant);
        self.heard.remove(&participant);
    }
}

#[cfg(test)]
mod tests {
    use southbound::TrackId;

    use super::*;
    use crate::ids::Ids;

    fn activity(level: u8, active_ms: u64) -> AudioActivity {
        AudioActivity {
            track: TrackId(1),
            level,
            active: Duration::from_millis(active_ms),
        }
    }

    #[test]
    fn a_speaker_is_told_at_once_and_its_silence_soon_after() {
        let (mut speakers, who, start) = (Speakers::default(), Ids::default().participant(), Instant::now());
        speakers.hear(who, activity(10, 500));
        let begun = speakers.update(start);
        assert!(begun.len() == 1 && begun[0].level > 0.5, "{begun:?}");
        speakers.hear(who, activity(10, 500));
        assert_eq!(speakers.update(start + INTERVAL), [], "nothing new is not told");
        assert!(speakers.is_due(start + INTERVAL * 2));
        let ended = (2..8)
            .flat_map(|round| speakers.update(start + INTERVAL * round))
            .last();
        assert_eq!(
            ended,
            Some(Speaker {
                participant: who,
                level: 0.0
            })
        );
        assert!(!speakers.anybody());
    }

    #[test]
    fn clicks_and_background_are_not_speech() {
        let (mut speakers, who) = (Speakers::default(), Ids::default().participant());
        speakers.hear(who, activity(60, 500));
        speakers.hear(who, activity(5, 60));
        assert_eq!(speakers.update(Instant::now()), []);
    }
}
