//! Frames, written out: by other code than the program's.

use std::net::{IpAddr, SocketAddr};

/// Ethernet, IPv4 or IPv6, UDP.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) to: [u8; 6],
    pub(super) from: [u8; 6],
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) tos: u8,
    pub(super) ttl: u8,
    /// Without a checksum of UDP.
    pub(super) unchecked: bool,
    pub(super) payload: Vec<u8>,
}

/// Where IP begins.
pub(super) const IP: usize = 14;

impl Frame {
    pub(super) fn new(source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> Self {
        Frame {
            to: super::OURS,
            from: super::NEIGHBOUR,
            source,
            destination,
            tos: 0,
            ttl: 64,
            unchecked: false,
            payload: payload.to_vec(),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
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

    /// What UDP's checksum covers beside UDP.
    pub(super) fn pseudo_header(&self) -> Vec<u8> {
        let octets = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let len = (8 + self.payload.len()) as u16;
        let rest = [&[0, 17][..], &len.to_be_bytes()].concat();
        [octets(self.source), octets(self.destination), rest].concat()
    }

    /// Where UDP begins.
    pub(super) fn udp_at(&self) -> usize {
        IP + if self.source.is_ipv4() { 20 } else { 40 }
    }
}

/// Of the internet (RFC 1071).
pub(super) fn checksum(parts: &[&[u8]]) -> u16 {
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
