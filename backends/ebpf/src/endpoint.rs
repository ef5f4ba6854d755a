//! Addresses as programs have them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::layout::relay::Endpoint;

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        let octets = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let (words, _) = octets.as_chunks();
        Endpoint {
            address: std::array::from_fn(|word| u32::from_ne_bytes(words[word])),
            port: address.port().to_be(),
            zero: 0,
        }
    }
}

impl From<Endpoint> for SocketAddr {
    fn from(endpoint: Endpoint) -> Self {
        let mut octets = [0; 16];
        let (words, _) = octets.as_chunks_mut();
        for (to, word) in words.iter_mut().zip(endpoint.address) {
            *to = word.to_ne_bytes();
        }
        SocketAddr::new(Ipv6Addr::from(octets).to_canonical(), u16::from_be(endpoint.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_it_was() {
        for text in ["10.77.0.1:5004", "[fd77::1]:5004", "255.255.255.255:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(SocketAddr::from(Endpoint::from(address)), address);
        }
    }
}
