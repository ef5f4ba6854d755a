//! Transport-wide feedback: when each packet of a transport arrived.

mod chunk;
mod writer;

use std::time::Duration;

use super::read_ssrc;
use crate::Ssrc;
use crate::bytes::Reader;
use chunk::{Status, Statuses};

pub use writer::TransportFeedbackWriter;

/// An arrival time in transport-wide feedback.
///
/// Shape: 250 microseconds since an epoch of the receiver's choice, wrapping every 12.4 days. To
/// compare arrivals over longer times, extend them with
/// [`TimestampUnwrapper`](crate::TimestampUnwrapper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArrivalTicks(pub u32);

impl ArrivalTicks {
    /// Length of a tick, in microseconds.
    pub const MICROSECONDS: u64 = 250;

    /// The tick in which an arrival falls, given as the time since the receiver's epoch.
    pub const fn from_epoch(since_epoch: Duration) -> Self {
        Self((since_epoch.as_micros() / Self::MICROSECONDS as u128) as u32)
    }

    /// How many ticks after `other` this is; negative when it is before it.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// A reference time, in the 64 ms units of the packet header, as ticks.
    const fn from_reference(reference: u32) -> Self {
        Self(reference << 8)
    }

    const fn to_reference(self) -> u32 {
        self.0 >> 8
    }

    const fn wrapping_add(self, ticks: i16) -> Self {
        Self(self.0.wrapping_add_signed(ticks as i32))
    }
}

/// When each packet of a transport arrived, over one range of transport-wide sequence numbers.
///
/// Each packet's status is read once here to find where the arrival times start. A packet of 36
/// bytes can give the status of 65,535 packets, so a reader of `packets` should expect that many.
///
/// Source: draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.
#[derive(Clone, Copy, Debug)]
pub struct TransportFeedback<'a> {
    /// The reporting receiver.
    pub sender: Ssrc,
    /// Any stream of the transport reported on.
    pub media: Ssrc,
    /// The first packet reported on.
    pub base_sequence: u16,
    /// How many packets are reported on; at least 1.
    pub status_count: u16,
    /// The reference for the first arrival. Shape: 64 ms, 24 bits, wrapping.
    pub reference_time: u32,
    /// Number of this report, so that lost reports are noticed.
    pub feedback_count: u8,
    statuses: Statuses<'a>,
    deltas: &'a [u8],
}

impl<'a> TransportFeedback<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (sender, media) = (read_ssrc(&mut reader)?, read_ssrc(&mut reader)?);
        let (base_sequence, status_count) = (reader.u16()?, reader.u16()?);
        let word = reader.u32()?;
        if status_count == 0 {
            return None;
        }
        let statuses = Statuses::new(reader, status_count);
        let (deltas_len, reader) = statuses.measure()?;
        // More bytes may follow: some senders fill the last word with zeros without marking
        // padding.
        let deltas = reader.rest().get(..deltas_len)?;
        Some(Self {
            sender,
            media,
            base_sequence,
            status_count,
            reference_time: word >> 8,
            feedback_count: word as u8,
            statuses,
            deltas,
        })
    }

    /// Every packet reported on, in the order they were sent: its number, and its arrival unless it
    /// is missing.
    pub fn packets(&self) -> TransportFeedbackPackets<'a> {
        TransportFeedbackPackets {
            sequence: self.base_sequence,
            clock: ArrivalTicks::from_reference(self.reference_time),
            statuses: self.statuses,
            deltas: Reader::new(self.deltas),
        }
    }
}

/// The packets of one [`TransportFeedback`], as `(transport-wide sequence number, arrival)`.
#[derive(Clone, Debug)]
pub struct TransportFeedbackPackets<'a> {
    sequence: u16,
    /// The last arrival, which the next one is counted from.
    clock: ArrivalTicks,
    statuses: Statuses<'a>,
    deltas: Reader<'a>,
}

impl Iterator for TransportFeedbackPackets<'_> {
    type Item = (u16, Option<ArrivalTicks>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // `parse` measured the same statuses, so each has its delta.
        let delta = match self.statuses.next()?? {
            Status::Missing => None,
            Status::SmallDelta => Some(i16::from(self.deltas.u8()?)),
            Status::LargeDelta => Some(self.deltas.u16()? as i16),
        };
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let arrival = delta.map(|delta| {
            self.clock = self.clock.wrapping_add(delta);
            self.clock
        });
        Some((sequence, arrival))
    }
}

#[cfg(test)]
mod tests;
