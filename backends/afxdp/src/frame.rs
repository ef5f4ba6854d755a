//! Ethernet, IP and UDP headers around a datagram: read from received frames, written in front of
//! sent payloads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dataplane::Path;

use crate::hop::Hop;
use crate::sys::Checksum;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL_UDP: u8 = 17;
const HOPS_MAX: u8 = 64;

/// The addresses and the payload of a frame the XDP program let through; `None` for any other.
///
/// Checksums are not looked at: the link has one of its own, SRTP authenticates what is inside, and
/// between interfaces of one machine they are not even filled in.
pub(crate) fn read(frame: &[u8]) -> Option<(Path, &[u8])> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
    let (remote, local, datagram): (IpAddr, IpAddr, &[u8]) = match [ethernet[12], ethernet[13]] {
        TYPE_IPV4 => {
            let (header, _) = packet.split_first_chunk::<IPV4>()?;
            if header[0] != 0x45 || header[9] != PROTOCOL_UDP {
                return None;
            }
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let address = |at: usize| Ipv4Addr::from(*header[at..].first_chunk::<4>().expect("inside of the header"));
            (address(12).into(), address(16).into(), packet.get(IPV4..total)?)
        }
        TYPE_IPV6 => {
            let (header, behind) = packet.split_first_chunk::<IPV6>()?;
            if header[0] >> 4 != 6 || header[6] != PROTOCOL_UDP {
                return None;
            }
            let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let address = |at: usize| Ipv6Addr::from(*header[at..].first_chunk::<16>().expect("inside of the header"));
            (address(8).into(), address(24).into(), behind.get(..len)?)
        }
        _ => return None,
    };
    let (udp, _) = datagram.split_first_chunk::<UDP>()?;
    let number = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    let path = Path {
        local: SocketAddr::new(local, number(2)),
        remote: SocketAddr::new(remote, number(0)),
    };
    Some((path, datagram.get(UDP..usize::from(number(4)))?))
}

/// The headers in front of every datagram of one path over one hop, complete but for lengths and
/// checksums. The parts of the checksums that never change are summed in advance.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    bytes: [u8; ETHERNET + IPV6 + UDP],
    len: usize,
    /// The IPv4 header's sum without the length.
    ip_sum: u64,
    /// The sum of the pseudo header without the length.
    pseudo_sum: u64,
    /// The sum of the ports.
    ports_sum: u64,
    /// Bytes of payload that fit.
    payload_max: usize,
    /// Which interface, by its place in the configuration.
    pub(crate) interface: usize,
}

impl Header {
    /// `None` when the addresses are not of one family.
    pub(crate) fn new(path: &Path, hop: &Hop) -> Option<Self> {
        let mut bytes = [0; ETHERNET + IPV6 + UDP];
        bytes[..6].copy_from_slice(&hop.to.0);
        bytes[6..12].copy_from_slice(&hop.from.0);
        let (ip, behind, addresses) = match (path.local.ip(), path.remote.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[12..14].copy_from_slice(&TYPE_IPV4);
                let ip = &mut bytes[ETHERNET..][..IPV4];
                // Version and length of the header; not to be fragmented, so that it needs no
                // identification (RFC 6864).
                (ip[0], ip[6], ip[8], ip[9]) = (0x45, 0x40, HOPS_MAX, PROTOCOL_UDP);
                ip[12..16].copy_from_slice(&from.octets());
                ip[16..20].copy_from_slice(&to.octets());
                (sum(ip), ETHERNET + IPV4, sum(&ip[12..]))
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                bytes[12..14].copy_from_slice(&TYPE_IPV6);
                let ip = &mut bytes[ETHERNET..][..IPV6];
                (ip[0], ip[6], ip[7]) = (0x60, PROTOCOL_UDP, HOPS_MAX);
                ip[8..24].copy_from_slice(&from.octets());
                ip[24..40].copy_from_slice(&to.octets());
                (0, ETHERNET + IPV6, sum(&ip[8..]))
            }
            _ => return None,
        };
        let udp = &mut bytes[behind..][..UDP];
        udp[..2].copy_from_slice(&path.local.port().to_be_bytes());
        udp[2..4].copy_from_slice(&path.remote.port().to_be_bytes());
        let ports = sum(&udp[..4]);
        Some(Header {
            bytes,
            len: behind + UDP,
            ip_sum: ip,
            pseudo_sum: addresses + word([0, PROTOCOL_UDP]),
            ports_sum: ports,
            payload_max: (hop.mtu + ETHERNET).saturating_sub(behind + UDP),
            interface: hop.interface,
        })
    }

    /// The longest datagram that this hop takes in one piece, in bytes of payload.
    pub(crate) fn payload_max(&self) -> usize {
        self.payload_max
    }

    /// The offset of the UDP header.
    pub(crate) fn udp_at(&self) -> u16 {
        (self.len - UDP) as u16
    }

    /// Writes the frame around a payload that fits, with these differentiated services; returns its
    /// length.
    ///
    /// Panics when there is no room.
    pub(crate) fn write(&self, payload: &[u8], tos: u8, frame: &mut [u8], checksum: Checksum) -> usize {
        let (header, rest) = frame.split_at_mut(self.len);
        header.copy_from_slice(&self.bytes[..self.len]);
        let udp_len = ((UDP + payload.len()) as u16).to_be_bytes();
        if self.len == ETHERNET + IPV4 + UDP {
            let total = ((IPV4 + UDP + payload.len()) as u16).to_be_bytes();
            header[ETHERNET + 1] = tos;
            header[ETHERNET + 2..][..2].copy_from_slice(&total);
            let check = finish(self.ip_sum + word([0, tos]) + word(total));
            header[ETHERNET + 10..][..2].copy_from_slice(&check);
        } else {
            header[ETHERNET] |= tos >> 4;
            header[ETHERNET + 1] = tos << 4;
            header[ETHERNET + 4..][..2].copy_from_slice(&udp_len);
        }
        let body = &mut rest[..payload.len()];
        body.copy_from_slice(payload);
        let check = match checksum {
            Checksum::Kernels => fold(self.pseudo_sum + word(udp_len)).to_ne_bytes(),
            // The length counts twice: in the pseudo header and in the header.
            Checksum::Ours => match finish(self.pseudo_sum + self.ports_sum + 2 * word(udp_len) + long_sum(payload)) {
                // A checksum of zero would mean that there is none (RFC 768).
                [0, 0] => [0xff, 0xff],
                check => check,
            },
        };
        let udp = &mut header[self.len - UDP..];
        udp[4..6].copy_from_slice(&udp_len);
        udp[6..8].copy_from_slice(&check);
        self.len + payload.len()
    }
}

/// Two bytes as a word of the sum. Ones' complement sums have the same result in either byte order,
/// if all words have the same (RFC 1071).
fn word(bytes: [u8; 2]) -> u64 {
    u64::from(u16::from_ne_bytes(bytes))
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |last| word([*last, 0]));
    words.iter().map(|two| word(*two)).sum::<u64>() + last
}

/// The same for many bytes: several words at a time side by side, which compilers make vectors of.
fn long_sum(bytes: &[u8]) -> u64 {
    const BLOCK: usize = 64;
    let mut lanes = [0_u64; BLOCK / 4];
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        for (lane, four) in lanes.iter_mut().zip(block.as_chunks::<4>().0) {
            *lane += u64::from(u32::from_ne_bytes(*four));
        }
    }
    lanes.iter().sum::<u64>() + sum(rest)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn finish(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Mac;

    fn hop() -> Hop {
        Hop {
            interface: 0,
            from: Mac([2, 0, 0, 0, 0, 1]),
            to: Mac([2, 0, 0, 0, 0, 2]),
            mtu: 1_500,
        }
    }

    fn paths() -> [Path; 2] {
        [
            ("192.0.2.1:7882", "198.51.100.7:50000"),
            ("[2001:db8::1]:7882", "[2001:db8::2]:50000"),
        ]
        .map(|(local, remote)| Path {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
        })
    }

    /// The sum of RFC 1071, computed in its plainest form.
    fn slow_sum(parts: &[&[u8]]) -> u16 {
        let bytes = parts.concat();
        let words = bytes
            .chunks(2)
            .map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    fn assert_checksums(frame: &[u8]) {
        let udp_len = |at: usize| [0, 0, frame[at], frame[at + 1]];
        if frame[12..14] == TYPE_IPV4 {
            assert_eq!(slow_sum(&[&frame[14..34]]), 0xffff, "the header's own");
            assert_eq!(
                slow_sum(&[&frame[26..34], &[0, 17], &udp_len(38), &frame[34..]]),
                0xffff
            );
        } else {
            assert_eq!(
                slow_sum(&[&frame[22..54], &[0, 17], &udp_len(58), &frame[54..]]),
                0xffff
            );
        }
    }

    #[test]
    fn a_written_frame_reads_with_its_path_reversed() {
        for path in paths() {
            let header = Header::new(&path, &hop()).unwrap();
            for len in (0..200).chain(1_400..header.payload_max()) {
                let payload: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
                let mut frame = [0xee; 2_048];
                let total = header.write(&payload, 0, &mut frame, Checksum::Ours);
                assert_checksums(&frame[..total]);
                let (read, bytes) = read(&frame[..total]).unwrap();
                assert_eq!((read.local, read.remote), (path.remote, path.local));
                assert_eq!(bytes, payload);
            }
        }
    }

    #[test]
    fn differentiated_services_are_written_in_both_families() {
        for path in paths() {
            let header = Header::new(&path, &hop()).unwrap();
            for tos in [0, 0x08, 0xb8, 0xff] {
                let mut frame = [0xee; 2_048];
                let total = header.write(b"marked", tos, &mut frame, Checksum::Ours);
                assert_checksums(&frame[..total]);
                let ip = u16::from_be_bytes([frame[14], frame[15]]);
                let (version, marked) = match path.local.is_ipv4() {
                    true => (ip >> 8, ip as u8),
                    false => (ip >> 12, (ip >> 4) as u8),
                };
                assert_eq!((version, marked), (if path.local.is_ipv4() { 0x45 } else { 6 }, tos));
                assert_eq!(read(&frame[..total]).unwrap().1, b"marked");
            }
        }
    }

    /// The kernel sums from the UDP header on and puts the result in place of what is there.
    #[test]
    fn the_kernel_completes_the_sum_that_was_begun() {
        for path in paths() {
            let header = Header::new(&path, &hop()).unwrap();
            let (mut ours, mut kernels) = ([0; 2_048], [0; 2_048]);
            let payload: Vec<u8> = (0..601).map(|at| (at * 31) as u8).collect();
            let len = header.write(&payload, 0, &mut ours, Checksum::Ours);
            header.write(&payload, 0, &mut kernels, Checksum::Kernels);
            let udp = usize::from(header.udp_at());
            let rest = !slow_sum(&[&kernels[udp..len]]);
            kernels[udp + 6..][..2].copy_from_slice(&rest.to_be_bytes());
            assert_eq!(kernels[..len], ours[..len]);
        }
    }

    #[test]
    fn a_sum_of_zero_is_written_as_its_other_form() {
        let path = &paths()[0];
        let header = Header::new(path, &hop()).unwrap();
        let mut frame = [0; 2_048];
        header.write(&[0, 0], 0, &mut frame, Checksum::Ours);
        // A payload that makes the rest of the sum all ones gives a checksum of zero.
        let total = header.write(&[frame[40], frame[41]], 0, &mut frame.clone(), Checksum::Ours);
        let payload = [frame[40], frame[41]];
        header.write(&payload, 0, &mut frame, Checksum::Ours);
        assert_eq!(frame[40..42], [0xff, 0xff]);
        assert_checksums(&frame[..total]);
    }

    #[test]
    fn the_link_limits_the_length_of_a_payload() {
        let [v4, v6] = paths().map(|path| Header::new(&path, &hop()).unwrap().payload_max());
        assert_eq!((v4, v6), (1_472, 1_452));
    }

    #[test]
    fn frames_are_read_without_padding_and_never_past_their_end() {
        for path in paths() {
            let header = Header::new(&path, &hop()).unwrap();
            let mut frame = [0; 2_048];
            let total = header.write(b"short", 0, &mut frame, Checksum::Ours);
            assert_eq!(read(&frame[..total + 13]).unwrap().1, b"short");
            for end in 0..total {
                assert!(read(&frame[..end]).is_none(), "cut at {end}");
            }
            for at in 0..total {
                for bit in 0..8 {
                    let mut broken = frame[..total].to_vec();
                    broken[at] ^= 1 << bit;
                    // The result does not matter; the read must stay within the frame.
                    let _ = read(&broken);
                }
            }
        }
    }

    #[test]
    fn families_do_not_mix() {
        let [v4, v6] = paths();
        let mixed = Path {
            local: v4.local,
            remote: v6.remote,
        };
        assert!(Header::new(&mixed, &hop()).is_none());
    }
}
