//! One cipher under one session key, whichever the profile names.
//!
//! This is where another implementation is put in: a variant here, a file beside `gcm` and
//! `encrypt_then_mac`.

use dataplane::{MasterKey, SrtpProfile};

use super::encrypt_then_mac::EncryptThenMac;
use super::gcm::Gcm;
use super::kdf::{Protocol, SessionKeys};
use super::overhead::RTP_OVERHEAD_MAX;
use super::packet::{PacketId, RtcpWord};

/// Protects and unprotects packets in place by their identity, without state of streams, order or
/// replay.
///
/// Sealing panics when `packet` has no room for the trailer, which is a bug of the caller that owns
/// the buffer. Opening returns `None` when the packet is too short or does not authenticate, and
/// its bytes are then unspecified.
///
/// Keys are stored inline, so that no packet has to look them up.
pub(super) enum Cipher {
    Gcm(Gcm),
    EncryptThenMac(EncryptThenMac),
}

impl Cipher {
    pub(super) fn new(master: &MasterKey, protocol: Protocol) -> Self {
        let (profile, keys) = (master.profile(), SessionKeys::derive(master, protocol));
        match profile {
            SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm => Self::Gcm(Gcm::new(profile.key_len(), &keys)),
            _ => Self::EncryptThenMac(EncryptThenMac::new(&keys, master, protocol)),
        }
    }

    /// Encrypts `packet[header_len..len]` and appends the tag; returns the length of the whole.
    #[inline]
    pub(super) fn seal_rtp(&self, id: PacketId, packet: &mut [u8], len: usize, header_len: usize) -> usize {
        match self {
            Self::Gcm(gcm) => gcm.seal_rtp(id, packet, len, header_len),
            Self::EncryptThenMac(other) => other.seal_rtp(id, packet, len, header_len),
        }
    }

    /// Verifies all of `packet` and decrypts it from `header_len` on; the length without the tag.
    pub(super) fn open_rtp(&self, id: PacketId, packet: &mut [u8], header_len: usize) -> Option<usize> {
        match self {
            Self::Gcm(gcm) => gcm.open_rtp(id, packet, header_len),
            Self::EncryptThenMac(other) => other.open_rtp(id, packet, header_len),
        }
    }

    /// Encrypts a compound RTCP packet except its first eight bytes, and appends index and tag.
    pub(super) fn seal_rtcp(&self, ssrc: u32, index: u32, packet: &mut [u8], len: usize) -> usize {
        match self {
            Self::Gcm(gcm) => gcm.seal_rtcp(ssrc, index, packet, len),
            Self::EncryptThenMac(other) => other.seal_rtcp(ssrc, index, packet, len),
        }
    }

    /// Verifies `packet` and, if its index word says so, decrypts it; returns the length without
    /// index and tag.
    pub(super) fn open_rtcp(&self, ssrc: u32, packet: &mut [u8]) -> Option<usize> {
        match self {
            Self::Gcm(gcm) => gcm.open_rtcp(ssrc, packet),
            Self::EncryptThenMac(other) => other.open_rtcp(ssrc, packet),
        }
    }

    /// The index word of an SRTCP packet, not yet authenticated; `None` when the packet is too
    /// short to have one.
    pub(super) fn rtcp_word(&self, packet: &[u8]) -> Option<RtcpWord> {
        match self {
            Self::Gcm(_) => Gcm::rtcp_word(packet),
            Self::EncryptThenMac(_) => EncryptThenMac::rtcp_word(packet),
        }
    }

    /// Bytes of tag at the very end of a packet, behind a master key identifier. That of AEAD
    /// stands before the identifier.
    pub(super) fn tag_behind_mki(&self) -> usize {
        match self {
            Self::Gcm(_) => 0,
            Self::EncryptThenMac(other) => other.tag_len(),
        }
    }

    /// The fewest bytes that protection adds to an RTP packet.
    pub(super) fn rtp_tag_len(&self) -> usize {
        match self {
            Self::Gcm(_) => RTP_OVERHEAD_MAX,
            Self::EncryptThenMac(other) => other.tag_len(),
        }
    }
}
