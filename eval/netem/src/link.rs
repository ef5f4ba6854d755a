//! One direction of the cable.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{Conditions, Losses, Random};

/// Additional delay of a reordered frame. Shape: milliseconds.
const BEHIND_MS: Range<f64> = 5.0..25.0;
/// The greatest random delay as a multiple of its mean, so that one frame cannot hold up a
/// direction.
const JITTER_MAX: f64 = 4.0;
/// The most frames held, under any rate and delay.
const HELD_MAX: usize = 20_000;

/// Counts of the frames so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Frames that arrived.
    pub offered: u64,
    /// Went out.
    pub delivered: u64,
    /// Bytes that went out.
    pub delivered_bytes: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Dropped because the queue was full.
    pub queue_full: u64,
    /// Frames that were reordered.
    pub reordered: u64,
}

/// One direction: frames go in with [`offer`](Link::offer), and [`take`](Link::take) returns those
/// that have arrived.
///
/// The fate of a frame depends on the seed and on the number of frames before it, not on time:
/// every frame uses the same number of random numbers under all conditions.
pub struct Link {
    conditions: Conditions,
    random: Random,
    losses: Losses,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// When the bottleneck has sent its present frame.
    free_at: Option<Instant>,
    /// Frames on the way, by arrival; the number separates frames with the same time.
    travelling: BTreeMap<(Instant, u64), Vec<u8>>,
    /// Frames that went on their way.
    left: u64,
    /// When the last frame that keeps its place arrives.
    in_order: Option<Instant>,
    counts: Counts,
}

struct Waiting {
    frame: Vec<u8>,
    entered: Instant,
    fate: Fate,
}

/// Decisions made when the frame arrived.
struct Fate {
    lost: bool,
    /// In units of the mean.
    jitter: f64,
    /// If it is below the share of reordering, the frame is reordered.
    reorder: f64,
    behind: Duration,
}

impl Link {
    /// A cable without faults.
    pub fn new(seed: u64) -> Self {
        Self {
            conditions: Conditions::default(),
            random: Random::new(seed),
            losses: Losses::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: None,
            travelling: BTreeMap::new(),
            left: 0,
            in_order: None,
            counts: Counts::default(),
        }
    }

    /// The current conditions.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Applies new conditions from `now` on. Waiting frames leave at the new rate; frames on the
    /// path keep their delay.
    pub fn change(&mut self, now: Instant, conditions: Conditions) {
        self.depart(now);
        self.conditions = conditions;
        self.depart(now);
    }

    /// Counts of the frames so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A frame enters.
    pub fn offer(&mut self, now: Instant, frame: &[u8]) {
        self.counts.offered += 1;
        let fate = self.decide();
        self.depart(now);
        if self.is_full(now, frame.len()) {
            self.counts.queue_full += 1;
            return;
        }
        self.waiting_bytes += frame.len();
        self.waiting.push_back(Waiting {
            frame: frame.to_vec(),
            entered: now,
            fate,
        });
        self.depart(now);
    }

    /// The next frame that has arrived by `now`.
    pub fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.depart(now);
        let first = self.travelling.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let frame = first.remove();
        self.counts.delivered += 1;
        self.counts.delivered_bytes += frame.len() as u64;
        Some(frame)
    }

    /// When to call [`take`](Link::take) again, if no frame is offered before.
    pub fn due(&self) -> Option<Instant> {
        let arrival = self.travelling.keys().next().map(|(at, _)| *at);
        let departure = self.waiting.front().map(|first| self.begins(first));
        arrival.into_iter().chain(departure).min()
    }

    fn decide(&mut self) -> Fate {
        let lost = self.losses.next(self.conditions.loss, &mut self.random);
        let jitter = self.random.exponential().min(JITTER_MAX);
        let reorder = self.random.unit();
        let behind = BEHIND_MS.start + self.random.unit() * (BEHIND_MS.end - BEHIND_MS.start);
        Fate {
            lost,
            jitter,
            reorder,
            behind: Duration::from_secs_f64(behind / 1e3),
        }
    }

    fn is_full(&self, now: Instant, size: usize) -> bool {
        if self.waiting.len() + self.travelling.len() >= HELD_MAX {
            return true;
        }
        // An empty queue takes any frame, or one larger than the queue could never pass.
        let Some(rate) = self.conditions.rate.filter(|_| !self.waiting.is_empty()) else {
            return false;
        };
        let sending = self
            .free_at
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        sending + sending_time(self.waiting_bytes + size, rate) > self.conditions.queue
    }

    /// Moves frames on their way whose sending begins by `now`.
    fn depart(&mut self, now: Instant) {
        while let Some(begins) = self.waiting.front().map(|first| self.begins(first))
            && begins <= now
            && let Some(first) = self.waiting.pop_front()
        {
            self.waiting_bytes -= first.frame.len();
            let takes = self
                .conditions
                .rate
                .map_or(Duration::ZERO, |rate| sending_time(first.frame.len(), rate));
            self.free_at = Some(begins + takes);
            self.travel(begins + takes, first);
        }
    }

    fn begins(&self, first: &Waiting) -> Instant {
        self.free_at.map_or(first.entered, |free| free.max(first.entered))
    }

    fn travel(&mut self, left: Instant, Waiting { frame, fate, .. }: Waiting) {
        if fate.lost {
            self.counts.lost += 1;
            return;
        }
        let mut arrives = left + self.conditions.delay + self.conditions.jitter.mul_f64(fate.jitter);
        if fate.reorder < self.conditions.reorder {
            self.counts.reordered += 1;
            arrives += fate.behind;
        } else {
            arrives = self.in_order.map_or(arrives, |last| last.max(arrives));
            self.in_order = Some(arrives);
        }
        self.left += 1;
        self.travelling.insert((arrives, self.left), frame);
    }
}

/// The sending time of `bytes` bytes.
fn sending_time(bytes: usize, rate: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 8.0 / rate.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loss;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[expect(clippy::disallowed_methods, reason = "a test needs some instant to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    /// Offers a numbered frame of `size` bytes every `every`, and returns the numbers in the order
    /// of arrival, with their times.
    fn run(link: &mut Link, count: u32, size: usize, every: Duration) -> Vec<(u32, Duration)> {
        let start = start();
        let mut out = Vec::new();
        let mut take = |link: &mut Link, until: Instant| {
            while let Some(due) = link.due().filter(|due| *due <= until) {
                while let Some(frame) = link.take(due) {
                    out.push((
                        u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]),
                        due - start,
                    ));
                }
            }
        };
        for number in 0..count {
            let now = start + every * number;
            take(link, now);
            let mut frame = number.to_be_bytes().to_vec();
            frame.resize(size, 0);
            link.offer(now, &frame);
        }
        take(link, start + Duration::from_secs(3600));
        out
    }

    fn link(conditions: Conditions) -> Link {
        let mut link = Link::new(7);
        link.change(start(), conditions);
        link
    }

    fn numbers(out: &[(u32, Duration)]) -> Vec<u32> {
        out.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn a_cable_without_faults_delivers_at_once() {
        let out = run(&mut link(Conditions::default()), 100, 1000, ms(1));
        assert!(out.iter().all(|(number, at)| *at == ms(u64::from(*number))));
        assert_eq!(out.len(), 100);
    }

    #[test]
    fn delay_is_added_and_jitter_keeps_the_order() {
        let conditions = Conditions {
            delay: ms(25),
            jitter: ms(5),
            ..Conditions::default()
        };
        let out = run(&mut link(conditions), 1000, 1000, ms(1));
        assert_eq!(numbers(&out), (0..1000).collect::<Vec<_>>());
        let added = out.iter().map(|(number, at)| *at - ms(u64::from(*number)));
        assert!(added.clone().all(|it| it >= ms(25) && it <= ms(25 + 4 * 5)));
        assert!(added.max() > Some(ms(35)));
    }

    #[test]
    fn the_bottleneck_carries_its_rate_and_its_queue_is_bounded() {
        let conditions = Conditions {
            rate: Some(1_000_000),
            queue: ms(100),
            ..Conditions::default()
        };
        // 1250 bytes every 5 ms are 2 Mbit/s, and each takes 10 ms.
        let mut link = link(conditions);
        let out = run(&mut link, 1000, 1250, ms(5));
        let counts = link.counts();
        assert_eq!(counts.offered, counts.delivered + counts.queue_full);
        assert!((505..=515).contains(&counts.delivered), "{counts:?}");
        let waited = out.iter().map(|(number, at)| *at - ms(5 * u64::from(*number))).max();
        assert!(waited > Some(ms(90)) && waited <= Some(ms(110)), "{waited:?}");
    }

    #[test]
    fn queued_packets_are_sent_at_the_new_rate() {
        let slow = Conditions {
            rate: Some(80_000),
            queue: Duration::from_secs(10),
            ..Conditions::default()
        };
        let mut link = link(slow);
        let start = start();
        for _ in 0..11 {
            link.offer(start, &[0; 1000]);
        }
        // At 80 kbit/s each takes 100 ms. The first is being sent when the rate rises; the other
        // ten take 10 ms each.
        let fast = Conditions {
            rate: Some(800_000),
            ..slow
        };
        link.change(start + ms(1), fast);
        let last = |link: &mut Link, at| std::iter::from_fn(|| link.take(at)).count();
        assert_eq!(last(&mut link, start + ms(199)), 10);
        assert_eq!(last(&mut link, start + ms(201)), 1);
    }

    #[test]
    fn reordered_frames_fall_behind_and_none_is_lost() {
        let conditions = Conditions {
            reorder: 0.1,
            ..Conditions::default()
        };
        let mut link = link(conditions);
        let mut seen = numbers(&run(&mut link, 1000, 100, ms(1)));
        assert_ne!(seen, (0..1000).collect::<Vec<_>>());
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        assert!((70..130).contains(&link.counts().reordered));
    }

    #[test]
    fn the_same_seed_loses_the_same_frames_under_other_conditions() {
        let lossy = Conditions {
            loss: Loss {
                share: 0.05,
                burst: 0.0,
            },
            ..Conditions::default()
        };
        let slow = Conditions {
            delay: ms(50),
            jitter: ms(3),
            ..lossy
        };
        let quick = numbers(&run(&mut link(lossy), 2000, 100, ms(1)));
        assert_eq!(quick, numbers(&run(&mut link(slow), 2000, 1200, ms(7))));
        assert!((1850..1950).contains(&quick.len()));
    }
}
