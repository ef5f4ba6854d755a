//! RTCP: reports and feedback, read as views and written as correct compounds.
//!
//! [`RtcpPacket::compound`] reads the packets of one datagram; [`RtcpWriter`] makes one. No packet
//! is skipped silently: a type that Weir does not read is [`RtcpPacket::Unknown`], and a malformed
//! packet is an error in its place.
//!
//! Source: RFC 3550 section 6; RFC 4585 section 6.

mod bye;
mod key_frame;
mod nack;
mod remb;
mod report;
mod sdes;
mod transport_feedback;
mod writer;

use std::fmt;

use crate::Ssrc;
use crate::bytes::Reader;

pub use bye::Bye;
pub use key_frame::{Fir, FirEntry, Pli};
pub use nack::{NACK_ENTRIES_MAX, Nack, NackEntry, write_nack};
pub use remb::Remb;
pub use report::{
    REPORT_BLOCKS_MAX, ReceiverReport, ReportBlock, ReportBlocks, SenderInfo, SenderReport, delay_units,
    write_receiver_report, write_sender_report,
};
pub use sdes::{SdesChunk, SourceDescription, sdes_item};
pub use transport_feedback::{ArrivalTicks, TransportFeedback, TransportFeedbackPackets, TransportFeedbackWriter};
pub use writer::RtcpWriter;

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const BYE: u8 = 203;
const TRANSPORT_LAYER_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;

/// Formats of transport-layer feedback.
const FORMAT_NACK: u8 = 1;
const FORMAT_TRANSPORT_WIDE: u8 = 15;
/// Formats of payload-specific feedback.
const FORMAT_PLI: u8 = 1;
const FORMAT_FIR: u8 = 4;
const FORMAT_APPLICATION: u8 = 15;

/// One packet of a compound.
#[derive(Clone, Copy, Debug)]
pub enum RtcpPacket<'a> {
    /// Counts and clock of a sender.
    SenderReport(SenderReport<'a>),
    /// Counts of a receiver.
    ReceiverReport(ReceiverReport<'a>),
    /// The name of a source.
    SourceDescription(SourceDescription<'a>),
    /// Sources that end.
    Bye(Bye<'a>),
    /// Packets a receiver misses.
    Nack(Nack<'a>),
    /// A receiver's decoder has lost a picture.
    Pli(Pli),
    /// A receiver joins and needs a key frame.
    Fir(Fir<'a>),
    /// How much a receiver thinks it can take.
    Remb(Remb<'a>),
    /// When each packet of a transport arrived.
    TransportFeedback(TransportFeedback<'a>),
    /// Any other type or format: extended reports, application-defined packets and future types.
    Unknown(UnknownRtcp<'a>),
}

/// A packet that Weir does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRtcp<'a> {
    /// The second byte of its header.
    pub packet_type: u8,
    /// The low five bits of its first byte: a count or a format.
    pub count: u8,
    /// The bytes after its header, padding removed.
    pub body: &'a [u8],
}

/// Why bytes are not RTCP. The sender is at fault in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtcpError {
    /// The datagram ends inside a packet; nothing more can be read from it.
    Truncated,
    /// The version of a packet is not 2; nothing more can be read from the datagram.
    Version(u8),
    /// The padding count is zero or larger than its packet.
    Padding {
        /// The packet's type.
        packet_type: u8,
    },
    /// The packet's counts and its length contradict each other, or a value is out of its range.
    Malformed {
        /// The packet's type.
        packet_type: u8,
        /// Its count or format.
        count: u8,
    },
}

impl fmt::Display for RtcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the datagram ends inside an RTCP packet"),
            Self::Version(version) => write!(f, "the RTCP version is {version}, not 2"),
            Self::Padding { packet_type } => {
                write!(f, "the padding of an RTCP packet of type {packet_type} does not fit")
            }
            Self::Malformed { packet_type, count } => {
                write!(
                    f,
                    "an RTCP packet of type {packet_type}, count or format {count}, contradicts itself"
                )
            }
        }
    }
}

impl std::error::Error for RtcpError {}

impl<'a> RtcpPacket<'a> {
    /// The packets in one datagram, which may be a compound or a single packet (RFC 5506).
    pub fn compound(datagram: &'a [u8]) -> Compound<'a> {
        Compound { rest: datagram }
    }

    fn from_frame(frame: Frame<'a>) -> Result<Self, RtcpError> {
        let Frame {
            packet_type,
            count,
            body,
        } = frame;
        let known = match (packet_type, count) {
            (SENDER_REPORT, blocks) => SenderReport::parse(blocks, body).map(Self::SenderReport),
            (RECEIVER_REPORT, blocks) => ReceiverReport::parse(blocks, body).map(Self::ReceiverReport),
            (SOURCE_DESCRIPTION, chunks) => SourceDescription::parse(chunks, body).map(Self::SourceDescription),
            (BYE, sources) => Bye::parse(sources, body).map(Self::Bye),
            (TRANSPORT_LAYER_FEEDBACK, FORMAT_NACK) => Nack::parse(body).map(Self::Nack),
            (TRANSPORT_LAYER_FEEDBACK, FORMAT_TRANSPORT_WIDE) => {
                TransportFeedback::parse(body).map(Self::TransportFeedback)
            }
            (PAYLOAD_FEEDBACK, FORMAT_PLI) => Pli::parse(body).map(Self::Pli),
            (PAYLOAD_FEEDBACK, FORMAT_FIR) => Fir::parse(body).map(Self::Fir),
            (PAYLOAD_FEEDBACK, FORMAT_APPLICATION) if Remb::is_remb(body) => Remb::parse(body).map(Self::Remb),
            _ => Some(Self::Unknown(UnknownRtcp {
                packet_type,
                count,
                body,
            })),
        };
        known.ok_or(RtcpError::Malformed { packet_type, count })
    }
}

/// The packets in one datagram.
///
/// A packet that contradicts itself is an error, and the next one follows. When the datagram cannot
/// be cut into packets any further, that error is the last item.
#[derive(Clone, Debug)]
pub struct Compound<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Compound<'a> {
    type Item = Result<RtcpPacket<'a>, RtcpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let frame = match cut_frame(self.rest) {
            Ok((frame, rest)) => {
                self.rest = rest;
                frame
            }
            Err(error) => {
                self.rest = &[];
                return Some(Err(error));
            }
        };
        Some(frame.unpadded().and_then(RtcpPacket::from_frame))
    }
}

/// A packet's common header, and its body.
#[derive(Clone, Copy)]
struct Frame<'a> {
    packet_type: u8,
    /// A count of parts in reports, a format in feedback; the padding flag is still on top of it
    /// until it is removed.
    count: u8,
    body: &'a [u8],
}

/// Cuts the first packet off a compound.
fn cut_frame(bytes: &[u8]) -> Result<(Frame<'_>, &[u8]), RtcpError> {
    let mut reader = Reader::new(bytes);
    let [first, packet_type] = reader.array().ok_or(RtcpError::Truncated)?;
    let words = reader.u16().ok_or(RtcpError::Truncated)?;
    if first >> 6 != 2 {
        return Err(RtcpError::Version(first >> 6));
    }
    let body = reader.take(4 * usize::from(words)).ok_or(RtcpError::Truncated)?;
    Ok((
        Frame {
            packet_type,
            count: first & 0x3f,
            body,
        },
        reader.rest(),
    ))
}

impl Frame<'_> {
    /// Removes padding. Any packet of a compound may have some: libwebrtc pads each transport-wide
    /// feedback on its own.
    fn unpadded(self) -> Result<Self, RtcpError> {
        if self.count & 0x20 == 0 {
            return Ok(self);
        }
        let padding = usize::from(self.body.last().copied().unwrap_or(0));
        if padding == 0 || padding > self.body.len() {
            return Err(RtcpError::Padding {
                packet_type: self.packet_type,
            });
        }
        Ok(Self {
            count: self.count & 0x1f,
            body: &self.body[..self.body.len() - padding],
            ..self
        })
    }
}

/// Appends one packet: its header, the body that `body` appends, and padding to a whole number of
/// words.
fn write_packet(out: &mut Vec<u8>, packet_type: u8, count: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0x80 | count, packet_type, 0, 0]);
    body(out);
    let padding = (out.len() - start).next_multiple_of(4) - (out.len() - start);
    if padding > 0 {
        out.resize(out.len() + padding, 0);
        *out.last_mut().expect("just grown") = padding as u8;
        out[start] |= 0x20;
    }
    let words = (out.len() - start) / 4 - 1;
    let words = u16::try_from(words).expect("writers keep packets under 65,536 words");
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}

/// Sources in a row, each four bytes.
fn ssrcs(bytes: &[u8]) -> impl ExactSizeIterator<Item = Ssrc> + '_ {
    bytes.as_chunks().0.iter().map(|word| Ssrc(u32::from_be_bytes(*word)))
}

fn read_ssrc(reader: &mut Reader<'_>) -> Option<Ssrc> {
    reader.u32().map(Ssrc)
}

#[cfg(test)]
mod tests;
