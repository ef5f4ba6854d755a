//! Transport-wide feedback to publishers: when each of their packets arrived. Without it browsers never raise their rate.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use southbound::TransportId;
use wire::rtcp::{ArrivalTicks, RtcpWriter, TransportFeedbackWriter};
use wire::{Ssrc, Unwrapper};

use super::Media;
use crate::context::Context;

/// How long an arrival waits to be reported.
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// A range wider than this is not one report's: the sender has jumped, and what lies between was never sent.
const RANGE_MAX: u64 = 2_000;

/// The largest compound.
const COMPOUND_MAX: usize = 1_200;

/// How long an arrival is remembered after it was reported, for reports that begin before it.
const MEMORY: Duration = Duration::from_millis(500);

/// Arrivals on one transport: those not reported yet, and those that may have to be said again.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    unwrapper: Unwrapper,
    arrivals: BTreeMap<u64, Instant>,
    /// How many are not reported, and the first of them.
    waiting: usize,
    first: Option<u64>,
    /// The first number nothing was said about.
    next: Option<u64>,
    writer: Option<TransportFeedbackWriter>,
    media: Ssrc,
}

impl Feedback {
    /// A packet with this transport-wide number came.
    pub(super) fn arrived(&mut self, number: u16, at: Instant, media: Ssrc) {
        let number = self.unwrapper.extend(number);
        self.arrivals.insert(number, at);
        self.waiting += 1;
        self.first = Some(self.first.map_or(number, |first| first.min(number)));
        self.media = media;
    }

    /// How many arrivals wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes what is to be reported: every number from the first unreported one on, with its arrival or without. A packet that comes
    /// after the report that missed it makes the next report begin there again.
    fn take(&mut self, now: Instant, epoch: Instant) -> Vec<(u16, Option<ArrivalTicks>)> {
        let (Some(first), Some((last, _))) = (self.first.take(), self.arrivals.last_key_value()) else {
            return Vec::new();
        };
        let last = *last;
        self.waiting = 0;
        let base = self.next.map_or(first, |next| next.min(first));
        let base = if last - base > RANGE_MAX {
            first.max(last.saturating_sub(RANGE_MAX))
        } else {
            base
        };
        self.next = Some(last + 1);
        let ticks = |at: &Instant| ArrivalTicks::from_epoch(at.saturating_duration_since(epoch));
        let report = (base..=last)
            .map(|number| (number as u16, self.arrivals.get(&number).map(ticks)))
            .collect();
        self.arrivals
            .retain(|_, at| now.saturating_duration_since(*at) < MEMORY);
        report
    }
}

impl Media {
    /// Reports what has arrived on a transport.
    pub(crate) fn send_feedback(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(link) = self.links.get_mut(&transport) else {
            return;
        };
        let (Some(leg), feedback) = (link.leg, &mut link.feedback) else {
            return;
        };
        let arrivals = feedback.take(cx.now, cx.shared.clock.origin);
        let media = feedback.media;
        let writer = feedback
            .writer
            .get_or_insert_with(|| TransportFeedbackWriter::new(link.ssrc, media));
        let mut rest = arrivals.as_slice();
        while !rest.is_empty() {
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, link.ssrc, &link.cname, &[]);
            let room = COMPOUND_MAX - compound.len();
            rest = writer.write_next(rest, room, &mut compound);
            cx.send_rtcp(leg, &compound);
        }
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
    }
}
