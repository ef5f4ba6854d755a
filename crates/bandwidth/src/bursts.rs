//! The rate of bursts: that of a burst as large that has passed without a queue.
//!
//! Without knowledge, a pace of some multiple of the estimate is right: a key frame sent at once
//! fills a narrow downlink's queue. But the estimate is bounded by the sent rate, and on a path
//! that carries a hundred times as much a key frame need not take 30 ms to send. So packets that
//! were sent together are watched. If the last of them had no more delay than any packet, the next
//! burst may be faster.

use std::time::{Duration, Instant};

use crate::Fate;

/// Packets belong to one burst while no more than this lies between them. Shape: microseconds.
const TOGETHER: i64 = 8_000;
/// A burst is no longer than this, or a stream without pauses would be one burst.
const LONGEST: i64 = 100_000;
/// Fewer packets do not count.
const PACKETS_MIN: u32 = 5;
/// Packets that queue in the path for no longer than this have passed unhindered: clocks and radios
/// cause as much delay. Shape: microseconds.
const WAITED: i64 = 8_000;
/// A burst counts only if it has at least the size of the largest recent one, divided by this:
/// links pass a few packets at once whatever they carry for long.
const LARGE: u64 = 2;
/// The largest burst is looked for over one or two of these spans.
const SPAN: Duration = Duration::from_secs(15);
/// The pace to try next, as a multiple of the rate of a burst that passed unhindered.
const FASTER: f64 = 16.0;
/// A burst sent in less time than this counts as if it had taken as long: reports give times in
/// quarters of a millisecond.
const SHORTEST: i64 = 1_000;
/// A burst that takes this many times as long to arrive as to send was held up by the path, and
/// shows its rate.
const HELD_UP: f64 = 1.2;
/// A queue as long as this shows that bursts are too fast, or that there is cross traffic.
const QUEUE: Duration = Duration::from_millis(20);
/// Time after such a queue in which no faster burst is tried.
const PAUSE: Duration = Duration::from_secs(10);
/// A burst rate that was not seen again for this long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// Watches bursts.
#[derive(Debug, Default)]
pub(crate) struct Bursts {
    burst: Option<Burst>,
    largest: Largest,
    passed: Option<Passed>,
    /// Nothing is measured before this.
    pause: Option<Instant>,
    /// Until this, no burst is sent faster than one that passed.
    contained: Option<Instant>,
}

/// Packets that left together.
#[derive(Clone, Copy, Debug)]
struct Burst {
    sent: (i64, i64),
    arrived: (i64, i64),
    packets: u32,
    bytes: u64,
    /// Without the first packet, whose interval is unknown.
    behind_first: u64,
    /// Delay of the slowest packet above that of the fastest recent one.
    waited: i64,
}

/// The largest burst of this span and of the one before.
#[derive(Debug, Default)]
struct Largest {
    since: Option<Instant>,
    now: u64,
    before: u64,
}

/// A rate at which bursts may be sent, and when it was last confirmed.
#[derive(Clone, Copy, Debug)]
struct Passed {
    rate: f64,
    at: Instant,
}

impl Bursts {
    /// One report's arrivals in order, the waiting time of each packet in the path, and the queue
    /// after them.
    pub(crate) fn report(&mut self, now: Instant, arrived: &[Fate], queue: Duration, waited: impl Fn(i64, i64) -> i64) {
        if queue >= QUEUE {
            self.stop(now);
        }
        for fate in arrived.iter().filter(|fate| !fate.recovered) {
            let Some(arrival) = fate.arrival else { continue };
            match &mut self.burst {
                Some(burst) if burst.goes_on(fate) => burst.add(fate, arrival, waited(fate.sent, arrival)),
                _ => {
                    let over = self
                        .burst
                        .replace(Burst::new(fate, arrival, waited(fate.sent, arrival)));
                    over.into_iter().for_each(|burst| self.over(now, burst));
                }
            }
        }
    }

    /// The rate at which a burst may be sent, if it is known. Shape: bits per second.
    pub(crate) fn rate(&self, now: Instant) -> Option<f64> {
        let passed = self.passed?;
        (now.saturating_duration_since(passed.at) < FORGOTTEN).then_some(passed.rate)
    }

    /// Packets wait, or are lost to a full queue.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.burst = None;
        self.passed = None;
        self.pause = Some(now + PAUSE);
    }

    fn over(&mut self, now: Instant, burst: Burst) {
        let largest = self.largest.note(now, burst.bytes);
        let is_pause = self.pause.is_some_and(|until| now < until);
        if is_pause || burst.packets < PACKETS_MIN || burst.bytes * LARGE < largest {
            return;
        }
        let (found, before) = (burst.arrival_rate(), self.rate(now));
        let waited = burst.waited > WAITED;
        if waited || burst.is_held_up() {
            // The burst shows the rate of the path.
            self.contained = Some(now + FORGOTTEN);
        }
        let faster = match self.contained.is_some_and(|until| now < until) {
            true => found,
            false => FASTER * found,
        };
        let rate = match (waited, before) {
            (true, None) => return,
            (true, Some(before)) => before.min(found),
            // A burst that was sent slowly does not show that faster ones would be held up.
            (false, Some(before)) if !burst.is_held_up() => before.max(faster),
            (false, _) => faster,
        };
        self.passed = Some(Passed { rate, at: now });
    }
}

impl Burst {
    fn new(fate: &Fate, arrival: i64, waited: i64) -> Self {
        Burst {
            sent: (fate.sent, fate.sent),
            arrived: (arrival, arrival),
            packets: 1,
            bytes: fate.size.into(),
            behind_first: 0,
            waited,
        }
    }

    fn goes_on(&self, fate: &Fate) -> bool {
        fate.sent - self.sent.1 <= TOGETHER && fate.sent - self.sent.0 <= LONGEST
    }

    fn add(&mut self, fate: &Fate, arrival: i64, waited: i64) {
        self.sent.1 = self.sent.1.max(fate.sent);
        self.arrived.1 = self.arrived.1.max(arrival);
        self.packets += 1;
        self.bytes += u64::from(fate.size);
        self.behind_first += u64::from(fate.size);
        self.waited = self.waited.max(waited);
    }

    /// Whether it took longer to arrive than to send.
    fn is_held_up(&self) -> bool {
        self.arrival_time() as f64 > HELD_UP * self.leaving().max(SHORTEST) as f64
    }

    fn arrival_rate(&self) -> f64 {
        self.behind_first as f64 * 8e6 / self.arrival_time() as f64
    }

    fn arrival_time(&self) -> i64 {
        let arriving = self.arrived.1.saturating_sub(self.arrived.0);
        arriving.max(self.leaving()).max(SHORTEST)
    }

    fn leaving(&self) -> i64 {
        self.sent.1 - self.sent.0
    }
}

impl Largest {
    fn note(&mut self, now: Instant, bytes: u64) -> u64 {
        if self.since.is_none_or(|since| now >= since + SPAN) {
            (self.since, self.before, self.now) = (Some(now), self.now, 0);
        }
        self.now = self.now.max(bytes);
        self.now.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests read a clock")]

    use super::*;
    use crate::Known;

    /// Key frames of 40 packets every second through a link of `link` bits a second, each paced as
    /// the earlier ones allow. Returns the pace after each.
    fn paces(link: f64, frames: u64) -> Vec<f64> {
        let (mut bursts, start) = (Bursts::default(), Instant::now());
        let (mut pace, mut number) = (5e6, 0);
        (0..frames)
            .map(|second| {
                let (mut sent, mut free) = (second as f64 * 1e6, second as f64 * 1e6);
                let fates: Vec<_> = (0..40)
                    .map(|_| {
                        number += 1;
                        free = f64::max(free, sent) + 1_200.0 * 8e6 / link;
                        let left = sent as i64;
                        sent += 1_200.0 * 8e6 / pace;
                        let arrival = Some(free as i64);
                        Fate {
                            number,
                            sent: left,
                            size: 1_200,
                            probe: None,
                            arrival,
                            recovered: false,
                            before: Known::Arrived,
                        }
                    })
                    .collect();
                let now = start + Duration::from_secs(second + 1);
                let waited = |sent: i64, arrival: i64| arrival - sent;
                bursts.report(now, &fates, Duration::ZERO, waited);
                // The next packet ends the burst.
                let passed = (now - start).as_micros() as i64;
                let last = Fate {
                    sent: passed,
                    arrival: Some(passed),
                    ..fates[39]
                };
                bursts.report(now, &[last], Duration::ZERO, |_, _| 0);
                bursts.burst = None;
                pace = bursts.rate(now).unwrap_or(5e6);
                pace
            })
            .collect()
    }

    #[test]
    fn on_a_wide_path_key_frames_soon_leave_at_once() {
        let paces = paces(1e9, 4);
        assert!(paces[3] > 200e6, "{paces:?}");
    }

    #[test]
    fn a_path_that_holds_a_burst_up_is_not_sent_faster_ones_than_it_carries() {
        let paces = paces(20e6, 12);
        assert!(paces[4..].iter().all(|pace| *pace <= 21e6), "{paces:?}");
    }

    #[test]
    fn a_queue_ends_it_for_a_while() {
        let (mut bursts, now) = (Bursts::default(), Instant::now());
        bursts.passed = Some(Passed { rate: 50e6, at: now });
        bursts.report(now, &[], Duration::from_millis(40), |_, _| 0);
        assert_eq!(bursts.rate(now), None);
        assert!(bursts.pause.is_some_and(|until| until > now));
    }
}
