//! Generic negative acknowledgements.

use super::{FORMAT_NACK, TRANSPORT_LAYER_FEEDBACK, read_ssrc, write_packet};
use crate::bytes::Reader;
use crate::{SequenceNumber, Ssrc};

/// The most entries Weir writes into one packet, which is 1,212 bytes then; further ones go into
/// another packet.
pub const NACK_ENTRIES_MAX: usize = 300;

/// Packets of one stream that a receiver misses.
///
/// One entry of four bytes asks for up to 17 packets, so a full datagram can ask for some 6,000:
/// the sender of answers has to limit itself.
///
/// Source: RFC 4585 section 6.2.1.
#[derive(Clone, Copy, Debug)]
pub struct Nack<'a> {
    /// The requester.
    pub sender: Ssrc,
    /// The stream.
    pub media: Ssrc,
    entries: &'a [[u8; 4]],
}

/// A missing packet, and which of the 16 that follow it are missing too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackEntry {
    /// PID: a missing packet.
    pub first: SequenceNumber,
    /// BLP: bit `i` stands for packet `first + 1 + i`.
    pub following: u16,
}

impl NackEntry {
    /// The missing packets, in order.
    pub fn sequences(self) -> impl Iterator<Item = SequenceNumber> {
        let following = (0..16).filter(move |bit| self.following >> bit & 1 == 1);
        std::iter::once(self.first).chain(following.map(move |bit| self.first.wrapping_add(bit + 1)))
    }

    /// Adds a packet if this entry can hold it.
    fn add(&mut self, sequence: SequenceNumber) -> bool {
        match sequence.0.wrapping_sub(self.first.0) {
            0 => true,
            distance @ 1..=16 => {
                self.following |= 1 << (distance - 1);
                true
            }
            _ => false,
        }
    }
}

impl<'a> Nack<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (sender, media) = (read_ssrc(&mut reader)?, read_ssrc(&mut reader)?);
        let (entries, rest) = reader.rest().as_chunks();
        (!entries.is_empty() && rest.is_empty()).then_some(Self { sender, media, entries })
    }

    /// The entries as they travelled; at least one.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = NackEntry> + 'a {
        self.entries.iter().map(|&[a, b, c, d]| NackEntry {
            first: SequenceNumber(u16::from_be_bytes([a, b])),
            following: u16::from_be_bytes([c, d]),
        })
    }

    /// The missing packets, in the order of the entries.
    pub fn sequences(&self) -> impl Iterator<Item = SequenceNumber> + 'a {
        self.entries().flat_map(NackEntry::sequences)
    }
}

/// Appends a request for `sequences`, best given in ascending order: it is then the shortest.
/// Nothing is written for none.
pub fn write_nack(out: &mut Vec<u8>, sender: Ssrc, media: Ssrc, sequences: impl IntoIterator<Item = SequenceNumber>) {
    let mut entries: Vec<NackEntry> = Vec::new();
    for sequence in sequences {
        if !entries.last_mut().is_some_and(|entry| entry.add(sequence)) {
            entries.push(NackEntry {
                first: sequence,
                following: 0,
            });
        }
    }
    for some in entries.chunks(NACK_ENTRIES_MAX) {
        write_packet(out, TRANSPORT_LAYER_FEEDBACK, FORMAT_NACK, |out| {
            out.extend(sender.0.to_be_bytes());
            out.extend(media.0.to_be_bytes());
            for entry in some {
                out.extend(entry.first.0.to_be_bytes());
                out.extend(entry.following.to_be_bytes());
            }
        });
    }
}
