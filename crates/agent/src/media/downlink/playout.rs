//! The minimum playout delay that a receiver is told, so that lost packets are repaired in time.
//!
//! Browsers choose their playout delay by the jitter of packets. A retransmission arrives a round
//! trip later than its frame, which is mostly too late: frames on which nothing depends are
//! skipped, and the others stutter. So while a receiver asks for many retransmissions, its video
//! packets carry a playout delay that covers one. A path without loss adds no delay.
//!
//! A retransmission is lost as easily as the packet it repairs, and is mostly not asked for again:
//! a browser stops asking for a frame as soon as a later one can be decoded without it, and in
//! video with temporal layers every second frame is one. So under heavy loss each packet is [sent
//! again](super::rtx) more than once.
//!
//! A packet counts as lost when it is asked for the first time. That is known sooner than from any
//! report, and for every receiver.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use wire::extension::PlayoutDelay;

use super::copies::SPREAD;

/// Windows over which losses are counted; the short one shows at once that there are any.
const WINDOW: Duration = Duration::from_secs(3);
const QUICK: Duration = Duration::from_secs(1);

/// Fewer lost packets in a window are chance; more than the maximum make no difference.
const ASKED_MIN: usize = 3;
const ASKED_MAX: usize = 1_000;

/// Loss from which there is a playout delay for repairs, and from which each packet is sent again
/// twice and three times. With the last one, one in five hundred frames of four packets is not
/// repaired at all. Shape: parts of the packets sent.
const LOSSES: [f64; 3] = [0.01, 0.02, 0.08];

/// A loss is noticed with the next packet; for the last packet of a frame that is the first one of
/// the next frame. These are the longest such interval, and the one used if it is not known.
pub(super) const INTERVAL_MAX: Duration = Duration::from_millis(100);
pub(super) const INTERVAL: Duration = Duration::from_millis(33);

/// Other delays of a repair: the packets of a frame are paced, and the frame takes time to decode
/// and to draw.
const REST: Duration = Duration::from_millis(40);

/// A delay that was needed is kept for this long: a path with losses will have more, and every
/// change of the delay makes video run faster or slower.
const STAYS: Duration = Duration::from_secs(15);

/// A delay that exceeds the needed one by no more than this is kept.
const STEP: Duration = Duration::from_millis(10);

/// Delays are told in steps of this, so that small changes of the round trip have no effect.
const UNIT_MS: u128 = 10;

/// The losses of one receiver, and the playout delay that it is told because of them.
#[derive(Debug, Default)]
pub(super) struct Playout {
    /// When packets were asked for, each once.
    asked: VecDeque<Instant>,
    /// Packets of video sent in a second.
    rate: u64,
    told: Option<Told>,
}

/// The playout delay that a receiver was told last.
#[derive(Clone, Copy, Debug)]
struct Told {
    delay: Duration,
    /// The last time that this delay was needed.
    needed: Instant,
    /// The longest delay that was needed since then.
    since: Duration,
}

impl Told {
    fn new(delay: Duration, now: Instant) -> Self {
        Told {
            delay,
            needed: now,
            since: Duration::ZERO,
        }
    }
}

impl Playout {
    /// The receiver misses `count` packets it did not ask for before.
    pub(super) fn missed(&mut self, now: Instant, count: usize) {
        self.asked.extend(std::iter::repeat_n(now, count.min(ASKED_MAX)));
        let beyond = self.asked.len().saturating_sub(ASKED_MAX);
        self.asked.drain(..beyond);
    }

    /// Video packets sent in a second.
    pub(super) fn sent(&mut self, rate: u64) {
        self.rate = rate;
    }

    /// Evaluates recent losses; returns whether the receiver is to be told another delay. A repair
    /// arrives `repair` after its frame.
    pub(super) fn follow(&mut self, now: Instant, repair: Duration, max: Duration) -> bool {
        let is_past = |at: &Instant| now.saturating_duration_since(*at) >= WINDOW;
        while self.asked.front().is_some_and(is_past) {
            self.asked.pop_front();
        }
        let needed = match self.losses(now) {
            0 => Duration::ZERO,
            copies => delay(repair, copies).min(max),
        };
        let before = self.delay();
        match &mut self.told {
            None if needed.is_zero() => {}
            None => self.told = Some(Told::new(needed, now)),
            Some(told) if needed > told.delay => *told = Told::new(needed, now),
            Some(told) if needed + STEP >= told.delay => *told = Told::new(told.delay, now),
            Some(told) if now.saturating_duration_since(told.needed) >= STAYS => *told = Told::new(told.since, now),
            Some(told) => told.since = told.since.max(needed),
        }
        self.delay() != before
    }

    /// How often a packet is to be sent again that was asked for.
    pub(super) fn copies(&self, now: Instant) -> u32 {
        self.losses(now).max(1)
    }

    /// The number of [`LOSSES`] reached: the first one already by losses in the short window.
    fn losses(&self, now: Instant) -> u32 {
        let quickly = self.reached(now, QUICK).min(1);
        quickly.max(self.reached(now, WINDOW))
    }

    fn reached(&self, now: Instant, window: Duration) -> u32 {
        let is_within = |at: &&Instant| now.saturating_duration_since(**at) < window;
        let lost = self.asked.iter().rev().take_while(is_within).count();
        let sent = self.rate as f64 * window.as_secs_f64();
        if lost < ASKED_MIN || sent == 0.0 {
            return 0;
        }
        LOSSES.iter().filter(|part| lost as f64 >= **part * sent).count() as u32
    }

    /// The delay in force; zero is none.
    pub(super) fn delay(&self) -> Duration {
        self.told.map_or(Duration::ZERO, |told| told.delay)
    }

    /// The playout delay for video packets. A receiver that was told a delay is also told when it
    /// drops to zero: receivers keep the last value.
    pub(super) fn word(&self) -> Option<PlayoutDelay> {
        self.told.map(|told| PlayoutDelay::at_least(told.delay))
    }
}

/// The playout delay with which the last of `copies` copies of a repair arrives in time.
fn delay(repair: Duration, copies: u32) -> Duration {
    let exact = repair + SPREAD * (copies - 1) + REST;
    Duration::from_millis(exact.as_millis().next_multiple_of(UNIT_MS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval of frames at 30 a second, and a round trip of 50 ms.
    const REPAIR: Duration = Duration::from_millis(83);
    const MAX: Duration = Duration::from_millis(400);

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// A receiver of 200 packets a second that loses `lost` of them in each of so many seconds; its
    /// delay after each.
    fn run(playout: &mut Playout, now: &mut Instant, lost: usize, seconds: usize) -> Vec<u64> {
        playout.rate = 200;
        let second = |_| {
            *now += Duration::from_secs(1);
            playout.missed(*now, lost);
            playout.follow(*now, REPAIR, MAX);
            playout.delay().as_millis() as u64
        };
        (0..seconds).map(second).collect()
    }

    #[test]
    fn more_loss_leaves_time_for_more_copies() {
        let (mut playout, mut now) = (Playout::default(), Instant::now());
        assert_eq!(run(&mut playout, &mut now, 0, 3), [0, 0, 0]);
        assert_eq!(playout.word(), None);
        assert_eq!(run(&mut playout, &mut now, 3, 4).last(), Some(&130));
        assert_eq!(run(&mut playout, &mut now, 10, 4).last(), Some(&150));
        assert_eq!(run(&mut playout, &mut now, 30, 4).last(), Some(&170));
        assert_eq!(playout.word(), Some(PlayoutDelay::at_least(millis(170))));
    }

    #[test]
    fn a_delay_comes_at_once_and_goes_late() {
        let (mut playout, mut now) = (Playout::default(), Instant::now());
        assert_eq!(run(&mut playout, &mut now, 12, 2), [150, 150]);
        assert_eq!(run(&mut playout, &mut now, 3, 14).last(), Some(&150));
        assert_eq!(run(&mut playout, &mut now, 3, 4).last(), Some(&130));
        assert_eq!(run(&mut playout, &mut now, 0, 15).last(), Some(&130));
        assert_eq!(run(&mut playout, &mut now, 0, 18).last(), Some(&0));
        assert_eq!(playout.word(), Some(PlayoutDelay::NORMAL));
    }

    #[test]
    fn two_lost_packets_are_chance_and_the_most_is_kept_to() {
        let (mut playout, mut now) = (Playout::default(), Instant::now());
        playout.rate = 10;
        playout.missed(now, 2);
        assert!(!playout.follow(now, REPAIR, MAX));
        playout.missed(now, 200_000);
        assert!(playout.follow(now, Duration::from_secs(2), MAX));
        assert_eq!(playout.delay(), MAX);
        now += Duration::from_secs(1);
        assert!(!playout.follow(now, millis(300), MAX), "hardly another one");
    }
}
