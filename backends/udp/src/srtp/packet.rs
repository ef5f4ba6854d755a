//! The few fields of a packet that its protection depends on.

/// Bytes of a fixed RTP header: before that many there is no SSRC to read.
pub(super) const RTP_HEADER_MIN: usize = 12;
/// Bytes at the start of an SRTCP packet that are always in clear: one RTCP header and the sender's
/// SSRC.
pub(super) const RTCP_CLEAR: usize = 8;
/// RTP indexes are numbers below this: a 32-bit rollover counter and a 16-bit sequence number.
pub(super) const RTP_INDEX_END: u64 = 1 << 48;
/// SRTCP indexes are numbers below this.
pub(super) const RTCP_INDEX_END: u32 = 1 << 31;

/// The SSRC and index that make a packet's keystream unique under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketId {
    pub(super) ssrc: u32,
    /// The 48-bit RTP index, or the 31-bit SRTCP index.
    pub(super) index: u64,
}

impl PacketId {
    /// The upper 32 bits of an RTP index.
    pub(super) fn rollovers(self) -> u32 {
        (self.index >> 16) as u32
    }
}

/// The word that ends or nearly ends an SRTCP packet.
///
/// Shape: big-endian; the top bit says that the packet is encrypted, the other 31 are the index.
/// Source: RFC 3711 section 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RtcpWord(pub(super) [u8; 4]);

impl RtcpWord {
    /// The word of an encrypted packet.
    pub(super) fn encrypted_with(index: u32) -> Self {
        Self((index | RTCP_INDEX_END).to_be_bytes())
    }

    /// The word of a packet that the two ends agreed not to encrypt.
    pub(super) fn clear_with(index: u32) -> Self {
        Self(index.to_be_bytes())
    }

    pub(super) fn is_encrypted(self) -> bool {
        u32::from_be_bytes(self.0) & RTCP_INDEX_END != 0
    }

    pub(super) fn index(self) -> u32 {
        u32::from_be_bytes(self.0) & !RTCP_INDEX_END
    }
}

/// The big-endian 32-bit number at `offset`, which the caller knows to be inside.
pub(super) fn u32_at(packet: &[u8], offset: usize) -> u32 {
    u32::from_be_bytes([
        packet[offset],
        packet[offset + 1],
        packet[offset + 2],
        packet[offset + 3],
    ])
}

/// The big-endian 16-bit number at `offset`, which the caller knows to be inside.
pub(super) fn u16_at(packet: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([packet[offset], packet[offset + 1]])
}
