//! The protocols of datagrams on a shared port.

use crate::Ssrc;

/// The protocol of a datagram, judged by its first two bytes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Connectivity checks and consent.
    Stun,
    /// Handshakes, alerts and data channels.
    Dtls,
    /// TURN channel data, which reaches only TURN servers and clients.
    TurnChannel,
    /// Media, protected or not.
    Rtp,
    /// Reports and feedback, protected or not.
    Rtcp,
    /// No protocol of this switch, ZRTP and QUIC included.
    Unknown,
}

/// Tells the protocols on a shared port apart.
///
/// The result names the parser to use; that parser still checks the rest. A lone byte in the RTP
/// range is `Unknown`, since only the second byte tells RTP from RTCP.
///
/// Source: RFC 7983 section 7; RFC 5761 section 4.
pub fn classify(datagram: &[u8]) -> PacketKind {
    match *datagram {
        [0..=3, ..] => PacketKind::Stun,
        [20..=63, ..] => PacketKind::Dtls,
        [64..=79, ..] => PacketKind::TurnChannel,
        [128..=191, 192..=223, ..] => PacketKind::Rtcp,
        [128..=191, _, ..] => PacketKind::Rtp,
        _ => PacketKind::Unknown,
    }
}

/// The SSRC that a datagram is from, readable also where it is protected: of an RTP packet, or of
/// the sender of an RTCP packet. `None` for other protocols, and where it is cut off.
///
/// Source: RFC 3550 sections 5.1 and 6.4; RFC 4585 section 6.1.
pub fn ssrc(datagram: &[u8]) -> Option<Ssrc> {
    let at = match classify(datagram) {
        PacketKind::Rtp => 8,
        PacketKind::Rtcp => 4,
        _ => return None,
    };
    let bytes = datagram.get(at..)?.first_chunk()?;
    Some(Ssrc(u32::from_be_bytes(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_fall_into_the_ranges_of_rfc_7983() {
        let expected = |first: u8| match first {
            0..=3 => PacketKind::Stun,
            20..=63 => PacketKind::Dtls,
            64..=79 => PacketKind::TurnChannel,
            128..=191 => PacketKind::Rtp,
            _ => PacketKind::Unknown,
        };
        for first in 0..=255 {
            assert_eq!(classify(&[first, 96]), expected(first), "first byte {first}");
        }
    }

    #[test]
    fn second_bytes_192_to_223_are_rtcp() {
        for second in 0..=255u8 {
            let expected = if (192..=223).contains(&second) {
                PacketKind::Rtcp
            } else {
                PacketKind::Rtp
            };
            assert_eq!(classify(&[0x80, second]), expected, "second byte {second}");
        }
    }

    #[test]
    fn media_and_rtcp_have_an_ssrc_and_nothing_else_has() {
        let rtp = [0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        assert_eq!(ssrc(&rtp), Some(Ssrc(3)));
        assert_eq!(ssrc(&rtp[..11]), None);
        let rtcp = [0x80, 201, 0, 1, 0, 0, 0, 2];
        assert_eq!(ssrc(&rtcp), Some(Ssrc(2)));
        assert_eq!(ssrc(&rtcp[..7]), None);
        assert_eq!(ssrc(&[0; 20]), None, "STUN");
        assert_eq!(ssrc(&[22; 20]), None, "DTLS");
    }

    #[test]
    fn too_short_to_tell_is_unknown() {
        assert_eq!(classify(&[]), PacketKind::Unknown);
        assert_eq!(classify(&[0x80]), PacketKind::Unknown);
    }
}
