//! Ethernet frames as the switch sends them to its controller.

use etherparse::{LaxSlicedPacket, TransportSlice};

/// The payload of a UDP datagram in a frame. The frame may be cut short at its end.
pub(crate) fn udp_payload(frame: &[u8]) -> Option<&[u8]> {
    match LaxSlicedPacket::from_ethernet(frame).ok()?.transport? {
        TransportSlice::Udp(udp) => Some(udp.payload()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    #[test]
    fn a_payload_is_found_behind_its_headers_and_never_beyond_the_frame() {
        let ethernet = || PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let payload = [1, 2, 3, 4];
        let (mut v4, mut v6, mut tcp) = (Vec::new(), Vec::new(), Vec::new());
        let ip = || ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        ip().udp(1, 2).write(&mut v4, &payload).unwrap();
        ethernet()
            .ipv6([1; 16], [2; 16], 64)
            .udp(1, 2)
            .write(&mut v6, &payload)
            .unwrap();
        ip().tcp(1, 2, 3, 4).write(&mut tcp, &payload).unwrap();
        assert_eq!(udp_payload(&tcp), None);
        for mut frame in [v4, v6] {
            for cut in 0..frame.len() {
                assert!(udp_payload(&frame[..cut]).is_none_or(|found| payload.starts_with(found)));
            }
            frame.extend([0; 6]);
            assert_eq!(udp_payload(&frame), Some(&payload[..]), "a short frame is padded");
        }
    }
}
