//! Packets that were sent, kept until the receiver reports on them.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Instant;

use wire::rtcp::ArrivalTicks;
use wire::{TimestampUnwrapper, Unwrapper};

use crate::limits::{HISTORY_AGE_MAX, HISTORY_PACKETS_MAX};
use crate::{Anomalies, ProbeId, Sent};

/// A packet is remembered for this long after its report: repeated and reordered reports arrive
/// within it, and thousands of histories are kept. Shape: microseconds.
const REPORTED_AGE_MAX: i64 = 1_000_000;
/// The same for a packet without a report. Shape: microseconds.
const AGE_MAX: i64 = HISTORY_AGE_MAX.as_micros() as i64;

/// A queue with room for this multiple of its length gives the excess back, except for a little.
const ROOM_MAX: usize = 4;
const ROOM_MIN: usize = 16;

/// A packet and its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its transport-wide number, extended.
    pub number: u64,
    /// When it left. Shape: microseconds since the first packet did, a number because it is
    /// compared so often.
    pub sent: i64,
    /// Bytes of UDP payload.
    pub size: u16,
    /// The probe it was part of.
    pub probe: Option<ProbeId>,
    /// When it arrived, or that it has not. Shape: microseconds since an epoch of the receiver's
    /// choice.
    pub arrival: Option<i64>,
    /// Whether it was reported missing before, and arrived late.
    pub recovered: bool,
    /// The report on the packet sent before it.
    pub before: Known,
}

/// The report on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// No report: it was lost, or is still to come.
    Nothing,
    /// It had not arrived.
    Missing,
    /// It arrived.
    Arrived,
}

/// Matches reports with sent packets. Each packet is reported missing at most once, and arrived at
/// most once, for any repetition of reports.
#[derive(Debug, Default)]
pub struct History {
    /// From number `first` on; `None` where no packet of that number is known.
    packets: VecDeque<Option<Packet>>,
    first: u64,
    clock: SendClock,
    numbers: Unwrapper,
    ticks: TimestampUnwrapper,
    anomalies: Anomalies,
}

/// A sent packet, without its number, which is its index. It is small, since a second of them is
/// kept for each receiver.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Shape: microseconds since the first packet left.
    at: i64,
    probe: Option<Tag>,
    size: u16,
    known: Known,
}

const _: () = assert!(size_of::<Option<Packet>>() == 16, "a cache line holds four");

/// A probe's id plus one. The last id of all cannot be stored, and is never used.
#[derive(Clone, Copy, Debug)]
struct Tag(NonZeroU32);

impl Tag {
    fn of(id: ProbeId) -> Option<Self> {
        NonZeroU32::new(id.0.wrapping_add(1)).map(Tag)
    }

    fn id(self) -> ProbeId {
        ProbeId(self.0.get() - 1)
    }
}

impl Packet {
    fn new(sent: &Sent, at: i64) -> Self {
        Packet {
            at,
            probe: sent.probe.and_then(Tag::of),
            size: sent.size,
            known: Known::Nothing,
        }
    }

    fn is_old(&self, now: i64) -> bool {
        let age = now - self.at;
        age > AGE_MAX || self.known != Known::Nothing && age > REPORTED_AGE_MAX
    }
}

/// Our time in microseconds since the first packet left. Packets of one batch left together, so
/// that most of them need no sum.
#[derive(Debug, Default)]
struct SendClock {
    first: Option<Instant>,
    /// The last one, in both forms.
    newest: Option<(Instant, i64)>,
}

impl SendClock {
    /// The time of a sent packet, and whether it differs from that of the previous packet.
    fn tick(&mut self, at: Instant) -> (i64, bool) {
        match self.newest {
            Some((newest, micros)) if newest == at => (micros, false),
            _ => {
                self.first.get_or_insert(at);
                let micros = self.micros(at);
                self.newest = Some((at, micros));
                (micros, true)
            }
        }
    }

    fn micros(&self, at: Instant) -> i64 {
        self.first
            .map_or(0, |first| at.saturating_duration_since(first).as_micros() as i64)
    }
}

impl History {
    /// Packets left, all of them at one time.
    pub fn sent_together(&mut self, packets: &[Sent]) {
        let Some((first, rest)) = packets.split_first() else {
            return;
        };
        self.sent(*first);
        // Of which time the others are, unless the first one was too old to be known.
        let at = self.clock.newest.filter(|(newest, _)| *newest == first.at);
        for packet in rest {
            let end = self.first + self.packets.len() as u64;
            let is_next = packet.number == end as u16 && self.numbers.highest() == Some(end - 1);
            match at {
                Some((_, at)) if is_next && self.packets.len() < HISTORY_PACKETS_MAX => {
                    self.numbers.extend(packet.number);
                    self.packets.push_back(Some(Packet::new(packet, at)));
                }
                _ => self.sent(*packet),
            }
        }
    }

    /// A packet left.
    pub fn sent(&mut self, sent: Sent) {
        let number = self.numbers.extend(sent.number);
        let end = self.first + self.packets.len() as u64;
        if self.packets.is_empty() || number >= end + HISTORY_PACKETS_MAX as u64 {
            self.packets.clear();
            self.first = number;
        } else if number < self.first {
            return;
        }
        let (at, is_later) = self.clock.tick(sent.at);
        let index = (number - self.first) as usize;
        let packet = Some(Packet::new(&sent, at));
        if index < self.packets.len() {
            self.packets[index] = packet;
        } else {
            if index > self.packets.len() {
                self.packets.resize(index, None);
            }
            self.packets.push_back(packet);
        }
        if is_later || self.packets.len() > HISTORY_PACKETS_MAX {
            self.forget(at);
        }
    }

    /// A time of ours as [`Fate::sent`] tells it.
    pub fn micros(&self, at: Instant) -> i64 {
        self.clock.micros(at)
    }

    fn forget(&mut self, now: i64) {
        while let Some(oldest) = self.packets.front() {
            let is_old = oldest.is_none_or(|packet| packet.is_old(now));
            if !is_old && self.packets.len() <= HISTORY_PACKETS_MAX {
                break;
            }
            self.packets.pop_front();
            self.first += 1;
        }
        if self.packets.capacity() > ROOM_MAX * self.packets.len().max(ROOM_MIN) {
            self.packets.shrink_to(2 * self.packets.len());
        }
    }

    /// Appends the news of a report, in the order of the report.
    pub fn resolve(&mut self, report: impl Iterator<Item = (u16, Option<ArrivalTicks>)>, out: &mut Vec<Fate>) {
        for (number, arrival) in report {
            if let Some(fate) = self.resolve_one(number, arrival) {
                out.push(fate);
            }
        }
    }

    #[inline]
    fn resolve_one(&mut self, number: u16, arrival: Option<ArrivalTicks>) -> Option<Fate> {
        let number = self.numbers.peek(number);
        let index = number.checked_sub(self.first).map(|index| index as usize);
        let before = index.map_or(Known::Nothing, |index| self.before(index));
        let Some(packet) = index.and_then(|index| self.packets.get_mut(index)?.as_mut()) else {
            self.anomalies.unknown += 1;
            return None;
        };
        let recovered = packet.known == Known::Missing;
        match (packet.known, arrival) {
            (Known::Arrived, Some(_)) => {
                self.anomalies.repeated += 1;
                return None;
            }
            // No news: an old report that was overtaken, or the same loss again.
            (Known::Arrived | Known::Missing, None) => return None,
            (Known::Nothing, None) => packet.known = Known::Missing,
            (Known::Nothing | Known::Missing, Some(_)) => packet.known = Known::Arrived,
        }
        let packet = *packet;
        let arrival = arrival.map(|ticks| (self.ticks.extend(ticks.0) * ArrivalTicks::MICROSECONDS) as i64);
        Some(Fate {
            number,
            sent: packet.at,
            size: packet.size,
            probe: packet.probe.map(Tag::id),
            arrival,
            recovered,
            before,
        })
    }

    /// A number that was never sent leaves no gap among the arrivals.
    fn before(&self, index: usize) -> Known {
        let before = index
            .checked_sub(1)
            .and_then(|index| self.packets.get(index).copied().flatten());
        before.map_or(Known::Arrived, |packet| packet.known)
    }

    /// The highest number sent so far, extended.
    pub fn newest(&self) -> Option<u64> {
        self.numbers.highest()
    }

    /// Impossible reports.
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn sent(number: u16, at: Instant) -> Sent {
        Sent {
            number,
            at,
            size: 1000,
            probe: None,
        }
    }

    fn resolve(history: &mut History, number: u16, arrival: Option<u32>) -> Vec<Fate> {
        let mut out = Vec::new();
        history.resolve([(number, arrival.map(ArrivalTicks))].into_iter(), &mut out);
        out
    }

    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_late_packet_is_missing_once_and_recovered_once() {
        let (mut history, now) = (History::default(), now());
        history.sent(sent(7, now));
        assert_eq!(resolve(&mut history, 7, None)[0].arrival, None);
        assert!(resolve(&mut history, 7, None).is_empty());
        assert!(resolve(&mut history, 7, Some(4))[0].recovered);
        assert!(resolve(&mut history, 7, Some(5)).is_empty());
        assert_eq!(history.anomalies().repeated, 1);
    }

    #[test]
    fn reports_on_unsent_packets_are_counted() {
        let (mut history, now) = (History::default(), now());
        assert!(resolve(&mut history, 1, Some(1)).is_empty());
        history.sent(sent(1, now));
        assert!(resolve(&mut history, 2, Some(1)).is_empty());
        assert!(resolve(&mut history, 0, Some(1)).is_empty());
        assert_eq!(history.anomalies().unknown, 3);
    }

    #[test]
    fn old_packets_are_forgotten() {
        let (mut history, now) = (History::default(), now());
        history.sent(sent(1, now));
        history.sent(sent(2, now + HISTORY_AGE_MAX + Duration::from_millis(1)));
        assert!(resolve(&mut history, 1, Some(1)).is_empty());
        assert_eq!(resolve(&mut history, 2, Some(1)).len(), 1);
    }

    #[test]
    fn reported_packets_are_forgotten_before_unreported_ones() {
        let (mut history, start) = (History::default(), now());
        for number in 0..1_000 {
            let at = start + Duration::from_millis(10) * u32::from(number);
            history.sent(sent(number, at));
            if number != 500 {
                resolve(&mut history, number, Some(u32::from(number) * 40));
            }
        }
        assert_eq!(resolve(&mut history, 499, None), []);
        assert_eq!(history.anomalies().unknown, 1);
        assert_eq!(history.packets.len(), 500);
        assert_eq!(resolve(&mut history, 500, Some(20_000)).len(), 1);
        history.sent(sent(1_000, start + Duration::from_secs(10)));
        assert!(history.packets.len() <= 102 && history.packets.capacity() <= 512);
    }

    proptest! {
        #[test]
        fn batches_equal_single_packets(
            steps in proptest::collection::vec((-3_i16..6, 0_u64..2), 1..200),
        ) {
            let (mut together, mut alone, start) = (History::default(), History::default(), now());
            let (mut number, mut at, mut packets) = (65_500_u16, start, Vec::new());
            for (step, later) in steps {
                number = number.wrapping_add_signed(step);
                at += Duration::from_millis(later);
                packets.push(sent(number, at));
            }
            packets.iter().for_each(|packet| alone.sent(*packet));
            packets.chunk_by(|one, next| one.at == next.at).for_each(|chunk| together.sent_together(chunk));
            let report = || (65_000..=u16::MAX).chain(0..1_000).map(|number| (number, Some(ArrivalTicks(7))));
            let (mut fates, mut others) = (Vec::new(), Vec::new());
            together.resolve(report(), &mut fates);
            alone.resolve(report(), &mut others);
            prop_assert_eq!(fates, others);
        }

        #[test]
        fn memory_is_bounded_and_each_arrival_counts_once(numbers in proptest::collection::vec((any::<u16>(), any::<u32>()), 1..400)) {
            let (mut history, now) = (History::default(), now());
            for (number, _) in &numbers {
                history.sent(sent(*number, now));
                prop_assert!(history.packets.len() <= HISTORY_PACKETS_MAX);
            }
            let mut out = Vec::new();
            let twice = numbers.iter().chain(&numbers).map(|(number, at)| (*number, Some(ArrivalTicks(*at))));
            history.resolve(twice, &mut out);
            let mut seen: Vec<_> = out.iter().map(|fate| fate.number).collect();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), out.len());
        }
    }
}
