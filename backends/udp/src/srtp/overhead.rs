//! How much room protection takes.

use dataplane::SrtpProfile;

/// The most bytes that sealing adds to an RTP packet.
pub const RTP_OVERHEAD_MAX: usize = 16;

/// Bytes that sealing adds to an RTP packet: the authentication tag.
pub const fn rtp_overhead(profile: SrtpProfile) -> usize {
    profile.rtp_tag_len()
}

/// Bytes that sealing adds to an RTCP packet: the authentication tag, and the word that carries the
/// SRTCP index.
pub const fn rtcp_overhead(profile: SrtpProfile) -> usize {
    profile.rtcp_tag_len() + 4
}
