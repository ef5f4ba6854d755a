//! A phone's frame, sent every 20 ms: G.711 in RTP in UDP in IPv4 in Ethernet, 214 bytes.

use std::net::{Ipv4Addr, SocketAddrV4};

use harness::Stamp;

/// Bytes of RTP: a header and 160 samples.
pub const RTP_LEN: usize = 172;
/// Bytes of a frame, without the additions of the cable.
pub const FRAME_LEN: usize = RTP + RTP_LEN;
/// Samples in a packet, a byte each.
const SAMPLES: u32 = 160;

const IP: usize = 14;
const UDP: usize = IP + 20;
const RTP: usize = UDP + 8;
const PAYLOAD: usize = RTP + 12;

/// An address of Ethernet.
pub type Mac = [u8; 6];

/// One phone's packets; each is made from the previous one.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    bytes: [u8; FRAME_LEN],
}

impl Frame {
    /// From a phone to the address that it was told.
    pub(crate) fn new(macs: [Mac; 2], from: SocketAddrV4, to: SocketAddrV4, source: u32) -> Self {
        let mut bytes = [0xd5; FRAME_LEN];
        bytes[..6].copy_from_slice(&macs[1]);
        bytes[6..12].copy_from_slice(&macs[0]);
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        // RFC 791: version 4, five words, no fragments, 64 hops, UDP.
        bytes[IP..IP + 2].copy_from_slice(&[0x45, 0xb8]);
        put(&mut bytes, IP + 2, (FRAME_LEN - IP) as u16);
        bytes[IP + 4..IP + 12].copy_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
        bytes[IP + 12..IP + 16].copy_from_slice(&from.ip().octets());
        bytes[IP + 16..IP + 20].copy_from_slice(&to.ip().octets());
        let header = !sum(&bytes[IP..UDP], 0);
        put(&mut bytes, IP + 10, header);
        put(&mut bytes, UDP, from.port());
        put(&mut bytes, UDP + 2, to.port());
        put(&mut bytes, UDP + 4, (FRAME_LEN - UDP) as u16);
        // RFC 3550: version 2, payload type 0 (G.711 mu-law).
        bytes[RTP..RTP + 2].copy_from_slice(&[0x80, 0]);
        bytes[RTP + 8..RTP + 12].copy_from_slice(&ssrc(source).to_be_bytes());
        Self { bytes }
    }

    /// The packet of this stamp, with the checksum that a phone's network card would have filled
    /// in.
    pub(crate) fn stamped(&mut self, stamp: Stamp) -> &[u8] {
        let number = stamp.number as u32;
        put(&mut self.bytes, RTP + 2, number as u16);
        let timestamp = number.wrapping_mul(SAMPLES);
        self.bytes[RTP + 4..RTP + 8].copy_from_slice(&timestamp.to_be_bytes());
        stamp.write(&mut self.bytes[PAYLOAD..]);
        put(&mut self.bytes, UDP + 6, 0);
        let checksum = !udp_sum(&self.bytes);
        // Zero would mean that there is none (RFC 768).
        put(&mut self.bytes, UDP + 6, if checksum == 0 { 0xffff } else { checksum });
        &self.bytes
    }
}

/// A packet as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The sender's address.
    pub from: SocketAddrV4,
    /// The address of the receiver.
    pub to: SocketAddrV4,
    /// The sender's stamp.
    pub stamp: Stamp,
}

impl Arrived {
    /// Reads a frame; `None` when it is none of a phone's, or not as it was sent.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let frame: &[u8; FRAME_LEN] = frame.try_into().ok()?;
        if frame[12..14] != [0x08, 0x00] || frame[IP] != 0x45 || frame[IP + 9] != 17 {
            return None;
        }
        let address = |at: usize, port: usize| {
            let ip: [u8; 4] = frame[at..at + 4].try_into().expect("four bytes");
            SocketAddrV4::new(Ipv4Addr::from(ip), get(frame, port))
        };
        let stamp = Stamp::read(&frame[PAYLOAD..])?;
        let rtp = &frame[RTP..PAYLOAD];
        let intact = rtp[..2] == [0x80, 0]
            && rtp[8..] == ssrc(stamp.source).to_be_bytes()
            && get(frame, RTP + 2) == stamp.number as u16;
        intact.then(|| Self {
            from: address(IP + 12, UDP),
            to: address(IP + 16, UDP + 2),
            stamp,
        })
    }
}

/// No two sources have the same.
fn ssrc(source: u32) -> u32 {
    0x7e1e_0000 ^ source
}

fn put(bytes: &mut [u8; FRAME_LEN], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn get(bytes: &[u8; FRAME_LEN], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The sum of UDP's checksum: header, payload, and addresses, protocol and length before them (RFC
/// 768).
fn udp_sum(frame: &[u8; FRAME_LEN]) -> u16 {
    let before = sum(&frame[IP + 12..UDP], 17 + (FRAME_LEN - UDP) as u32);
    sum(&frame[UDP..], before.into())
}

/// The sum of 16-bit words with end-around carry (RFC 1071), for an even number of bytes.
fn sum(bytes: &[u8], before: u32) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum::<u32>() + before;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 2, 10), 10_000);
    const TO: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 2, 1), 30_000);

    fn stamp(number: u64) -> Stamp {
        Stamp {
            source: 3,
            number,
            sent_ns: 1_234_567_890_123_456_789,
        }
    }

    #[test]
    fn sent_frames_are_read_with_valid_checksums() {
        let mut frame = Frame::new([[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]], FROM, TO, 3);
        for number in [0, 1, 65_535, 65_536, 1_000_000] {
            let bytes: [u8; FRAME_LEN] = frame.stamped(stamp(number)).try_into().expect("a frame");
            let expected = Arrived {
                from: FROM,
                to: TO,
                stamp: stamp(number),
            };
            assert_eq!(Arrived::read(&bytes), Some(expected));
            assert_eq!((sum(&bytes[IP..UDP], 0), udp_sum(&bytes)), (0xffff, 0xffff));
        }
    }

    #[test]
    fn changed_frames_are_not_read() {
        let mut frame = Frame::new([[2; 6]; 2], FROM, TO, 3);
        let bytes = frame.stamped(stamp(7)).to_vec();
        for at in [12, IP, IP + 9, RTP, RTP + 1, RTP + 3, RTP + 8, PAYLOAD, PAYLOAD + 7] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(Arrived::read(&changed), None, "byte {at}");
        }
        assert_eq!(Arrived::read(&bytes[..FRAME_LEN - 1]), None);
    }
}
