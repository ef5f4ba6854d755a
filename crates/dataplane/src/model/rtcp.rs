//! RTCP of a leg: it always goes to the agent. By entries it is forwarded as well: a receiver's
//! feedback to a publisher, and a publisher's sender reports to its receivers.
//!
//! Source: Scallop sections 5.3 and 5.5.

use std::time::Instant;

use wire::RtpTimestamp;

use super::{Egress, Ingress, LegState, Model};
use crate::{Counter, FeedbackClass, LegId, Protection, PuntKind, StreamKey, Verdict, WriteError};

/// A sender report without report blocks and padding.
const REPORT: [u8; 4] = [0x80, 200, 0, 6];
const REPORT_LEN: usize = 28;

/// The places of its SSRC, its RTP timestamp, and the SSRC of a description after it.
const SSRC: usize = 4;
const TIMESTAMP: usize = 16;
const DESCRIBED_SSRC: usize = REPORT_LEN + 4;

impl Model {
    pub(super) fn set_feedback(
        &mut self,
        from: LegId,
        class: FeedbackClass,
        to: Option<LegId>,
    ) -> Result<(), WriteError> {
        if to.is_some_and(|to| !self.legs.contains_key(&to)) {
            return Err(WriteError::UnknownLeg);
        }
        let leg = self.legs.get_mut(&from).ok_or(WriteError::UnknownLeg)?;
        match to {
            Some(to) => drop(leg.feedback.insert(class, to)),
            None => drop(leg.feedback.remove(&class)),
        }
        Ok(())
    }

    pub(super) fn set_reports(&mut self, key: StreamKey, are_replicated: bool) -> Result<(), WriteError> {
        let stream = self.streams.get_mut(&key).ok_or(WriteError::UnknownStream)?;
        stream.reports = are_replicated;
        Ok(())
    }

    pub(super) fn rtcp(&mut self, now: Instant, leg: LegId, arrival: Ingress<'_>, out: &mut Vec<Egress>) -> Verdict {
        if self.legs[&leg].is_clear() {
            out.extend(self.forwarded_feedback(leg, arrival.bytes));
            self.replicate_report(leg, arrival.bytes, out);
        }
        self.punt(now, arrival, Some(leg), PuntKind::Rtcp, Counter::PuntedRtcp)
    }

    /// A receiver's feedback as it is sent to a publisher: unchanged.
    fn forwarded_feedback(&self, from: LegId, bytes: &[u8]) -> Option<Egress> {
        let class = FeedbackClass::of(bytes)?;
        let to = *self.legs[&from].feedback.get(&class)?;
        let leg = self.legs.get(&to).filter(|leg| leg.is_clear())?;
        Some(Egress {
            leg: Some(to),
            path: leg.ready()?,
            bytes: bytes.to_vec(),
        })
    }

    /// Sends a sender report to each replica that follows its stream, with the replica's SSRC and
    /// timestamps. The counts are the publisher's. Reports of another form go to the agent alone.
    fn replicate_report(&self, leg: LegId, bytes: &[u8], out: &mut Vec<Egress>) {
        let Some(is_described) = form_of_report(bytes) else {
            return;
        };
        let field = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("it is long enough"));
        let key = StreamKey {
            leg,
            ssrc: wire::Ssrc(field(SSRC)),
        };
        if !self.streams.get(&key).is_some_and(|stream| stream.reports) {
            return;
        }
        for replica in self.replicas.values() {
            let id = replica.entry.leg;
            let leg = &self.legs[&id];
            let (Some(path), Some(segment)) = (leg.ready(), &replica.segment) else {
                continue;
            };
            if replica.current != Some(key) || !leg.is_clear() {
                continue;
            }
            let mut bytes = bytes.to_vec();
            let mut write = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            write(SSRC, replica.entry.ssrc.0);
            write(
                TIMESTAMP,
                RtpTimestamp(field(TIMESTAMP)).wrapping_add(segment.timestamp_offset).0,
            );
            if is_described {
                write(DESCRIBED_SSRC, replica.entry.ssrc.0);
            }
            out.push(Egress {
                leg: Some(id),
                path,
                bytes,
            });
        }
    }
}

impl LegState {
    fn is_clear(&self) -> bool {
        self.entry.protection == Protection::Clear
    }
}

/// Whether a sender report that can be replicated is followed by a description of its source.
/// `None` for what cannot be: a report with blocks, or with something else after it.
fn form_of_report(bytes: &[u8]) -> Option<bool> {
    let (report, rest) = bytes.split_at_checked(REPORT_LEN)?;
    if !report.starts_with(&REPORT) {
        return None;
    }
    match rest {
        [] => Some(false),
        // A description (SDES) of one source, without padding.
        [0x81, 202, high, low, _, _, _, _, ..] => {
            let words = usize::from(u16::from_be_bytes([*high, *low]));
            (4 * (words + 1) == rest.len()).then_some(true)
        }
        _ => None,
    }
}
