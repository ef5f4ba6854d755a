use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::payload::FRAME_MIN;

/// A synthetic encoder's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VideoPlan {
    /// Payload bits a second, on average.
    pub bitrate: u64,
    /// Frames a second.
    pub frame_rate: u32,
    /// The time between two key frames that nobody asked for.
    pub key_interval: Duration,
}

/// A key frame's size in delta frames: encoders of conferences give it five to eight times as much.
const KEY_FRAME_RATIO: f64 = 6.0;
/// The least time between two key frames: libwebrtc ignores earlier requests.
const KEY_FRAME_SPACING: Duration = Duration::from_millis(300);
/// A source that is more than this late drops frames instead of sending them in a burst, as a
/// camera would.
const LATENESS_MAX: Duration = Duration::from_millis(200);
/// Lateness of a frame that is not counted as late.
const LATENESS_TOLERATED: Duration = Duration::from_millis(5);

/// One frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its number, by which timestamps and picture ids advance.
    pub number: u64,
    /// Whether it is a key frame.
    pub key: bool,
    /// Its size in bytes.
    pub len: usize,
}

/// When a source's next frame is due, and how large it is. Sizes vary by 10 %, the same way in
/// every run.
#[derive(Clone, Debug)]
pub(crate) struct VideoSchedule {
    plan: VideoPlan,
    due: Instant,
    number: u64,
    last_key: Option<Instant>,
    key_wanted: bool,
    late: u64,
}

impl VideoSchedule {
    /// The first frame is due at `start` and is a key frame.
    pub(crate) fn new(plan: VideoPlan, start: Instant) -> Self {
        Self {
            plan,
            due: start,
            number: 0,
            last_key: None,
            key_wanted: true,
            late: 0,
        }
    }

    /// When the next frame is due.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Makes the next frame a key frame, unless there was one a moment ago.
    pub(crate) fn request_key_frame(&mut self) {
        self.key_wanted = true;
    }

    /// Frames that left more than 5 ms late, or never: the generator was short of processor time.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// The frame to send now, if one is due.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Frame> {
        if now < self.due {
            return None;
        }
        let interval = self.interval();
        while now.duration_since(self.due) > LATENESS_MAX {
            (self.due, self.number, self.late) = (self.due + interval, self.number + 1, self.late + 1);
        }
        self.late += u64::from(now.duration_since(self.due) > LATENESS_TOLERATED);
        let since_key = self.last_key.map(|at| now.duration_since(at));
        let key =
            since_key.is_none_or(|ago| ago >= self.plan.key_interval || (self.key_wanted && ago >= KEY_FRAME_SPACING));
        if key {
            (self.last_key, self.key_wanted) = (Some(now), false);
        }
        let frame = Frame {
            number: self.number,
            key,
            len: self.len(key),
        };
        (self.due, self.number) = (self.due + interval, self.number + 1);
        Some(frame)
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.plan.frame_rate
    }

    /// A share of one key interval's bytes: a key frame counts as six.
    fn len(&self, key: bool) -> usize {
        let seconds = self.plan.key_interval.as_secs_f64();
        let frames = f64::from(self.plan.frame_rate) * seconds;
        let delta = self.plan.bitrate as f64 / 8.0 * seconds / (frames - 1.0 + KEY_FRAME_RATIO);
        let mean = if key { delta * KEY_FRAME_RATIO } else { delta };
        ((mean * noise(self.number)) as usize).max(FRAME_MIN)
    }
}

/// A factor between 0.9 and 1.1 from the frame's number (the finaliser of SplitMix64).
fn noise(number: u64) -> f64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^= mixed >> 27;
    0.9 + 0.2 * (mixed >> 40) as f64 / (1u64 << 24) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: VideoPlan = VideoPlan {
        bitrate: 2_000_000,
        frame_rate: 30,
        key_interval: Duration::from_secs(10),
    };

    fn frames(schedule: &mut VideoSchedule, start: Instant, seconds: u64) -> Vec<Frame> {
        (0..seconds * 1000)
            .filter_map(|ms| schedule.poll(start + Duration::from_millis(ms)))
            .collect()
    }

    #[test]
    fn bitrate_and_frame_rate_are_kept() {
        let start = crate::clock::now();
        let sent = frames(&mut VideoSchedule::new(PLAN, start), start, 60);
        assert!((1799..=1801).contains(&sent.len()), "{}", sent.len());
        let bits = sent.iter().map(|frame| frame.len as u64 * 8).sum::<u64>() / 60;
        assert!((1_950_000..=2_050_000).contains(&bits), "{bits}");
    }

    #[test]
    fn key_frames_are_regular_and_larger() {
        let start = crate::clock::now();
        let sent = frames(&mut VideoSchedule::new(PLAN, start), start, 30);
        let keys: Vec<&Frame> = sent.iter().filter(|frame| frame.key).collect();
        assert_eq!(keys.len(), 3);
        assert!(sent[0].key && keys[0].len > 5 * sent[1].len && keys[0].len < 8 * sent[1].len);
    }

    #[test]
    fn a_request_makes_one_key_frame_and_is_throttled() {
        let start = crate::clock::now();
        let mut schedule = VideoSchedule::new(PLAN, start);
        let keys = (0..1000)
            .filter_map(|ms| {
                schedule.request_key_frame();
                schedule.poll(start + Duration::from_millis(ms))
            })
            .filter(|frame| frame.key)
            .count();
        assert_eq!(keys, 4, "one at the start, then every 300 ms");
    }

    #[test]
    fn a_source_that_was_held_up_skips_frames_and_says_so() {
        let start = crate::clock::now();
        let mut schedule = VideoSchedule::new(PLAN, start);
        schedule.poll(start);
        let frame = schedule.poll(start + Duration::from_secs(1)).expect("overdue");
        assert!(frame.number >= 23, "{}", frame.number);
        assert!(schedule.late() >= 23);
    }
}
