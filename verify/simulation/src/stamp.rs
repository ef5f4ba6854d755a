//! The stamp at the end of every simulated media packet, which names its source.
//!
//! A data plane may not change payload bytes after the codec's descriptor, so the stamp arrives
//! unchanged, and each sent packet identifies its source and its original number.

use wire::Codec;

/// The stamp's length in bytes.
const LEN: usize = 26;

const MAGIC: [u8; 4] = *b"weir";

/// Codecs of simulated clients.
const CODECS: [Codec; 3] = [Codec::Opus, Codec::Vp8, Codec::H264];

/// The origin of a media packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Which source, of all in the history.
    pub(crate) source: u32,
    /// Which encoding of it.
    pub(crate) encoding: u8,
    /// Its codec, one of [`CODECS`].
    pub(crate) codec: Codec,
    /// Whether a key frame starts with it.
    pub(crate) starts_key_frame: bool,
    /// The frame it belongs to, counted from 0.
    pub(crate) frame: u32,
    /// The packet's number, without wrapping.
    pub(crate) number: u64,
    /// The timestamp it was sent with.
    pub(crate) timestamp: u32,
}

impl Stamp {
    pub(crate) fn write(&self, payload: &mut Vec<u8>) {
        payload.extend(MAGIC);
        payload.extend(self.source.to_be_bytes());
        let codec = CODECS
            .iter()
            .position(|codec| *codec == self.codec)
            .expect("clients have no others");
        payload.extend([self.encoding, u8::from(self.starts_key_frame) | (codec as u8) << 1]);
        payload.extend(self.frame.to_be_bytes());
        payload.extend(self.number.to_be_bytes());
        payload.extend(self.timestamp.to_be_bytes());
    }

    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let at = payload.len().checked_sub(LEN)?;
        let bytes = payload[at..].strip_prefix(&MAGIC)?;
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Some(Self {
            source: word(0),
            encoding: bytes[4],
            codec: *CODECS.get(usize::from(bytes[5] >> 1))?,
            starts_key_frame: bytes[5] & 1 != 0,
            frame: word(6),
            number: u64::from(word(10)) << 32 | u64::from(word(14)),
            timestamp: word(18),
        })
    }
}
