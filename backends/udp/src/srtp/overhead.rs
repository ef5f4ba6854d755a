//! How much room protection takes.

use dataplane::SrtpProfile;

/// The most bytes that sealing adds to an RTP packet.
pub const RTP_OVERHEAD_MAX: usize = 16;

/// Bytes that sealing adds to an RTP packet: the authentication tag.
pub const fn rtp_overhead(profile: SrtpProfile) -> usize {
    match profile {
        SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm => RTP_OVERHEAD_MAX,
        SrtpProfile::AesCm128HmacSha1_80 => 10,
    }
}

/// Bytes that sealing adds to an RTCP packet: the authentication tag, and the word that carries the SRTCP index.
pub const fn rtcp_overhead(profile: SrtpProfile) -> usize {
    rtp_overhead(profile) + 4
}
