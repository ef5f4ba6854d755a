//! Frames, written and parsed by code independent of the code under test.

use std::net::{IpAddr, SocketAddr};

/// Ethernet, IPv4 or IPv6, UDP. Source and destination are of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Hardware address it goes to.
    pub to: [u8; 6],
    /// Source hardware address.
    pub from: [u8; 6],
    /// Source address and port.
    pub source: SocketAddr,
    /// Address and port it goes to.
    pub destination: SocketAddr,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Without a checksum of UDP.
    pub unchecked: bool,
    /// Of UDP.
    pub payload: Vec<u8>,
}

/// Offset of the IP header.
pub const IP: usize = 14;

impl Frame {
    /// A plain one between two hardware addresses that are nobody's.
    pub fn new(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Self {
        Frame {
            to: [2, 0, 0, 0, 0, 8],
            from: [2, 0, 0, 0, 0, 9],
            source,
            destination,
            tos: 0,
            ttl: 64,
            unchecked: false,
            payload: payload.to_vec(),
        }
    }

    /// The bytes on the wire.
    ///
    /// Panics when its addresses are of two families.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.to, self.from].concat();
        let udp = self.udp();
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes.extend([0x08, 0x00]);
                let len = (20 + udp.len()) as u16;
                let mut header = vec![
                    0x45,
                    self.tos,
                    (len >> 8) as u8,
                    len as u8,
                    0,
                    7,
                    0x40,
                    0,
                    self.ttl,
                    17,
                    0,
                    0,
                ];
                header.extend(source.octets());
                header.extend(destination.octets());
                let sum = checksum(&[&header]);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                bytes.extend(header);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                bytes.extend([0x86, 0xdd]);
                bytes.extend([0x60 | self.tos >> 4, self.tos << 4, 0, 0]);
                bytes.extend((udp.len() as u16).to_be_bytes());
                bytes.extend([17, self.ttl]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
            }
            _ => panic!("one family"),
        }
        bytes.extend(udp);
        bytes
    }

    /// Reads a frame with a plain IP header; `None` for any other. Checksums are not looked at.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (ip, v4) = (bytes.get(IP..)?, bytes.get(12..14)? == [0x08, 0x00]);
        let (tos, ttl, len, udp) = match v4 {
            true => (
                *ip.get(1)?,
                ip[8],
                usize::from(u16::from_be_bytes([ip[2], ip[3]])),
                ip.get(20..)?,
            ),
            false => (
                ip.first()? << 4 | ip.get(1)? >> 4,
                *ip.get(7)?,
                40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
                ip.get(40..)?,
            ),
        };
        let address = |at: usize| -> Option<IpAddr> {
            Some(match v4 {
                true => IpAddr::from(<[u8; 4]>::try_from(ip.get(12 + 4 * at..16 + 4 * at)?).ok()?),
                false => IpAddr::from(<[u8; 16]>::try_from(ip.get(8 + 16 * at..24 + 16 * at)?).ok()?),
            })
        };
        let port = |at: usize| Some(u16::from_be_bytes([*udp.get(2 * at)?, *udp.get(2 * at + 1)?]));
        Some(Frame {
            to: bytes[..6].try_into().ok()?,
            from: bytes[6..12].try_into().ok()?,
            source: SocketAddr::new(address(0)?, port(0)?),
            destination: SocketAddr::new(address(1)?, port(1)?),
            tos,
            ttl,
            unchecked: udp.get(6..8)? == [0, 0],
            payload: ip.get(ip.len() - udp.len() + 8..len)?.to_vec(),
        })
    }

    fn udp(&self) -> Vec<u8> {
        let len = (8 + self.payload.len()) as u16;
        let ports = [self.source.port().to_be_bytes(), self.destination.port().to_be_bytes()].concat();
        let mut udp = [&ports[..], &len.to_be_bytes(), &[0, 0], &self.payload].concat();
        if !self.unchecked {
            let sum = match checksum(&[&self.pseudo_header(), &udp]) {
                0 => 0xffff,
                sum => sum,
            };
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
        }
        udp
    }

    /// Sum of the pseudo-header of UDP's checksum.
    pub fn pseudo_header(&self) -> Vec<u8> {
        let octets = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let len = (8 + self.payload.len()) as u16;
        let rest = [&[0, 17][..], &len.to_be_bytes()].concat();
        [octets(self.source), octets(self.destination), rest].concat()
    }

    /// Offset of the UDP header.
    pub fn udp_at(&self) -> usize {
        IP + if self.source.is_ipv4() { 20 } else { 40 }
    }
}

/// The internet's checksum (RFC 1071) over parts of even length, but for the last.
pub fn checksum(parts: &[&[u8]]) -> u16 {
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
