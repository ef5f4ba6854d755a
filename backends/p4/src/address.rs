//! Addresses as the switch has them: 128 bits, IPv4 as `::ffff:a.b.c.d`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// An address as a value of 128 bits.
pub(crate) fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_ipv6_mapped()),
        IpAddr::V6(ip) => u128::from(ip),
    }
}

/// The address and the port of such values.
pub(crate) fn from_pair(ip: u128, port: u128) -> SocketAddr {
    SocketAddr::new(Ipv6Addr::from(ip).to_canonical(), port as u16)
}

/// An address and a port as two values of a key.
pub(crate) fn pair(at: SocketAddr) -> [u128; 2] {
    [bits(at.ip()), u128::from(at.port())]
}

/// The four values by which packets from one address to another are found.
pub(crate) fn way(from: SocketAddr, to: SocketAddr) -> Vec<u128> {
    [pair(from), pair(to)].concat()
}

/// Whether an address is of one machine, wherever it is named.
pub(crate) fn is_one_machines(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast() && !ip.is_loopback(),
        IpAddr::V6(ip) => {
            let is_special = ip.is_unspecified() || ip.is_multicast() || ip.is_loopback();
            !is_special && !ip.is_unicast_link_local() && ip.to_ipv4_mapped().is_none()
        }
    }
}

/// A hardware address.
///
/// Shape: six bytes in text form, in hexadecimal and separated by colons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

/// A text is not a hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMac;

impl std::fmt::Display for NotMac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a hardware address is six bytes in hexadecimal with colons between them, as in 02:00:00:00:00:01")
    }
}

impl std::error::Error for NotMac {}

impl Mac {
    pub(crate) fn bits(self) -> u128 {
        self.0.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }
}

impl std::str::FromStr for Mac {
    type Err = NotMac;

    fn from_str(text: &str) -> Result<Self, NotMac> {
        let bytes = text.split(':').map(|byte| match byte.len() {
            1 | 2 => u8::from_str_radix(byte, 16).map_err(|_| NotMac),
            _ => Err(NotMac),
        });
        let bytes: Vec<u8> = bytes.collect::<Result<_, _>>()?;
        bytes.try_into().map(Mac).map_err(|_| NotMac)
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hardware_address_has_six_bytes() {
        let mac: Mac = "02:00:00:a:0b:ff".parse().unwrap();
        assert_eq!(mac, Mac([2, 0, 0, 10, 11, 255]));
        assert_eq!(mac.to_string(), "02:00:00:0a:0b:ff");
        assert_eq!(mac.bits(), 0x0200_000a_0bff);
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:00:01",
            "2:0:0:0:0:g",
            "020000000001",
            "002:0:0:0:0:1",
        ] {
            assert_eq!(wrong.parse::<Mac>(), Err(NotMac), "{wrong}");
        }
    }

    #[test]
    fn addresses_have_128_bits() {
        let v4: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(bits(v4), 0xffff_0a00_0001);
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(bits(v6), 0x2001_0db8 << 96 | 1);
        for ip in [v4, v6] {
            assert_eq!(from_pair(bits(ip), 9), SocketAddr::new(ip, 9));
        }
    }
}
