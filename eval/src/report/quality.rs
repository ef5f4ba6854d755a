use serde::{Deserialize, Serialize};

use crate::media::Shown;

/// The quality of videos: of half of the streams or better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Frames a second whose last packet arrived.
    pub frames_per_second: f64,
    /// The worst interarrival jitter (RFC 3550) within the window, in milliseconds.
    pub jitter_ms: f64,
}

/// Ticks of a video clock in a millisecond.
const TICKS: f64 = 90.0;

impl Quality {
    /// Of these streams over a window: medians, for one receiver's trouble is not the room's.
    pub fn of(shown: &[Shown], seconds: f64) -> Option<Self> {
        let median = |mut values: Vec<u64>| {
            values.sort_unstable();
            values.get(values.len() / 2).copied()
        };
        let frames = median(shown.iter().map(|it| it.frames).collect())?;
        let jitter = median(shown.iter().map(|it| it.jitter_max).collect())?;
        Some(Self {
            frames_per_second: frames as f64 / seconds,
            jitter_ms: jitter as f64 / TICKS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stream_speaks_for_the_room() {
        let stream = |frames, jitter_max| Shown { frames, jitter_max };
        let quality = Quality::of(&[stream(300, 90), stream(10, 9000), stream(299, 180)], 10.0);
        assert_eq!(
            quality,
            Some(Quality {
                frames_per_second: 29.9,
                jitter_ms: 2.0
            })
        );
        assert_eq!(Quality::of(&[], 10.0), None);
    }
}
