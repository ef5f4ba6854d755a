//! Transport-wide feedback to publishers: when each of their packets arrived. Without it browsers
//! never raise their rate.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use wire::rtcp::{ArrivalTicks, TransportFeedbackWriter};
use wire::{Ssrc, Unwrapper};

use crate::media::media_transport::MediaTransport;

/// The shortest time that an arrival waits for its report. Reports to all publishers are sent
/// together, in the next round of routine work.
pub(super) const INTERVAL: Duration = Duration::from_millis(25);

/// A wider range is not put into one report: the sender has jumped, and the numbers in between were
/// never sent.
const RANGE_MAX: u64 = 2_000;

/// The largest compound.
const COMPOUND_MAX: usize = 1_200;

/// How long an arrival is remembered after it was reported, for reports that begin before it.
const MEMORY: Duration = Duration::from_millis(500);

/// Arrivals on one transport: unreported ones, and ones that may have to be reported again.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    unwrapper: Unwrapper,
    /// From number `start` on; the last one has arrived.
    arrivals: VecDeque<Option<Instant>>,
    start: u64,
    /// How many are not reported, and the first of them.
    waiting: usize,
    first: Option<u64>,
    /// The first number without a report.
    next: Option<u64>,
    writer: Option<TransportFeedbackWriter>,
    media: Ssrc,
}

impl Feedback {
    /// A packet with this transport-wide number arrived.
    pub(super) fn arrived(&mut self, number: u16, at: Instant, media: Ssrc) {
        let number = self.unwrapper.extend(number);
        if !self.enter(number, at) {
            return;
        }
        self.waiting += 1;
        self.first = Some(self.first.map_or(number, |first| first.min(number)));
        self.media = media;
    }

    /// Records an arrival; false if it is long after those around it.
    fn enter(&mut self, number: u64, at: Instant) -> bool {
        let end = self.start + self.arrivals.len() as u64;
        if self.arrivals.is_empty() || number > end + RANGE_MAX {
            self.arrivals.clear();
            (self.start, self.first) = (number, None);
        }
        if number + RANGE_MAX < self.start {
            return false;
        }
        while self.start > number {
            self.arrivals.push_front(None);
            self.start -= 1;
        }
        let index = (number - self.start) as usize;
        if index >= self.arrivals.len() {
            self.arrivals.resize(index + 1, None);
        }
        self.arrivals[index] = Some(at);
        while self.arrivals.len() as u64 > 2 * RANGE_MAX {
            self.forget_oldest();
        }
        true
    }

    fn forget_oldest(&mut self) {
        self.arrivals.pop_front();
        self.start += 1;
    }

    fn arrival(&self, number: u64) -> Option<Instant> {
        let index = number.checked_sub(self.start)?;
        *self.arrivals.get(index as usize)?
    }

    /// How many arrivals wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Makes the packets that report arrivals since the last call.
    pub(super) fn compounds(&mut self, now: Instant, epoch: Instant, publisher: &MediaTransport) -> Vec<Vec<u8>> {
        let arrivals = self.take(now, epoch);
        let media = self.media;
        let writer = self
            .writer
            .get_or_insert_with(|| TransportFeedbackWriter::new(publisher.ssrc(), media));
        let (mut rest, mut compounds) = (arrivals.as_slice(), Vec::new());
        while !rest.is_empty() {
            let mut compound = Vec::with_capacity(COMPOUND_MAX);
            publisher.compound(&mut compound, &[]);
            let room = COMPOUND_MAX - compound.len();
            rest = writer.write_next(rest, room, &mut compound);
            compounds.push(compound);
        }
        compounds
    }

    /// Takes the numbers to report: every number from the first unreported one on, with its arrival
    /// if there is one. A packet that arrives after a report without it makes the next report begin
    /// at that packet.
    fn take(&mut self, now: Instant, epoch: Instant) -> Vec<(u16, Option<ArrivalTicks>)> {
        self.waiting = 0;
        let (Some(first), Some(behind)) = (self.first.take(), self.arrivals.len().checked_sub(1)) else {
            return Vec::new();
        };
        let last = self.start + behind as u64;
        let base = self.next.map_or(first, |next| next.min(first));
        let base = if last - base > RANGE_MAX {
            first.max(last.saturating_sub(RANGE_MAX))
        } else {
            base
        };
        self.next = Some(last + 1);
        let ticks = |at: Instant| ArrivalTicks::from_epoch(at.saturating_duration_since(epoch));
        let report = (base..=last)
            .map(|number| (number as u16, self.arrival(number).map(ticks)))
            .collect();
        let is_old = |at: &Option<Instant>| at.is_none_or(|at| now.saturating_duration_since(at) >= MEMORY);
        while self.arrivals.front().is_some_and(is_old) {
            self.forget_oldest();
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_reported_with_its_arrival_or_as_missing() {
        let epoch = Instant::now();
        let mut feedback = Feedback::default();
        let arrive = |feedback: &mut Feedback, number, millis| {
            feedback.arrived(number, epoch + Duration::from_millis(millis), Ssrc(1));
        };
        arrive(&mut feedback, 65_534, 10);
        arrive(&mut feedback, 0, 11);
        let ticks = |value| Some(ArrivalTicks(value));
        assert_eq!(
            feedback.take(epoch, epoch),
            [(65_534, ticks(40)), (65_535, None), (0, ticks(44))]
        );
        arrive(&mut feedback, 2, 20);
        assert_eq!(feedback.take(epoch, epoch), [(1, None), (2, ticks(80))]);
        arrive(&mut feedback, 1, 25);
        arrive(&mut feedback, 3, 26);
        assert_eq!(
            feedback.take(epoch, epoch),
            [(1, ticks(100)), (2, ticks(80)), (3, ticks(104))]
        );
        assert_eq!(feedback.take(epoch, epoch), []);
    }

    #[test]
    fn a_jump_is_no_loss() {
        let epoch = Instant::now();
        let mut feedback = Feedback::default();
        feedback.arrived(1, epoch, Ssrc(1));
        feedback.take(epoch, epoch);
        feedback.arrived(20_000, epoch, Ssrc(1));
        assert_eq!(feedback.take(epoch, epoch).len(), 1);
        feedback.arrived(10_000, epoch, Ssrc(1));
        assert_eq!(feedback.take(epoch, epoch), [], "nobody waits for it any more");
    }

    #[test]
    fn reported_arrivals_are_repeated_for_half_a_second() {
        let epoch = Instant::now();
        let at = |millis| epoch + Duration::from_millis(millis);
        let mut feedback = Feedback::default();
        for number in 0..200_u16 {
            feedback.arrived(number, at(10 * u64::from(number)), Ssrc(1));
            feedback.take(at(10 * u64::from(number)), epoch);
        }
        assert_eq!(feedback.arrivals.len(), 50);
        feedback.arrived(180, at(2_000), Ssrc(1));
        assert_eq!(feedback.take(at(2_000), epoch).len(), 20);
        feedback.arrived(100, at(2_001), Ssrc(1));
        let report = feedback.take(at(2_001), epoch);
        assert_eq!((report.len(), report[1].1), (100, None));
    }

    #[test]
    fn numbers_far_apart_take_little_room() {
        let epoch = Instant::now();
        let mut feedback = Feedback::default();
        for step in 0..200_u32 {
            feedback.arrived((step * 1_999) as u16, epoch, Ssrc(1));
            assert!(feedback.arrivals.len() as u64 <= 2 * RANGE_MAX);
        }
        assert!(feedback.take(epoch, epoch).len() as u64 <= RANGE_MAX + 1);
    }
}
