//! The configuration of the flight recorder.

use std::time::Duration;

use serde::Deserialize;
use timeline::RING_LEN;

use super::sip::Seconds;

/// The most participants that may be configured: 64 GiB.
const PARTICIPANTS_MAX: usize = 1 << 20;

/// The timelines of participants, for operators.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Recorder {
    /// Seconds for which the timeline of a participant is kept after leaving.
    pub keep: Seconds,
    /// The most participants with a timeline, those who have left included; 0 for none. Each takes
    /// 64 KiB.
    pub participants: usize,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            keep: Seconds(Duration::from_secs(1_800)),
            participants: 4_096,
        }
    }
}

impl From<Recorder> for timeline::Config {
    fn from(recorder: Recorder) -> Self {
        timeline::Config {
            keep: recorder.keep.0,
            memory: recorder.participants.min(PARTICIPANTS_MAX) * RING_LEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorder_keeps_half_an_hour_of_4096_participants_by_default() {
        let config = timeline::Config::from(Recorder::default());
        assert_eq!(config, timeline::Config::default());
        let none: Recorder = serde_saphyr::from_str("{participants: 0, keep: 60}").unwrap();
        assert!(!timeline::Recorder::new(none.into()).is_on());
    }
}
