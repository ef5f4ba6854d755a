//! How long the queue on the path is: how much later packets arrive than the fastest ones lately.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The fastest packet is looked for in so many
const SPANS: usize = 10;
/// spans of this length; a path that becomes longer is known after all of them. Shape: microseconds.
const SPAN: i64 = 1_000_000;

/// Compares one-way delays, whose zero is unknown, with the least of them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    epoch: Option<Instant>,
    /// When each span began, by our clock, and its least delay. Shape: microseconds.
    least: VecDeque<(i64, i64)>,
    standing: i64,
}

impl Queue {
    /// One report's arrivals. The least of them is what stands in the queue; the others waited behind their own frame.
    pub(crate) fn report(&mut self, arrivals: impl Iterator<Item = (Instant, i64)>) {
        let mut standing = None;
        for (sent, arrival) in arrivals {
            let epoch = *self.epoch.get_or_insert(sent);
            let sent = sent.saturating_duration_since(epoch).as_micros() as i64;
            let delay = arrival.saturating_sub(sent);
            self.remember(sent, delay);
            standing = Some(standing.map_or(delay, |least: i64| least.min(delay)));
        }
        if let (Some(standing), Some(least)) = (standing, self.least.iter().map(|span| span.1).min()) {
            self.standing = standing.saturating_sub(least);
        }
    }

    fn remember(&mut self, sent: i64, delay: i64) {
        match self.least.back_mut() {
            Some(span) if sent - span.0 < SPAN => span.1 = span.1.min(delay),
            _ => self.least.push_back((sent, delay)),
        }
        while self.least.len() > SPANS {
            self.least.pop_front();
        }
    }

    /// Nothing was sent for so long: what stood in the queue has drained meanwhile, although nobody reports on it.
    pub(crate) fn idle(&mut self, time: Duration) {
        if time.as_micros() as i64 > self.standing {
            self.standing = 0;
        }
    }

    pub(crate) fn standing(&self) -> Duration {
        Duration::from_micros(self.standing.max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn it_is_what_is_added_to_the_fastest_and_forgets_after_ten_seconds() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        let mut report = |second: u64, delay: i64| {
            let sent = Duration::from_secs(second);
            queue.report([(start + sent, sent.as_micros() as i64 + delay)].into_iter());
            queue.standing()
        };
        assert_eq!(report(0, 5_000), Duration::ZERO);
        assert_eq!(report(1, 205_000), Duration::from_millis(200));
        for second in 2..10 {
            assert_eq!(report(second, 105_000), Duration::from_millis(100));
        }
        assert_eq!(report(10, 105_000), Duration::ZERO);
    }
}
