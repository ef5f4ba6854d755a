//! Writing transport-wide feedback.

use super::{ArrivalTicks, Status, chunk};
use crate::Ssrc;
use crate::rtcp::{FORMAT_TRANSPORT_WIDE, TRANSPORT_LAYER_FEEDBACK, write_packet};

/// RTCP header, both sources, base, count and reference time.
const HEADER_LEN: usize = 20;

/// Writes a receiver's transport-wide feedback, numbering the reports.
///
/// One packet has limits: two arrivals in a row may be at most 8.2 seconds apart, and it should fit
/// into a datagram. So a report is written packet by packet until nothing is left:
///
/// ```
/// # use wire::{Ssrc, rtcp::{ArrivalTicks, TransportFeedbackWriter}};
/// # let arrivals = [(7, Some(ArrivalTicks(40))), (8, None), (9, Some(ArrivalTicks(90_000)))];
/// let mut writer = TransportFeedbackWriter::new(Ssrc(1), Ssrc(2));
/// let (mut rest, mut out) = (&arrivals[..], Vec::new());
/// while !rest.is_empty() {
///     rest = writer.write_next(rest, 1200, &mut out);
/// }
/// ```
///
/// Source: draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.
#[derive(Clone, Debug)]
pub struct TransportFeedbackWriter {
    sender: Ssrc,
    media: Ssrc,
    count: u8,
    /// The last reference time, kept for reports without arrivals.
    reference: u32,
}

impl TransportFeedbackWriter {
    /// A writer of reports by `sender` on the transport that carries the stream `media`.
    pub fn new(sender: Ssrc, media: Ssrc) -> Self {
        Self {
            sender,
            media,
            count: 0,
            reference: 0,
        }
    }

    /// Appends one packet with as many of `packets` as it can hold, and returns the rest.
    ///
    /// `packets` are consecutive transport-wide numbers, each with its arrival, or none if it is
    /// missing; a number that does not follow the previous one begins a new packet. At least one of
    /// them is always written.
    ///
    /// Shape: `len_max` in bytes, for this packet alone.
    pub fn write_next<'p>(
        &mut self,
        packets: &'p [(u16, Option<ArrivalTicks>)],
        len_max: usize,
        out: &mut Vec<u8>,
    ) -> &'p [(u16, Option<ArrivalTicks>)] {
        let Some(&(base, _)) = packets.first() else {
            return packets;
        };
        if let Some(first_arrival) = packets.iter().find_map(|(_, arrival)| *arrival) {
            self.reference = first_arrival.to_reference();
        }
        let report = Report::gather(base, self.reference, packets, len_max);
        let word = self.reference << 8 | u32::from(self.count);
        write_packet(out, TRANSPORT_LAYER_FEEDBACK, FORMAT_TRANSPORT_WIDE, |out| {
            out.extend(self.sender.0.to_be_bytes());
            out.extend(self.media.0.to_be_bytes());
            out.extend(base.to_be_bytes());
            out.extend((report.statuses.len() as u16).to_be_bytes());
            out.extend(word.to_be_bytes());
            chunk::write(out, &report.statuses);
            out.extend(&report.deltas);
        });
        self.count = self.count.wrapping_add(1);
        &packets[report.statuses.len()..]
    }
}

/// The report in one packet.
#[derive(Default)]
struct Report {
    statuses: Vec<Status>,
    deltas: Vec<u8>,
}

impl Report {
    /// Takes packets from the front for as long as they fit into `len_max` bytes.
    fn gather(base: u16, reference: u32, packets: &[(u16, Option<ArrivalTicks>)], len_max: usize) -> Self {
        let mut report = Self::default();
        let mut clock = ArrivalTicks::from_reference(reference);
        let in_a_row = (0..u16::MAX).map(|offset| base.wrapping_add(offset));
        for (expected, &(sequence, arrival)) in in_a_row.zip(packets) {
            let Some((status, delta)) = status_of(arrival, clock) else {
                break;
            };
            let len = report.len_max_with(status);
            if sequence != expected || (len > len_max && !report.statuses.is_empty()) {
                break;
            }
            clock = arrival.unwrap_or(clock);
            report.statuses.push(status);
            report.deltas.extend(&delta.to_be_bytes()[2 - status.delta_len()..]);
        }
        report
    }

    /// The largest size of the packet with one more status.
    fn len_max_with(&self, status: Status) -> usize {
        let chunks = chunk::chunks_max(self.statuses.len() + 1);
        (HEADER_LEN + 2 * chunks + self.deltas.len() + status.delta_len()).next_multiple_of(4)
    }
}

/// The status of an arrival when the previous one was at `clock`; `None` if it is too far away.
fn status_of(arrival: Option<ArrivalTicks>, clock: ArrivalTicks) -> Option<(Status, i16)> {
    let Some(arrival) = arrival else {
        return Some((Status::Missing, 0));
    };
    let delta = i16::try_from(arrival.distance_from(clock)).ok()?;
    let status = if (0..=255).contains(&delta) {
        Status::SmallDelta
    } else {
        Status::LargeDelta
    };
    Some((status, delta))
}
