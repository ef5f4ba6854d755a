//! Redundant audio: earlier frames repeated before the newest, so that a lost packet costs nothing.
//!
//! Source: RFC 2198.

use std::fmt;

use crate::PayloadType;
use crate::bytes::Reader;

/// Bytes of the header of a redundant block; the primary block's is one byte.
const REDUNDANT_HEADER_LEN: usize = 4;
/// The largest timestamp offset plus one: 14 bits.
const OFFSET_END: u16 = 1 << 14;
/// The largest length of a redundant block plus one: 10 bits.
const LEN_END: usize = 1 << 10;

/// One frame in a redundant payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedBlock<'a> {
    /// The frame's codec.
    pub payload_type: PayloadType,
    /// How much earlier than the packet's timestamp the frame was sampled; 0 in the primary block.
    ///
    /// Shape: 0 to 16,383, in units of the RTP clock.
    pub timestamp_offset: u16,
    /// The frame, up to 1,023 bytes in a redundant block.
    pub payload: &'a [u8],
}

/// Why a payload is not redundant audio. The sender is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedError {
    /// The payload ends inside a block's header.
    TruncatedHeader,
    /// The redundant blocks are longer than the payload.
    TruncatedBlock,
}

impl fmt::Display for RedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TruncatedHeader => "a redundant payload ends inside a block header",
            Self::TruncatedBlock => "a redundant payload ends inside a block",
        })
    }
}

impl std::error::Error for RedError {}

/// Why a redundant payload was not written. We are at fault: the blocks and the buffer are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedWriteError {
    /// A redundant frame is older than its field allows. Leave the frame out.
    TooOld,
    /// A redundant frame is longer than its field allows. Leave the frame out.
    TooLong,
    /// The buffer is shorter than the payload.
    BufferTooShort,
}

impl fmt::Display for RedWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooOld => "a redundant frame is older than 16,383 timestamp units",
            Self::TooLong => "a redundant frame is longer than 1,023 bytes",
            Self::BufferTooShort => "the buffer is too short for the redundant payload",
        })
    }
}

impl std::error::Error for RedWriteError {}

/// A view of a redundant payload.
///
/// A receiver that did not negotiate redundancy is sent [`primary`](Self::primary) alone: its
/// payload, under its payload type.
#[derive(Clone, Copy, Debug)]
pub struct RedPayload<'a> {
    /// Headers of the redundant blocks.
    headers: &'a [u8],
    /// The redundant blocks, with the total length of their headers' values.
    redundant: &'a [u8],
    primary: RedBlock<'a>,
}

impl<'a> RedPayload<'a> {
    /// Finds the blocks of an RTP payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, RedError> {
        let mut reader = Reader::new(payload);
        let (mut headers_len, mut redundant_len) = (0, 0);
        let primary_type = loop {
            let first = reader.u8().ok_or(RedError::TruncatedHeader)?;
            if first & 0x80 == 0 {
                break PayloadType::from_header_byte(first);
            }
            let [_, high, low] = reader.array().ok_or(RedError::TruncatedHeader)?;
            redundant_len += usize::from(u16::from_be_bytes([high, low])) % LEN_END;
            headers_len += REDUNDANT_HEADER_LEN;
        };
        let redundant = reader.take(redundant_len).ok_or(RedError::TruncatedBlock)?;
        Ok(Self {
            headers: &payload[..headers_len],
            redundant,
            primary: RedBlock {
                payload_type: primary_type,
                timestamp_offset: 0,
                payload: reader.rest(),
            },
        })
    }

    /// The frame of the packet's own timestamp.
    pub const fn primary(&self) -> RedBlock<'a> {
        self.primary
    }

    /// The earlier frames, in the sender's order: usually the oldest first.
    pub fn redundant(&self) -> impl Iterator<Item = RedBlock<'a>> + use<'a> {
        let mut blocks = Reader::new(self.redundant);
        let (headers, _) = self.headers.as_chunks::<REDUNDANT_HEADER_LEN>();
        headers.iter().filter_map(move |&[first, a, b, c]| {
            let len = usize::from(u16::from_be_bytes([b, c])) % LEN_END;
            Some(RedBlock {
                payload_type: PayloadType::from_header_byte(first),
                timestamp_offset: u16::from_be_bytes([a, b]) >> 2,
                payload: blocks.take(len)?,
            })
        })
    }
}

/// Bytes that [`write()`] fills.
pub fn encoded_len(redundant: &[RedBlock<'_>], primary: &[u8]) -> usize {
    let blocks = redundant.iter().map(|block| REDUNDANT_HEADER_LEN + block.payload.len());
    blocks.sum::<usize>() + 1 + primary.len()
}

/// Writes a redundant payload to the front of `out` and returns its length: `redundant` in the
/// given order, then the primary frame.
///
/// Errors: [`RedWriteError`], with nothing written.
pub fn write(
    redundant: &[RedBlock<'_>],
    (primary_type, primary): (PayloadType, &[u8]),
    out: &mut [u8],
) -> Result<usize, RedWriteError> {
    for block in redundant {
        if block.timestamp_offset >= OFFSET_END {
            return Err(RedWriteError::TooOld);
        }
        if block.payload.len() >= LEN_END {
            return Err(RedWriteError::TooLong);
        }
    }
    let len = encoded_len(redundant, primary);
    let out = out.get_mut(..len).ok_or(RedWriteError::BufferTooShort)?;
    let (headers, mut rest) = out.split_at_mut(redundant.len() * REDUNDANT_HEADER_LEN + 1);
    let (each, last) = headers.as_chunks_mut::<REDUNDANT_HEADER_LEN>();
    for (header, block) in each.iter_mut().zip(redundant) {
        let offset_and_len = u32::from(block.timestamp_offset) << 10 | block.payload.len() as u32;
        *header = (0x8000_0000 | u32::from(block.payload_type.get()) << 24 | offset_and_len).to_be_bytes();
    }
    last[0] = primary_type.get();
    for payload in redundant.iter().map(|block| block.payload).chain([primary]) {
        let (place, behind) = rest.split_at_mut(payload.len());
        place.copy_from_slice(payload);
        rest = behind;
    }
    Ok(len)
}

#[cfg(test)]
mod tests;
