//! The received rate, from the receiver's own arrival times.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Known;
use crate::limits::ARRIVALS_MAX;

/// Arrivals older than this are forgotten. Shape: microseconds, as all times here.
const KEPT: i64 = 1_000_000;
/// Long enough to even out frames.
const WINDOW: i64 = 500_000;
/// Short enough to be all from after a sudden change, and to be filled by one large frame; the
/// longest because others' traffic takes more at one moment and less at another.
const BURST_WINDOWS: [i64; 4] = [125_000, 250_000, 400_000, 800_000];
/// The rate received within this time is exact if the queue never drained in it. A longer time
/// could include packets from before a fall.
const BUSY_MAX: i64 = 400_000;
/// The rate is exact after the path was busy for this long. Shape: microseconds.
const BUSY_MIN: i64 = 80_000;
/// And after this many bytes arrived in that time. A few packets of audio that a receiver read
/// late, while no frame was under way, do not show a path that carries audio alone. Such a path
/// fills its queue, and delivers as much a moment later.
const BUSY_BYTES: u64 = 3_000;
/// Fewer packets do not count.
const PACKETS_MIN: usize = 5;
/// A larger step in either direction is a clock that jumped.
const JUMP: i64 = 3_000_000;

/// Measures throughput.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// In their order.
    moments: VecDeque<Arrival>,
    /// How many of them are from before the newest's [`WINDOW`], as of the last report.
    before: usize,
    /// Everything up to the newest packet.
    all: Sums,
}

/// Packets that arrived at one time: most of a frame, if the path is faster than the resolution of
/// the receiver's clock. A rate is counted from one moment on, so only the first packet of each
/// moment is needed.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: i64,
    /// Of the first packet.
    size: u16,
    /// Of the packet sent before that.
    before: Known,
    /// Everything up to the first packet; the sum between two packets is the difference.
    sums: Sums,
}

/// Sums over arrivals since some packet long ago, for both ways of counting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// Counts every reported packet: losses reduce the rate, missing reports do not.
    reported: Sum,
    /// A path that loses was no less busy meanwhile.
    gapless: Sum,
}

/// Which of the two is asked for.
type Counted = fn(&Sums) -> Sum;
const REPORTED: Counted = |sums| sums.reported;
const GAPLESS: Counted = |sums| sums.gapless;

/// Whether a packet after one with this report counts, and the time up to it.
const fn counts_reported(before: Known) -> bool {
    !matches!(before, Known::Nothing)
}

const fn counts_gapless(before: Known) -> bool {
    matches!(before, Known::Arrived)
}

/// A [`Span`] since some packet long ago, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// Records an arrival. Most packets arrive together with the previous one, or after it.
    #[inline]
    pub(crate) fn arrived(&mut self, at: i64, size: u16, before: Known) {
        match self.moments.back() {
            Some(last) if last.at == at => self.all.add(size, before, 0),
            _ => self.begin(at, size, before),
        }
    }

    fn begin(&mut self, at: i64, size: u16, before: Known) {
        let newest = self.moments.back().map_or(at, |back| back.at);
        if at.abs_diff(newest) > JUMP as u64 {
            self.moments.clear();
            self.before = 0;
        }
        match self.moments.back() {
            Some(last) if last.at > at => return self.insert(at, size, before),
            Some(last) => self.all.add(size, before, (at - last.at) as u32),
            None => {}
        }
        let sums = self.all;
        self.moments.push_back(Arrival { at, size, before, sums });
        self.limit();
    }

    fn limit(&mut self) {
        if self.moments.len() > ARRIVALS_MAX {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        self.moments.pop_front();
        self.before = self.before.saturating_sub(1);
    }

    /// Adds a packet that arrived before others that were recorded already.
    fn insert(&mut self, at: i64, size: u16, before: Known) {
        let place = self.moments.partition_point(|other| other.at <= at);
        let next = self.moments[place];
        let last = place.checked_sub(1).map(|place| self.moments[place].at);
        // The sums up to the previous moment.
        let mut sums = next.sums;
        sums.take(next.size, next.before, (next.at - last.unwrap_or(at)) as u32);
        if let Some(last) = last {
            sums.add(size, before, (at - last) as u32);
            let mut next_sums = sums;
            next_sums.add(next.size, next.before, (next.at - at) as u32);
            let mut shift = next_sums;
            shift.subtract(&next.sums);
            self.moments
                .range_mut(place..)
                .for_each(|moment| moment.sums.plus(&shift));
            self.all.plus(&shift);
            if last == at {
                return;
            }
        }
        self.moments.insert(place, Arrival { at, size, before, sums });
        // It is looked for from the start again.
        self.before = self.before.min(place);
        self.limit();
    }

    /// The received rate as of a report whose packets were recorded, averaged over frames. Shape:
    /// bits per second.
    pub(crate) fn rate(&mut self) -> Option<f64> {
        let newest = self.moments.back()?.at;
        while self.moments.front().is_some_and(|front| front.at < newest - KEPT) {
            self.forget_oldest();
        }
        while self
            .moments
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
        let first = self.moments.get(self.before)?;
        if counts_reported(first.before) {
            span.add(first, first.at - (newest - WINDOW));
        }
        span.rate()
    }

    /// Recent capacity of a busy link: the bytes after the first packet, divided by the time that
    /// they took. The link was not busy all the time, so it is the highest rate of several windows.
    /// Shape: bits per second.
    pub(crate) fn burst_rate(&self, growing: Duration) -> Option<f64> {
        BURST_WINDOWS
            .into_iter()
            .chain([(growing.as_micros() as i64).min(KEPT)])
            .filter_map(|window| self.dispersion(window, GAPLESS))
            .max_by(f64::total_cmp)
    }

    /// The rate received within the last `busy`, in which the path was never idle: exactly its
    /// capacity. Shape: bits per second.
    pub(crate) fn busy_rate(&self, busy: Duration) -> Option<f64> {
        let busy = (busy.as_micros() as i64).min(BUSY_MAX);
        let is_enough = busy >= BUSY_MIN && self.recent(busy, GAPLESS).bytes >= BUSY_BYTES;
        is_enough.then(|| self.dispersion(busy, GAPLESS)).flatten()
    }

    fn dispersion(&self, window: i64, counted: Counted) -> Option<f64> {
        let span = self.recent(window, counted);
        // Over less than a fifth of the window, one frame would be taken for the rate.
        let enough = span.packets + 1 >= PACKETS_MIN && span.time >= window / 5;
        span.rate().filter(|_| enough)
    }

    /// Everything within `window` before the newest packet.
    fn recent(&self, window: i64, counted: Counted) -> Span {
        let newest = self.moments.back().map_or(0, |newest| newest.at);
        let first = self.moments.partition_point(|moment| moment.at <= newest - window);
        self.span(first, counted)
    }

    /// All after the first packet of this moment.
    fn span(&self, first: usize, counted: Counted) -> Span {
        match self.moments.get(first) {
            Some(first) => counted(&first.sums).until(counted(&self.all)),
            None => Span::default(),
        }
    }
}

impl Sums {
    /// Adds a packet that arrived `time` after the previous one.
    fn add(&mut self, size: u16, before: Known, time: u32) {
        if counts_reported(before) {
            self.reported = self.reported.plus(Sum::of(size, time));
        }
        if counts_gapless(before) {
            self.gapless = self.gapless.plus(Sum::of(size, time));
        }
    }

    /// Without that packet.
    fn take(&mut self, size: u16, before: Known, time: u32) {
        let mut one = Sums::default();
        one.add(size, before, time);
        self.subtract(&one);
    }

    fn plus(&mut self, others: &Sums) {
        self.reported = self.reported.plus(others.reported);
        self.gapless = self.gapless.plus(others.gapless);
    }

    fn subtract(&mut self, others: &Sums) {
        self.reported = self.reported.less(others.reported);
        self.gapless = self.gapless.less(others.gapless);
    }
}

impl Sum {
    fn of(size: u16, time: u32) -> Self {
        Sum {
            packets: 1,
            bytes: size.into(),
            time,
        }
    }

    fn plus(self, other: Sum) -> Self {
        Sum {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
            time: self.time.wrapping_add(other.time),
        }
    }

    fn less(self, other: Sum) -> Self {
        Sum {
            packets: self.packets.wrapping_sub(other.packets),
            bytes: self.bytes.wrapping_sub(other.bytes),
            time: self.time.wrapping_sub(other.time),
        }
    }

    /// The span between this and a later sum.
    fn until(self, later: Sum) -> Span {
        let between = later.less(self);
        Span {
            packets: between.packets as usize,
            bytes: between.bytes.into(),
            time: between.time.into(),
        }
    }
}

impl Span {
    fn add(&mut self, first: &Arrival, time: i64) {
        self.packets += 1;
        self.bytes += u64::from(first.size);
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
    fn unreported_packets_are_no_pause() {
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
    fn audio_that_is_read_late_does_not_show_the_capacity() {
        let busy = Duration::from_millis(200);
        for (size, rate) in [(160, None), (1250, Some(400e3))] {
            let mut acknowledged = Acknowledged::default();
            for packet in 0..20 {
                acknowledged.arrived(packet * 25_000, size, Known::Arrived);
            }
            assert_eq!(acknowledged.busy_rate(busy), rate);
        }
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

    /// A reference for [`Acknowledged`], which looks at every packet for every query.
    #[derive(Default)]
    struct Plain(Vec<(i64, u16, Known)>);

    impl Plain {
        fn arrived(&mut self, packet: (i64, u16, Known)) {
            let place = self.0.partition_point(|other| other.0 <= packet.0);
            self.0.insert(place, packet);
        }

        fn span(&self, window: i64, counts: fn(Known) -> bool) -> (Span, usize) {
            let newest = self.0.last().unwrap().0;
            let first = self.0.partition_point(|packet| packet.0 <= newest - window);
            let kept = self.0.iter().position(|packet| packet.0 >= newest - KEPT).unwrap();
            let mut span = Span::default();
            for pair in self.0[first.max(kept)..].windows(2).filter(|pair| counts(pair[1].2)) {
                span.packets += 1;
                span.bytes += u64::from(pair[1].1);
                span.time += pair[1].0 - pair[0].0;
            }
            (span, first - kept)
        }

        fn dispersion(&self, window: i64, counts: fn(Known) -> bool) -> Option<f64> {
            let span = self.span(window, counts).0;
            span.rate()
                .filter(|_| span.packets + 1 >= PACKETS_MIN && span.time >= window / 5)
        }

        fn rate(&self) -> Option<f64> {
            let (mut span, before) = self.span(WINDOW, counts_reported);
            if before == 0 {
                return self.dispersion(WINDOW, counts_reported);
            }
            let newest = self.0.last().unwrap().0;
            let first = self.0[self.0.partition_point(|packet| packet.0 <= newest - WINDOW)];
            if counts_reported(first.2) {
                span.packets += 1;
                span.bytes += u64::from(first.1);
                span.time += first.0 - (newest - WINDOW);
            }
            span.rate()
        }
    }

    proptest::proptest! {
        #[test]
        fn it_matches_the_reference(
            reports in proptest::collection::vec(
                proptest::collection::vec((-40_i64..60, 1_u16..1500, 0_u8..6), 1..12), 1..60,
            ),
        ) {
            let (mut acknowledged, mut plain, mut at) = (Acknowledged::default(), Plain::default(), 1_000_000_000);
            for report in reports {
                for (step, size, before) in report {
                    // Half of them at once.
                    at += 500 * step.max(-30).clamp(-30, 60) * i64::from(step % 2 == 0);
                    let before = [Known::Nothing, Known::Missing].get(usize::from(before)).copied().unwrap_or(Known::Arrived);
                    acknowledged.arrived(at, size, before);
                    plain.arrived((at, size, before));
                }
                proptest::prop_assert_eq!(acknowledged.rate(), plain.rate());
                for window in BURST_WINDOWS {
                    proptest::prop_assert_eq!(
                        acknowledged.dispersion(window, GAPLESS),
                        plain.dispersion(window, counts_gapless)
                    );
                }
            }
        }
    }
}
