//! The sending half of a leg's SRTP.

use std::mem::offset_of;
use std::ops::Range;

use dataplane::MasterKey;

use super::cipher::Cipher;
use super::kdf::Protocol;
use super::packet::{PacketId, RTCP_CLEAR, RTCP_INDEX_END, RTP_HEADER_MIN, RTP_INDEX_END, u16_at, u32_at};

/// Every SRTCP index of this key was used: the leg sends no more RTCP until a new handshake gives
/// it new keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Protects what one leg sends, in place.
///
/// RTP indexes are the caller's, who knows what was sent under which number (see
/// [`StreamIndexes`](super::StreamIndexes)). SRTCP indexes are counted here, one counter for the
/// leg whatever the SSRC, so that no two RTCP packets share one.
pub struct Sealer {
    rtp: Cipher,
    rtcp: Cipher,
    next_rtcp_index: u32,
}

impl Sealer {
    /// Which of its bytes RTP packets are sealed with.
    pub(crate) const RTP: Range<usize> = offset_of!(Self, rtp)..offset_of!(Self, rtp) + size_of::<Cipher>();

    /// A sealer for fresh keys.
    pub fn new(master: &MasterKey) -> Self {
        Self::resume(master, 0)
    }

    /// A sealer for keys that were in use before, from the first SRTCP index that nobody can have
    /// used.
    pub fn resume(master: &MasterKey, next_rtcp_index: u32) -> Self {
        Self {
            rtp: Cipher::new(master, Protocol::Rtp),
            rtcp: Cipher::new(master, Protocol::Rtcp),
            next_rtcp_index,
        }
    }

    /// The SRTCP index of the next packet: what a snapshot of the leg must remember.
    pub fn next_rtcp_index(&self) -> u32 {
        self.next_rtcp_index
    }

    /// Encrypts the RTP packet in `packet[..len]` and writes its tag behind it; returns the length
    /// of the whole.
    ///
    /// `header_len` counts fixed header, CSRCs and header extension, which stay in clear. The
    /// caller vouches that `index` was not used before under this SSRC, unless for the same bytes.
    ///
    /// Shape: `index` is the rollover counter times 65,536 plus the packet's own sequence number.
    ///
    /// Panics when `packet` lacks [`rtp_overhead`](super::rtp_overhead) bytes of room, when the
    /// lengths contradict each other, or when `index` does not fit 48 bits: the caller built this
    /// packet.
    pub fn seal_rtp(&mut self, packet: &mut [u8], len: usize, header_len: usize, index: u64) -> usize {
        assert!(
            RTP_HEADER_MIN <= header_len && header_len <= len,
            "an RTP packet starts with its header"
        );
        assert!(index < RTP_INDEX_END, "an index has 48 bits");
        debug_assert_eq!(index as u16, u16_at(packet, 2), "an index ends in the sequence number");
        let id = PacketId {
            ssrc: u32_at(packet, 8),
            index,
        };
        self.rtp.seal_rtp(id, packet, len, header_len)
    }

    /// Encrypts the compound RTCP packet in `packet[..len]` and writes index and tag behind it;
    /// returns the length of the whole.
    ///
    /// Panics when `packet` lacks [`rtcp_overhead`](super::rtcp_overhead) bytes of room or `len` is
    /// less than an RTCP header and an SSRC.
    ///
    /// Errors: [`Exhausted`] after 2^31 packets; the packet is untouched.
    pub fn seal_rtcp(&mut self, packet: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        assert!(RTCP_CLEAR <= len, "an RTCP packet starts with a header and an SSRC");
        if self.next_rtcp_index >= RTCP_INDEX_END {
            return Err(Exhausted);
        }
        let index = self.next_rtcp_index;
        self.next_rtcp_index += 1;
        Ok(self.rtcp.seal_rtcp(u32_at(packet, 4), index, packet, len))
    }
}
