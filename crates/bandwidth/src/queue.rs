//! How long the queue on the path is: how much later packets arrive than the fastest ones lately.

use std::collections::VecDeque;
use std::time::Duration;

/// The fastest packet is looked for in this many spans.
const SPANS: usize = 10;
/// Length of a span; a path that becomes longer is known after all spans. Shape: microseconds.
const SPAN: i64 = 1_000_000;

/// With such a queue a path is never idle. Shape: microseconds.
const BUSY: i64 = 20_000;
/// Time that each report's delay is kept, to find the time since which the queue grows. Shape:
/// microseconds.
const RECENT: i64 = 1_000_000;
/// Reports remembered for that at most.
const RECENT_MAX: usize = 64;

/// Compares one-way delays, whose zero is unknown, with the least of them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// When each span began, by our clock, and its least delay. Shape: microseconds.
    least: VecDeque<(i64, i64)>,
    standing: i64,
    /// When the last reports' fastest packets arrived, and their delay. Shape: microseconds.
    recent: VecDeque<(i64, i64)>,
}

impl Queue {
    /// One report's arrivals. The smallest delay is that of the queue; the other packets waited
    /// behind those of their own frame.
    pub(crate) fn report(&mut self, arrivals: impl Iterator<Item = (i64, i64)>) {
        let mut standing = None;
        for (sent, arrival) in arrivals {
            let delay = arrival.saturating_sub(sent);
            self.remember(sent, delay);
            if standing.is_none_or(|(_, least)| delay < least) {
                standing = Some((arrival, delay));
            }
        }
        if let (Some(standing), Some(least)) = (standing, self.shortest()) {
            self.standing = standing.1.saturating_sub(least);
            self.note(standing);
        }
    }

    fn note(&mut self, (arrival, delay): (i64, i64)) {
        // Reports are kept in the order of arrival: entries with later times are older reports all
        // the same.
        while self.recent.pop_back_if(|(at, _)| *at > arrival).is_some() {}
        while self.recent.pop_front_if(|(at, _)| *at < arrival - RECENT).is_some() {}
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((arrival, delay));
    }

    /// Time since the queue was shortest within the last second. The rate received since then is
    /// the capacity, if it is too low.
    pub(crate) fn growing(&self) -> Duration {
        let shortest = self.recent.iter().rev().min_by_key(|(_, delay)| delay);
        self.since(shortest.map(|shortest| shortest.0))
    }

    /// Time for which the path has certainly been busy, up to a second: since the first report
    /// after the last one with hardly a queue, and for the waiting time of its packets.
    pub(crate) fn busy(&self) -> Duration {
        let least = self.newest_delay().saturating_sub(self.standing);
        let queued = |report: &&(i64, i64)| report.1 - least >= BUSY;
        let first = self.recent.iter().rev().take_while(queued).last();
        self.since(first.map(|(at, delay)| at - (delay - least)))
    }

    fn newest_delay(&self) -> i64 {
        self.recent.back().map_or(0, |newest| newest.1)
    }

    fn since(&self, at: Option<i64>) -> Duration {
        let newest = self.recent.back().map(|newest| newest.0);
        let passed = newest.zip(at).map_or(0, |(newest, at)| newest.abs_diff(at));
        Duration::from_micros(passed)
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

    /// No packet was sent for this long, so the queue has drained, although no report shows it.
    pub(crate) fn idle(&mut self, time: Duration) {
        if time.as_micros() as i64 > self.standing {
            self.standing = 0;
        }
    }

    /// Tells how much longer a packet took than the fastest lately, by when it was sent and when it
    /// arrived. Shape: microseconds.
    pub(crate) fn waited(&self) -> impl Fn(i64, i64) -> i64 + use<> {
        let shortest = self.shortest();
        move |sent, arrival| shortest.map_or(0, |least| arrival.saturating_sub(sent).saturating_sub(least))
    }

    /// The least delay lately. Shape: microseconds.
    fn shortest(&self) -> Option<i64> {
        self.least.iter().map(|span| span.1).min()
    }

    pub(crate) fn standing(&self) -> Duration {
        Duration::from_micros(self.standing.max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_the_delay_above_the_fastest_packet_of_ten_seconds() {
        let mut queue = Queue::default();
        let mut report = |second: i64, delay: i64| {
            let sent = second * 1_000_000;
            queue.report([(sent, sent + delay)].into_iter());
            queue.standing()
        };
        assert_eq!(report(0, 5_000), Duration::ZERO);
        assert_eq!(report(1, 205_000), Duration::from_millis(200));
        for second in 2..10 {
            assert_eq!(report(second, 105_000), Duration::from_millis(100));
        }
        assert_eq!(report(10, 105_000), Duration::ZERO);
    }

    #[test]
    fn it_grows_since_it_was_shortest_and_is_busy_since_it_was_no_queue() {
        let mut queue = Queue::default();
        for (report, delay) in [5, 40, 15, 30, 45, 60].into_iter().enumerate() {
            let sent = 50_000 * report as i64;
            queue.report([(sent, sent + delay * 1_000)].into_iter());
        }
        assert_eq!(queue.growing(), Duration::from_millis(305));
        assert_eq!(queue.busy(), Duration::from_millis(155));
    }
}
