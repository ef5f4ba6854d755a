//! Receiver estimated maximum bitrate.

use super::{FORMAT_APPLICATION, PAYLOAD_FEEDBACK, read_ssrc, ssrcs, write_packet};
use crate::Ssrc;
use crate::bytes::Reader;

const IDENTIFIER: &[u8; 4] = b"REMB";
const SOURCES_MAX: usize = 255;
const MANTISSA_BITS: u32 = 18;

/// How much a receiver thinks its path can take, over all streams named.
///
/// Source: draft-alvestrand-rmcat-remb-03 section 2.2.
#[derive(Clone, Copy, Debug)]
pub struct Remb<'a> {
    /// The estimating receiver.
    pub sender: Ssrc,
    /// Shape: bits per second, headers included.
    pub bitrate: u64,
    sources: &'a [u8],
}

impl<'a> Remb<'a> {
    /// Whether the body of an application-layer feedback packet is this one.
    pub(super) fn is_remb(body: &[u8]) -> bool {
        body.get(8..12).is_some_and(|identifier| identifier == IDENTIFIER)
    }

    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let sender = read_ssrc(&mut reader)?;
        // The media source is unused and zero; the identifier is known by now.
        reader.take(8)?;
        let word = reader.u32()?;
        let sources = reader.take(4 * (word >> 24) as usize)?;
        let (exponent, mantissa) = (word >> MANTISSA_BITS & 0x3f, u64::from(word & 0x3_ffff));
        let bitrate = mantissa << exponent;
        (bitrate >> exponent == mantissa).then_some(Self {
            sender,
            bitrate,
            sources,
        })
    }

    /// The streams that share the bitrate, 0 to 255.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Ssrc> + 'a {
        ssrcs(self.sources)
    }
}

/// Appends an estimate, rounded down to 18 significant bits.
///
/// It names the first 255 sources at most; senders apply it to the whole transport whichever are
/// named.
pub(super) fn write_remb(out: &mut Vec<u8>, sender: Ssrc, bitrate: u64, sources: &[Ssrc]) {
    let sources = &sources[..sources.len().min(SOURCES_MAX)];
    let exponent = (u64::BITS - bitrate.leading_zeros()).saturating_sub(MANTISSA_BITS);
    let mantissa = (bitrate >> exponent) as u32;
    let word = (sources.len() as u32) << 24 | exponent << MANTISSA_BITS | mantissa;
    write_packet(out, PAYLOAD_FEEDBACK, FORMAT_APPLICATION, |out| {
        out.extend(sender.0.to_be_bytes());
        out.extend([0; 4]);
        out.extend(IDENTIFIER);
        out.extend(word.to_be_bytes());
        sources.iter().for_each(|source| out.extend(source.0.to_be_bytes()));
    });
}
