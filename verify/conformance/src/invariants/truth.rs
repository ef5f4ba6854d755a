//! The true layers of a packet, in a part of the payload that no device reads.

use super::sources::TAG_LEN;

/// Prefix of tags of payloads that end in a truth.
pub const LAYERED: u64 = 0x7a68 << 48;

/// A packet's frame and its references. Frames are numbered within their stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Its frame.
    pub frame: u32,
    /// The frames without which it cannot be decoded.
    pub referred: Vec<u32>,
    /// The spatial layer of its frame.
    pub spatial: u8,
}

impl Truth {
    /// The bytes in front of the tag.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.referred.iter().flat_map(|frame| frame.to_be_bytes()).collect();
        bytes.push(self.referred.len() as u8);
        bytes.push(self.spatial);
        bytes.extend(self.frame.to_be_bytes());
        bytes
    }

    /// The truth in a payload; `None` if its tag has another prefix.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let (rest, tag) = payload.split_last_chunk::<TAG_LEN>()?;
        if u64::from_be_bytes(*tag) >> 48 != LAYERED >> 48 {
            return None;
        }
        let (rest, frame) = rest.split_last_chunk::<4>()?;
        let (rest, [count, spatial]) = rest.split_last_chunk::<2>()?;
        let referred = rest.get(rest.len().checked_sub(4 * usize::from(*count))?..)?;
        let (referred, _) = referred.as_chunks::<4>();
        Some(Truth {
            frame: u32::from_be_bytes(*frame),
            referred: referred.iter().map(|frame| u32::from_be_bytes(*frame)).collect(),
            spatial: *spatial,
        })
    }
}
