//! Frames, written out and read: by other code than the program's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dataplane::Path;

/// RFC 863.
const DISCARD: u16 = 9;

/// The type of service or traffic class of datagrams that arrive: copies have none.
const TOS: u8 = 0xb8;

/// The TTL or hop limit of copies, as of datagrams that the base sends.
const TTL: u8 = 64;

/// Ethernet, IPv4 or IPv6, and UDP around a datagram that arrives.
pub(crate) fn arriving(to: [u8; 6], from: [u8; 6], path: Path, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (path.remote, path.local);
    let udp = udp(source, destination, payload);
    let mut bytes = [to, from].concat();
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [high, low] = (20 + udp.len() as u16).to_be_bytes();
            let mut header = vec![0x45, TOS, high, low, 0, 7, 0x40, 0, 57, 17, 0, 0];
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = checksum(&[&header]);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            bytes.extend([0x08, 0x00]);
            bytes.extend(header);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let [high, low] = (udp.len() as u16).to_be_bytes();
            // A flow label as well.
            bytes.extend([0x86, 0xdd, 0x60 | TOS >> 4, TOS << 4 | 1, 2, 3, high, low]);
            bytes.extend([17, 57]);
            bytes.extend(source.octets());
            bytes.extend(destination.octets());
        }
        _ => panic!("one family"),
    }
    bytes.extend(udp);
    bytes
}

fn udp(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let ports = [source.port().to_be_bytes(), destination.port().to_be_bytes()].concat();
    let mut udp = [&ports[..], &len.to_be_bytes(), &[0, 0], payload].concat();
    let sum = match checksum(&[&pseudo_header(source.ip(), destination.ip(), len), &udp]) {
        0 => 0xffff,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    udp
}

/// The datagram in a sent frame, and its addresses; `None` for a frame that holds no datagram.
///
/// Panics where lengths or checksums are wrong, because no receiver would take it, and where TTL or
/// type of service are not those of the base.
pub(crate) fn left(frame: &[u8]) -> Option<([u8; 6], Path, Vec<u8>)> {
    let to: [u8; 6] = *frame.first_chunk()?;
    let (source, destination, udp): (IpAddr, IpAddr, &[u8]) = match frame.get(12..14)? {
        [0x08, 0x00] => {
            let ip = &frame[14..];
            if ip[9] != 17 {
                return None;
            }
            let len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            assert_eq!(ip[0], 0x45);
            assert_eq!(checksum(&[&ip[..20]]), 0, "the IP header's checksum");
            let address = |at: usize| Ipv4Addr::from(*ip[at..].first_chunk::<4>().expect("a whole header"));
            (address(12).into(), address(16).into(), &ip[20..len])
        }
        [0x86, 0xdd] => {
            let ip = &frame[14..];
            if ip[6] != 17 {
                return None;
            }
            let len = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
            let address = |at: usize| Ipv6Addr::from(*ip[at..].first_chunk::<16>().expect("a whole header"));
            (address(8).into(), address(24).into(), &ip[40..40 + len])
        }
        _ => return None,
    };
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    if port(2) == DISCARD {
        // Such datagrams only make the kernel resolve its neighbours.
        return None;
    }
    let ip = &frame[14..];
    match source {
        IpAddr::V4(_) => assert_eq!((ip[1], ip[8]), (0, TTL), "type of service, and TTL"),
        IpAddr::V6(_) => assert_eq!((&ip[..4], ip[7]), (&[0x60, 0, 0, 0][..], TTL), "class, flow, hop limit"),
    }
    assert_eq!(usize::from(port(4)), udp.len(), "the length");
    let pseudo = pseudo_header(source, destination, udp.len() as u16);
    assert_eq!(checksum(&[&pseudo, udp]), 0, "the checksum");
    let path = Path {
        local: SocketAddr::new(source, port(0)),
        remote: SocketAddr::new(destination, port(2)),
    };
    Some((to, path, udp[8..].to_vec()))
}

fn pseudo_header(source: IpAddr, destination: IpAddr, len: u16) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let rest = [&[0, 17][..], &len.to_be_bytes()].concat();
    [octets(source), octets(destination), rest].concat()
}

/// Of the internet (RFC 1071).
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for word in part.chunks(2) {
            sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
