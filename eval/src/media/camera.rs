use std::collections::VecDeque;
use std::collections::vec_deque::Drain;
use std::time::Instant;

use super::layers::{Dependency, TemporalLayers};
use super::outbound::Place;
use super::pacer::Pacer;
use super::payload::{Fragment, fragment_sizes};
use super::publish_plan::PublishPlan;
use super::schedule::{Frame, VideoPlan, VideoSchedule};

const VIDEO_CLOCK: u64 = 90_000;

/// A camera with its encoder and packetiser: its packets and their times.
pub struct Camera {
    schedule: VideoSchedule,
    layers: Option<TemporalLayers>,
    frame_rate: u32,
    /// Packets that have not left.
    waiting: VecDeque<(Fragment, Place)>,
    /// The pacer; without one, packets are sent at once.
    pacer: Option<Pacer>,
}

impl Camera {
    /// A camera whose first frame is due at `start`.
    pub fn new(plan: VideoPlan, publish: &PublishPlan, start: Instant) -> Self {
        Self {
            schedule: VideoSchedule::new(plan, start),
            layers: publish.layered.then(TemporalLayers::default),
            frame_rate: plan.frame_rate,
            waiting: VecDeque::new(),
            pacer: publish.paced.then(|| Pacer::new(plan.bitrate, start)),
        }
    }

    /// When the next packet is due.
    pub fn due(&self) -> Instant {
        let burst = self.pacer.as_ref().filter(|_| !self.waiting.is_empty()).map(Pacer::due);
        burst.map_or(self.schedule.due(), |burst| burst.min(self.schedule.due()))
    }

    /// Frames that left late or never.
    pub fn late(&self) -> u64 {
        self.schedule.late()
    }

    /// Makes the next frame a key frame, unless there was one a moment ago.
    pub fn request_key_frame(&mut self) {
        self.schedule.request_key_frame();
    }

    /// The packets to send now: those of a due frame, or a burst.
    pub fn leaving(&mut self, now: Instant) -> Drain<'_, (Fragment, Place)> {
        if let Some(frame) = self.schedule.poll(now) {
            self.cut(frame);
        }
        let count = self.count_leaving(now);
        self.waiting.drain(..count)
    }

    fn count_leaving(&mut self, now: Instant) -> usize {
        let Some(pacer) = &mut self.pacer else {
            return self.waiting.len();
        };
        if self.waiting.is_empty() || !pacer.begin(now) {
            return 0;
        }
        let lens = self.waiting.iter().map(|(_, place)| place.payload_len);
        lens.take_while(|&len| pacer.take(len)).count()
    }

    /// Splits a frame into packets, after those that wait.
    fn cut(&mut self, frame: Frame) {
        let timestamp = (frame.number * VIDEO_CLOCK / u64::from(self.frame_rate)) as u32;
        let layered = self.layers.as_mut().map(|layers| layers.next(frame.key));
        let sizes = fragment_sizes(frame.len);
        let last = sizes.len() - 1;
        for (index, size) in sizes.enumerate() {
            let fragment = Fragment {
                key_frame: frame.key,
                first: index == 0,
                picture_id: (frame.number & 0x7fff) as u16,
                layered,
            };
            let described = self.layers.as_ref().zip(layered);
            let place = Place {
                timestamp,
                marker: index == last,
                payload_len: fragment.descriptor_len() + size,
                audio_level: 0,
                dependency: described.map_or(Dependency::NONE, |(layers, frame)| {
                    layers.describe(&frame, index == 0, index == last)
                }),
            };
            self.waiting.push_back((fragment, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Packets sent in each of these milliseconds, for those with any.
    fn runs(paced: bool, ms: u32) -> Vec<usize> {
        let plan = VideoPlan {
            bitrate: 2_000_000,
            frame_rate: 30,
            key_interval: Duration::from_secs(3600),
        };
        let publish = PublishPlan {
            video: Some(plan),
            layered: false,
            paced,
            audio: false,
        };
        let start = crate::clock::now();
        let mut camera = Camera::new(plan, &publish, start);
        let counts = (0..ms).map(|ms| camera.leaving(start + MS * ms).count());
        counts.filter(|&count| count > 0).collect()
    }

    #[test]
    fn a_frame_leaves_at_once_or_in_bursts() {
        let (at_once, paced) = (runs(false, 900), runs(true, 900));
        assert_eq!(at_once.len(), 27);
        // Four where the packets of a frame are small.
        assert!(
            paced.iter().all(|&run| run <= 4) && paced.len() > 2 * at_once.len(),
            "{paced:?}"
        );
        let sum = |runs: &[usize]| runs.iter().sum::<usize>();
        assert!(
            sum(&at_once) - sum(&paced) < 10,
            "pacing delays packets, and loses none"
        );
    }
}
