//! Intervals: the least, the most and the mean of something within a minute.

use std::time::{Duration, Instant};

use super::Command;

/// How long an interval is.
const LENGTH: Duration = Duration::from_secs(60);

/// One interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// How many calls there were, at least and at most.
    pub calls: (usize, usize),
    /// How long the calls took together that ended in it.
    pub duration: Duration,
    /// How long requests took, by command.
    pub delays: [Span; Command::ALL.len()],
    /// How many there were within a second, by command.
    pub rates: [Span; Command::ALL.len()],
}

/// The least, the most and the mean. Delays are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// The last whole interval, and the present one.
#[derive(Debug)]
pub(crate) struct Intervals {
    last: Interval,
    begun: Begun,
}

#[derive(Debug)]
struct Begun {
    at: Instant,
    calls: (usize, usize),
    duration: Duration,
    commands: [RequestTimes; Command::ALL.len()],
}

/// The requests of one command in the interval.
#[derive(Clone, Copy, Debug, Default)]
struct RequestTimes {
    count: u64,
    least: Duration,
    most: Duration,
    sum: Duration,
    /// Of which second of the interval `now` counts, and how many seconds had any.
    second: u64,
    now: u64,
    busiest: u64,
    quietest: u64,
    seconds: u64,
}

impl Intervals {
    pub(crate) fn new(now: Instant) -> Self {
        Intervals {
            last: Interval::default(),
            begun: Begun::new(now, 0),
        }
    }

    /// The last whole interval as of now.
    pub(crate) fn last(&mut self, now: Instant, calls: usize) -> Interval {
        self.at(now, calls);
        self.last
    }

    /// The present interval, with this number of calls.
    pub(crate) fn at(&mut self, now: Instant, calls: usize) -> &mut Self {
        let over = now.saturating_duration_since(self.begun.at).as_secs() / LENGTH.as_secs();
        if over > 0 {
            // All but the first were without anything.
            let at = self.begun.at + LENGTH * u32::try_from(over).unwrap_or(u32::MAX);
            let begun = std::mem::replace(&mut self.begun, Begun::new(at, calls));
            self.last = match over {
                1 => begun.whole(),
                _ => Begun::new(at, calls).whole(),
            };
        }
        let (least, most) = self.begun.calls;
        self.begun.calls = (least.min(calls), most.max(calls));
        self
    }

    pub(crate) fn asked(&mut self, now: Instant, command: Command, took: Duration) {
        let second = now.saturating_duration_since(self.begun.at).as_secs();
        self.begun.commands[command as usize].add(second, took);
    }

    pub(crate) fn ended(&mut self, duration: Duration) {
        self.begun.duration += duration;
    }
}

impl Begun {
    fn new(at: Instant, calls: usize) -> Self {
        Begun {
            at,
            calls: (calls, calls),
            duration: Duration::ZERO,
            commands: [RequestTimes::default(); Command::ALL.len()],
        }
    }

    fn whole(self) -> Interval {
        Interval {
            calls: self.calls,
            duration: self.duration,
            delays: self.commands.map(|asked| asked.delays()),
            rates: self.commands.map(|asked| asked.rates()),
        }
    }
}

impl RequestTimes {
    fn add(&mut self, second: u64, took: Duration) {
        if self.count == 0 || second != self.second {
            self.close_second();
            (self.second, self.now) = (second, 0);
            self.seconds += 1;
        }
        self.least = if self.count == 0 { took } else { self.least.min(took) };
        self.most = self.most.max(took);
        self.sum += took;
        self.count += 1;
        self.now += 1;
    }

    fn close_second(&mut self) {
        if self.seconds > 0 {
            self.busiest = self.busiest.max(self.now);
            self.quietest = if self.seconds == 1 {
                self.now
            } else {
                self.quietest.min(self.now)
            };
        }
    }

    fn delays(self) -> Span {
        Span {
            min: self.least.as_secs_f64(),
            max: self.most.as_secs_f64(),
            mean: self.sum.as_secs_f64() / self.count.max(1) as f64,
        }
    }

    fn rates(mut self) -> Span {
        self.close_second();
        let is_busy_throughout = self.seconds >= LENGTH.as_secs();
        Span {
            min: if is_busy_throughout { self.quietest as f64 } else { 0.0 },
            max: self.busiest as f64,
            mean: self.count as f64 / LENGTH.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn an_interval_tells_the_least_the_most_and_the_mean() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut intervals = Intervals::new(start);
        for (ms, took, calls) in [(0, 2, 1), (100, 4, 2), (5_000, 6, 9)] {
            let took = Duration::from_millis(took);
            intervals.at(at(ms), calls).asked(at(ms), Command::Offer, took);
        }
        intervals.at(at(6_000), 3).ended(Duration::from_secs(7));
        assert_eq!(
            intervals.last(at(59_000), 3),
            Interval::default(),
            "it is not whole yet"
        );
        let last = intervals.last(at(60_500), 4);
        assert_eq!((last.calls, last.duration), ((0, 9), Duration::from_secs(7)));
        let [delay, rate] = [last.delays, last.rates].map(|spans| spans[Command::Offer as usize]);
        assert_eq!((delay.min, delay.max, delay.mean), (0.002, 0.006, 0.004));
        assert_eq!((rate.min, rate.max, rate.mean), (0.0, 2.0, 0.05));
        let empty = intervals.last(at(600_000), 4);
        assert_eq!((empty.calls, empty.duration), ((4, 4), Duration::ZERO));
    }
}
