//! Tells losses of a full queue from those of the path itself.
//!
//! A full queue loses packets that arrive while it is full; a bad radio loses them at any time. So
//! each loss is assigned by the delay of the packet that arrived before it. The queue is full if
//! much more is lost at its longest than otherwise.

use std::collections::VecDeque;

use crate::Fate;

/// The shortest and the longest delay are taken over this many spans.
const SPANS: usize = 10;
/// Length of a span. Shape: microseconds, as all times here.
const SPAN: i64 = 1_000_000;
/// A long queue has at least this share of the longest delay.
const LONG: f64 = 0.33;
/// A long queue is at least this long.
const LONG_MIN: i64 = 20_000;
/// How many packets are remembered, with a short and with a long queue.
const SHORT_MEMORY: f64 = 300.0;
const LONG_MEMORY: f64 = 60.0;
/// A queue is full only if at least this many packets were lost while it was long.
const LOST_MIN: f64 = 4.0;
/// Their share must exceed this multiple of the share of other losses, plus [`SHARE_MIN`].
const TIMES: f64 = 3.0;
/// See [`TIMES`].
const SHARE_MIN: f64 = 0.05;

/// Tells losses apart.
///
/// Source: Cen, Cosman, Voelker, "End-to-end differentiation of congestion and wireless losses",
/// IEEE/ACM ToN 2003, the scheme "Spike".
#[derive(Debug, Default)]
pub(crate) struct Overflow {
    spans: VecDeque<Span>,
    /// Of all spans.
    least: i64,
    most: i64,
    /// From this delay on the queue is long.
    long_from: i64,
    /// Of the newest packet that arrived.
    delay: i64,
    short: Count,
    long: Count,
}

/// When it began, by our clock, and the delays in it.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    least: i64,
    most: i64,
}

/// Recent packets, and the number of them that were lost.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    lost: f64,
}

impl Overflow {
    /// One report, in the order of numbers. Returns whether it tells of a full queue.
    pub(crate) fn report(&mut self, fates: &[Fate]) -> bool {
        let mut full = false;
        for fate in fates.iter().filter(|fate| !fate.recovered) {
            if let Some(arrival) = fate.arrival {
                self.note(fate.sent, arrival);
            }
            let lost = fate.arrival.is_none();
            if self.is_long() {
                self.long.add(lost, LONG_MEMORY);
                full |= lost;
            } else {
                self.short.add(lost, SHORT_MEMORY);
            }
        }
        full && self.long.lost >= LOST_MIN && self.long.share() > TIMES * self.short.share() + SHARE_MIN
    }

    fn note(&mut self, sent: i64, arrival: i64) {
        self.delay = arrival.saturating_sub(sent);
        match self.spans.back_mut() {
            // The range is unchanged, as mostly.
            Some(span) if sent - span.from < SPAN && (span.least..=span.most).contains(&self.delay) => {}
            Some(span) if sent - span.from < SPAN => {
                span.least = span.least.min(self.delay);
                span.most = span.most.max(self.delay);
                self.bound(self.least.min(self.delay), self.most.max(self.delay));
            }
            _ => self.begin_span(sent),
        }
    }

    fn begin_span(&mut self, from: i64) {
        self.spans.push_back(Span {
            from,
            least: self.delay,
            most: self.delay,
        });
        while self.spans.len() > SPANS {
            self.spans.pop_front();
        }
        let least = self.spans.iter().map(|span| span.least).min();
        let most = self.spans.iter().map(|span| span.most).max();
        self.bound(least.unwrap_or_default(), most.unwrap_or_default());
    }

    fn bound(&mut self, least: i64, most: i64) {
        (self.least, self.most) = (least, most);
        let long = (LONG * most.saturating_sub(least) as f64) as i64;
        self.long_from = least.saturating_add(long.max(LONG_MIN));
    }

    fn is_long(&self) -> bool {
        !self.spans.is_empty() && self.delay >= self.long_from
    }
}

impl Count {
    fn add(&mut self, lost: bool, memory: f64) {
        let kept = 1.0 - 1.0 / memory;
        self.packets = kept * self.packets + 1.0;
        self.lost = kept * self.lost + f64::from(u8::from(lost));
    }

    fn share(&self) -> f64 {
        self.lost / self.packets.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Known;

    /// Packets every 10 ms with a saw tooth of delay up to `longest` ms; `lost` selects the lost
    /// ones by number and delay. Returns the number of reports of five packets in which the queue
    /// was full.
    fn full(longest: u64, lost: impl Fn(u64, u64) -> bool) -> usize {
        let mut overflow = Overflow::default();
        let fates: Vec<_> = (0..1000)
            .map(|number| {
                let delay = number * 5 % (longest + 5);
                Fate {
                    number,
                    sent: (10 * number * 1000) as i64,
                    size: 1000,
                    probe: None,
                    arrival: (!lost(number, delay)).then_some(((10 * number + delay) * 1000) as i64),
                    recovered: false,
                    before: Known::Arrived,
                }
            })
            .collect();
        fates.chunks(5).filter(|report| overflow.report(report)).count()
    }

    #[test]
    fn losses_at_the_longest_delay_are_overflow() {
        assert!(full(50, |_, delay| delay >= 45) > 50);
    }

    #[test]
    fn losses_at_any_delay_are_no_overflow() {
        assert_eq!(full(50, |number, _| number % 9 == 0), 0);
    }

    #[test]
    fn a_short_queue_is_never_full() {
        assert_eq!(full(15, |_, delay| delay >= 10), 0);
    }
}
