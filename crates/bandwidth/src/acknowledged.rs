//! What arrives, from the receiver's own times.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Known;
use crate::limits::ARRIVALS_MAX;

/// Arrivals older than this are forgotten. Shape: microseconds, as all times here.
const KEPT: i64 = 1_000_000;
/// Long enough to even out frames.
const WINDOW: i64 = 500_000;
/// Short enough to be all from after a sudden change, and to be filled by one large frame; the longest because others' traffic takes more at one moment and less at another.
const BURST_WINDOWS: [i64; 4] = [125_000, 250_000, 400_000, 800_000];
/// What arrived within this time is exact if the queue never drained in it. A longer time could be from before a fall.
const BUSY_MAX: i64 = 400_000;
/// A path is busy for so long before what it carried is exact. Shape: microseconds.
const BUSY_MIN: i64 = 80_000;
/// Fewer packets say nothing.
const PACKETS_MIN: usize = 5;
/// A step so far back or ahead is a clock that jumped.
const JUMP: i64 = 3_000_000;

/// Measures throughput.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// By arrival.
    arrivals: VecDeque<Arrival>,
    /// How many of them are from before the newest's [`WINDOW`], as of the last report.
    before: usize,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: i64,
    size: u16,
    /// Of the packet sent before it.
    before: Known,
    /// Everything up to here: what is between two packets is the difference.
    reported: Sum,
    gapless: Sum,
}

/// After which packets the time up to an arrival, and its bytes, count; and where their sums are.
#[derive(Clone, Copy)]
struct Counted {
    after: fn(Known) -> bool,
    sum: fn(&Arrival) -> Sum,
}

/// Whatever was lost is part of what does not arrive; what was not reported is not.
const REPORTED: Counted = Counted {
    after: |before| before != Known::Nothing,
    sum: |arrival| arrival.reported,
};
/// A path that loses was no less busy meanwhile.
const GAPLESS: Counted = Counted {
    after: |before| before == Known::Arrived,
    sum: |arrival| arrival.gapless,
};

/// A [`Span`] since some packet long ago, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u32,
    bytes: u32,
    time: u32,
}

/// Bytes, and the time in which they arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    packets: usize,
    bytes: u64,
    time: i64,
}

impl Acknowledged {
    pub(crate) fn arrived(&mut self, at: i64, size: u16, before: Known) {
        let newest = self.arrivals.back().map_or(at, |back| back.at);
        if at.abs_diff(newest) > JUMP as u64 {
            self.arrivals.clear();
            self.before = 0;
        }
        let arrival = Arrival {
            at,
            size,
            before,
            reported: Sum::default(),
            gapless: Sum::default(),
        };
        match self.arrivals.back() {
            Some(last) if last.at <= at => self.arrivals.push_back(arrival.behind(last)),
            None => self.arrivals.push_back(arrival),
            Some(_) => self.insert(arrival),
        }
        if self.arrivals.len() > ARRIVALS_MAX {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        self.arrivals.pop_front();
        self.before = self.before.saturating_sub(1);
    }

    /// Adds a packet that arrived before others that were told of already.
    fn insert(&mut self, arrival: Arrival) {
        let place = self.arrivals.partition_point(|other| other.at <= arrival.at);
        self.arrivals.insert(place, arrival);
        // It is looked for from the start again.
        self.before = self.before.min(place);
        for index in place.max(1)..self.arrivals.len() {
            self.arrivals[index] = self.arrivals[index].behind(&self.arrivals[index - 1]);
        }
    }

    /// What arrives as of a report, whose packets were told, evened out over frames. Shape: bits per second.
    pub(crate) fn rate(&mut self) -> Option<f64> {
        let newest = self.arrivals.back()?.at;
        while self.arrivals.front().is_some_and(|front| front.at < newest - KEPT) {
            self.forget_oldest();
        }
        while self
            .arrivals
            .get(self.before)
            .is_some_and(|next| next.at <= newest - WINDOW)
        {
            self.before += 1;
        }
        if self.before == 0 {
            return self.dispersion(WINDOW, REPORTED);
        }
        // The pause before the window's first packet belongs to it only in part.
        let mut span = self.span(self.before, REPORTED);
        let first = self.arrivals.get(self.before)?;
        if (REPORTED.after)(first.before) {
            span.add(first, first.at - (newest - WINDOW));
        }
        span.rate()
    }

    /// What a busy link carried a moment ago: the bytes after the first packet over the time they took. The link was not busy all the
    /// time, so the most of several windows. Shape: bits per second.
    pub(crate) fn burst_rate(&self, growing: Duration) -> Option<f64> {
        BURST_WINDOWS
            .into_iter()
            .chain([(growing.as_micros() as i64).min(KEPT)])
            .filter_map(|window| self.dispersion(window, GAPLESS))
            .max_by(f64::total_cmp)
    }

    /// What arrived within the last `busy`, in which the path was never idle: just what it carries. Shape: bits per second.
    pub(crate) fn busy_rate(&self, busy: Duration) -> Option<f64> {
        let busy = (busy.as_micros() as i64).min(BUSY_MAX);
        (busy >= BUSY_MIN).then(|| self.dispersion(busy, GAPLESS)).flatten()
    }

    fn dispersion(&self, window: i64, counted: Counted) -> Option<f64> {
        let newest = self.arrivals.back()?.at;
        let span = self.span(
            self.arrivals.partition_point(|arrival| arrival.at <= newest - window),
            counted,
        );
        // Over less than a fifth of the window, one frame would be taken for the rate.
        let enough = span.packets + 1 >= PACKETS_MIN && span.time >= window / 5;
        span.rate().filter(|_| enough)
    }

    /// All after the packet at `first`.
    fn span(&self, first: usize, counted: Counted) -> Span {
        match (self.arrivals.get(first), self.arrivals.back()) {
            (Some(first), Some(last)) => (counted.sum)(first).until((counted.sum)(last)),
            _ => Span::default(),
        }
    }
}

impl Arrival {
    /// With the sums it has behind this one.
    fn behind(self, last: &Arrival) -> Self {
        let time = (self.at - last.at) as u32;
        let add = |sum: Sum, counts: bool| match counts {
            true => sum.plus(self.size, time),
            false => sum,
        };
        Arrival {
            reported: add(last.reported, (REPORTED.after)(self.before)),
            gapless: add(last.gapless, (GAPLESS.after)(self.before)),
            ..self
        }
    }
}

impl Sum {
    fn plus(self, size: u16, time: u32) -> Self {
        Sum {
            packets: self.packets.wrapping_add(1),
            bytes: self.bytes.wrapping_add(size.into()),
            time: self.time.wrapping_add(time),
        }
    }

    fn until(self, later: Sum) -> Span {
        Span {
            packets: later.packets.wrapping_sub(self.packets) as usize,
            bytes: later.bytes.wrapping_sub(self.bytes).into(),
            time: later.time.wrapping_sub(self.time).into(),
        }
    }
}

impl Span {
    fn add(&mut self, arrival: &Arrival, time: i64) {
        self.packets += 1;
        self.bytes += u64::from(arrival.size);
        self.time += time;
    }

    fn rate(&self) -> Option<f64> {
        (self.time > 0).then(|| self.bytes as f64 * 8e6 / self.time as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured() {
        let mut acknowledged = Acknowledged::default();
        for packet in 0..200 {
            acknowledged.arrived(packet * 10_000, 1250, Known::Arrived);
        }
        assert_eq!(acknowledged.rate(), Some(1e6));
        assert_eq!(acknowledged.burst_rate(Duration::ZERO), Some(1e6));
    }

    #[test]
    fn what_was_not_reported_is_not_taken_for_a_pause() {
        let mut acknowledged = Acknowledged::default();
        for packet in (0..200).filter(|packet| packet % 40 < 30) {
            acknowledged.arrived(
                packet * 10_000,
                1250,
                if packet % 40 == 0 {
                    Known::Nothing
                } else {
                    Known::Arrived
                },
            );
        }
        assert_eq!(acknowledged.rate(), Some(1e6));
    }

    #[test]
    fn a_jump_starts_over() {
        let mut acknowledged = Acknowledged::default();
        for packet in 0..200 {
            acknowledged.arrived(packet * 10_000, 1250, Known::Arrived);
        }
        acknowledged.arrived(i64::MAX / 2, 1250, Known::Arrived);
        assert_eq!(acknowledged.rate(), None);
    }
}
