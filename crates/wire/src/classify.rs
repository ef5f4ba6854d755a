//! The protocols of datagrams on a shared port.

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
    fn too_short_to_tell_is_unknown() {
        assert_eq!(classify(&[]), PacketKind::Unknown);
        assert_eq!(classify(&[0x80]), PacketKind::Unknown);
    }
}
