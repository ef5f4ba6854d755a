//! One cipher under one session key, whichever the profile names.
//!
//! This is where another implementation is put in: a variant here, a file beside `gcm` and `cm`.

use dataplane::SrtpProfile;

use super::cm::Cm;
use super::gcm::Gcm;
use super::kdf::SessionKeys;
use super::packet::{PacketId, RtcpWord};

/// Seals and opens packets in place, given their identity; knows nothing of streams, order or replay.
///
/// Sealing panics when `packet` has no room for the trailer: a bug of the caller's, who owns the buffer. Opening returns
/// `None` when the packet is too short or does not authenticate, and its bytes are then unspecified.
///
/// Keys lie where they are used, so that no packet has to look for them.
pub(super) enum Cipher {
    Gcm(Gcm),
    Cm(Cm),
}

impl Cipher {
    pub(super) fn new(profile: SrtpProfile, keys: &SessionKeys) -> Self {
        match profile {
            SrtpProfile::AeadAes128Gcm => Self::Gcm(Gcm::new(16, keys)),
            SrtpProfile::AeadAes256Gcm => Self::Gcm(Gcm::new(32, keys)),
            SrtpProfile::AesCm128HmacSha1_80 => Self::Cm(Cm::new(keys)),
        }
    }

    /// Encrypts `packet[header_len..len]` and writes the tag behind it; the length of the whole.
    #[inline]
    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        match self {
            Self::Gcm(gcm) => gcm.seal_rtp(id, packet, len, header_len),
            Self::Cm(cm) => cm.seal_rtp(id, packet, len, header_len),
        }
    }

    /// Verifies all of `packet` and decrypts it from `header_len` on; the length without the tag.
    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        match self {
            Self::Gcm(gcm) => gcm.open_rtp(id, packet, header_len),
            Self::Cm(cm) => cm.open_rtp(id, packet, header_len),
        }
    }

    /// Encrypts a compound RTCP packet but for its first eight bytes, and writes index and tag behind it.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        match self {
            Self::Gcm(gcm) => gcm.seal_rtcp(ssrc, index, packet, len),
            Self::Cm(cm) => cm.seal_rtcp(ssrc, index, packet, len),
        }
    }

    /// Verifies `packet` and, where its word says so, decrypts it; the length without index and tag.
    pub(super) fn open_rtcp(&self, ssrc: u32, packet: &mut [u8]) -> Option<usize> {
        match self {
            Self::Gcm(gcm) => gcm.open_rtcp(ssrc, packet),
            Self::Cm(cm) => cm.open_rtcp(ssrc, packet),
        }
    }

    /// The index word of an SRTCP packet, not yet authenticated; `None` when the packet is too short to have one.
    pub(super) fn rtcp_word(&self, packet: &[u8]) -> Option<RtcpWord> {
        match self {
            Self::Gcm(_) => Gcm::rtcp_word(packet),
            Self::Cm(_) => Cm::rtcp_word(packet),
        }
    }
}
