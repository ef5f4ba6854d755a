//! Addresses as holders of slots.

use std::net::{IpAddr, Ipv6Addr};

/// The part of an IPv6 address that one subscriber chooses freely.
const SUBSCRIBER_BITS: u32 = 64;

/// The addresses that share their slots: an IPv4 address alone, or the IPv6 addresses of one
/// subscriber, as the first of them.
pub fn address_block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> SUBSCRIBER_BITS << SUBSCRIBER_BITS).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_is_one_ipv4_address_or_64_bits_of_ipv6() {
        let block = |address: &str| address_block(address.parse().unwrap());
        assert_eq!(block("2001:db8::1"), block("2001:db8::2:3:4:5"));
        assert_ne!(block("2001:db8::1"), block("2001:db8:0:1::1"));
        assert_eq!(block("192.0.2.1"), block("::ffff:192.0.2.1"));
        assert_ne!(block("192.0.2.1"), block("192.0.2.2"));
    }
}
