//! The two ways to ask for a key frame.

use super::{FORMAT_FIR, FORMAT_PLI, PAYLOAD_FEEDBACK, read_ssrc, write_packet};
use crate::Ssrc;
use crate::bytes::Reader;

/// Picture loss indication: a decoder cannot continue without a key frame.
///
/// Source: RFC 4585 section 6.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pli {
    /// The requester.
    pub sender: Ssrc,
    /// The stream.
    pub media: Ssrc,
}

impl Pli {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            sender: read_ssrc(&mut reader)?,
            media: read_ssrc(&mut reader)?,
        })
    }

    /// Appends the packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_packet(out, PAYLOAD_FEEDBACK, FORMAT_PLI, |out| {
            out.extend(self.sender.0.to_be_bytes());
            out.extend(self.media.0.to_be_bytes());
        });
    }
}

/// Full intra request: a command to send a key frame to someone new.
///
/// Source: RFC 5104 section 4.3.1.
#[derive(Clone, Copy, Debug)]
pub struct Fir<'a> {
    /// The requester.
    pub sender: Ssrc,
    entries: &'a [[u8; 8]],
}

/// One stream asked for a key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirEntry {
    /// The stream.
    pub media: Ssrc,
    /// Grows with each new request; the same number again is a repetition of the same request.
    pub sequence: u8,
}

impl<'a> Fir<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let sender = read_ssrc(&mut reader)?;
        // The media source of the feedback header is not used: the entries name the streams.
        reader.u32()?;
        let (entries, rest) = reader.rest().as_chunks();
        (!entries.is_empty() && rest.is_empty()).then_some(Self { sender, entries })
    }

    /// The streams asked; at least one.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = FirEntry> + 'a {
        self.entries.iter().map(|&[a, b, c, d, sequence, ..]| FirEntry {
            media: Ssrc(u32::from_be_bytes([a, b, c, d])),
            sequence,
        })
    }
}

/// Appends a request to one stream.
pub(super) fn write_fir(out: &mut Vec<u8>, sender: Ssrc, entry: FirEntry) {
    write_packet(out, PAYLOAD_FEEDBACK, FORMAT_FIR, |out| {
        out.extend(sender.0.to_be_bytes());
        out.extend([0; 4]);
        out.extend(entry.media.0.to_be_bytes());
        out.extend([entry.sequence, 0, 0, 0]);
    });
}
