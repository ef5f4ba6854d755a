//! Which addresses media may be sent to.
//!
//! A party names an address, and the other party chooses what is sent there. So an address that
//! only this machine reaches must not be one of them, nor a socket of this program that trusts its
//! sender. Ports of other calls are: a call may pass through the relay twice.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

/// The addresses that media may be sent to.
#[derive(Clone, Debug, Default)]
pub struct Destinations {
    /// Loopback and link-local addresses that parties may have. Without any of these, only a party
    /// at an interface with such an address may have one.
    pub accepted: Vec<RangeInclusive<IpAddr>>,
    /// Sockets of this program that are none of a call's: control, HTTP, media of rooms, TURN.
    pub services: Vec<SocketAddr>,
    /// The addresses of this machine.
    pub machine: Machine,
}

/// The addresses of this machine, which may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its own, and the public ones that a NAT translates to them.
    pub addresses: Vec<IpAddr>,
    /// Those that reach all hosts of a network.
    pub broadcasts: Vec<IpAddr>,
}

impl Destinations {
    /// Whether media from this address of ours may be sent there. An unspecified address is none,
    /// which a description may state.
    pub(crate) fn permit(&self, from: IpAddr, to: SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        if ip.is_unspecified() {
            return true;
        }
        std::iter::once(ip)
            .chain(embedded(ip).into_iter().flatten().map(IpAddr::V4))
            .all(|ip| self.permit_kind(from, ip) && !self.is_service(SocketAddr::new(ip, to.port())))
    }

    /// The same of an address without a port.
    pub(crate) fn permit_kind(&self, from: IpAddr, to: IpAddr) -> bool {
        let (from, to) = (from.to_canonical(), to.to_canonical());
        let is_accepted = || self.accepted.iter().any(|range| range.contains(&to));
        match Kind::of(to) {
            Kind::Unicast => !self.machine.broadcasts.contains(&to),
            Kind::Nobody => false,
            local => Kind::of(from) == local || is_accepted(),
        }
    }

    /// Whether it is a socket of this program that is none of a call's.
    pub(crate) fn is_service(&self, at: SocketAddr) -> bool {
        let ip = at.ip().to_canonical();
        let is_it = |service: &SocketAddr| service.ip().to_canonical() == ip || self.machine.has(ip);
        let mut services = self.services.iter();
        services.any(|service| at.port() != 0 && service.port() == at.port() && is_it(service))
    }
}

impl Machine {
    /// Whether it has this address.
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.addresses.contains(&ip)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One host, as far as the address tells.
    Unicast,
    Loopback,
    LinkLocal,
    /// Several hosts or none.
    Nobody,
}

impl Kind {
    fn of(ip: IpAddr) -> Self {
        match ip {
            _ if ip.is_loopback() => Kind::Loopback,
            _ if ip.is_multicast() || ip.is_unspecified() => Kind::Nobody,
            IpAddr::V4(v4) if v4.is_broadcast() || v4.octets()[0] == 0 => Kind::Nobody,
            IpAddr::V4(v4) if v4.is_link_local() => Kind::LinkLocal,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Kind::LinkLocal,
            _ => Kind::Unicast,
        }
    }
}

/// The IPv4 addresses that packets to an IPv6 address may be translated or tunnelled to.
///
/// Source: RFC 4291 section 2.5.5 (compatible), RFC 2765 section 2.1 (translated), RFC 6052 section
/// 2.2 and RFC 8215 (NAT64), RFC 3056 section 2 (6to4), RFC 4380 section 4 (Teredo), RFC 5214
/// section 6.1 (ISATAP).
fn embedded(ip: IpAddr) -> [Option<Ipv4Addr>; 3] {
    let IpAddr::V6(v6) = ip else { return [None; 3] };
    let octets = v6.octets();
    let at = |places: [usize; 4]| Some(Ipv4Addr::from(places.map(|place| octets[place])));
    let last = at([12, 13, 14, 15]);
    match v6.segments() {
        _ if v6 == Ipv6Addr::LOCALHOST => [None; 3],
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => [last, None, None],
        // The operator's prefix may have 48, 56, 64 or 96 bits.
        [0x64, 0xff9b, 1, ..] => [last, at([6, 7, 9, 10]), at([9, 10, 11, 12])],
        [0x2002, ..] => [at([2, 3, 4, 5]), None, None],
        [0x2001, 0, ..] => [
            at([4, 5, 6, 7]),
            last.map(|client| Ipv4Addr::from(!client.to_bits())),
            None,
        ],
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => [last, None, None],
        _ => [None; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn destinations() -> Destinations {
        Destinations {
            services: vec![at("127.0.0.1:2223"), at("0.0.0.0:7882"), at("[::]:3478")],
            machine: Machine {
                addresses: vec![
                    at("192.0.2.1:0").ip(),
                    at("203.0.113.1:0").ip(),
                    at("[2001:db8::1]:0").ip(),
                ],
                broadcasts: vec![at("192.0.2.255:0").ip()],
            },
            ..Destinations::default()
        }
    }

    #[test]
    fn addresses_of_nobody_else_are_refused_in_every_form() {
        let outside = at("192.0.2.1:0").ip();
        for refused in [
            "127.0.0.1:5000",
            "127.9.9.9:5000",
            "[::1]:5000",
            "[::ffff:127.0.0.1]:5000",
            "[::127.0.0.1]:5000",
            "[::ffff:0:127.0.0.1]:5000",
            "[64:ff9b::127.0.0.1]:5000",
            "[64:ff9b:1::127.0.0.1]:5000",
            "[64:ff9b:1:7f00:0:100::]:5000",
            "[2002:7f00:1::1]:5000",
            "[2001::80ff:fffe]:5000",
            "[2001:db8:9::5efe:127.0.0.1]:5000",
            "[2001:db8:9::200:5efe:127.0.0.1]:5000",
            "[::ffff:0.0.0.1]:5000",
            "[64:ff9b::]:5000",
            "0.0.0.1:5000",
            "169.254.169.254:80",
            "[fe80::1]:5000",
            "[::ffff:169.254.1.1]:5000",
            "224.0.0.1:5000",
            "239.1.2.3:5000",
            "[ff02::1]:5000",
            "255.255.255.255:5000",
            "192.0.2.255:5000",
        ] {
            assert!(!destinations().permit(outside, at(refused)), "{refused}");
        }
        for permitted in [
            "192.0.2.7:5000",
            "192.0.2.1:5000",
            "10.0.0.1:2223",
            "192.168.0.1:7882",
            "100.64.0.1:5000",
            "[2001:db8::7]:5000",
            "[64:ff9b::192.0.2.7]:5000",
            "[2002:c000:207::1]:5000",
            "0.0.0.0:5000",
            "[::]:5000",
            "[::ffff:0.0.0.0]:5000",
        ] {
            assert!(destinations().permit(outside, at(permitted)), "{permitted}");
        }
    }

    #[test]
    fn a_party_at_a_loopback_interface_is_on_loopback_too() {
        let mut destinations = destinations();
        let loopback = at("127.0.0.1:0").ip();
        assert!(destinations.permit(loopback, at("127.0.0.9:5000")));
        assert!(destinations.permit(loopback, at("192.0.2.7:5000")));
        assert!(!destinations.permit(loopback, at("169.254.1.1:5000")));
        assert!(destinations.permit(at("169.254.7.7:0").ip(), at("169.254.1.1:5000")));
        destinations.accepted = vec![loopback..=at("127.0.0.255:0").ip()];
        let outside = at("192.0.2.1:0").ip();
        assert!(destinations.permit(outside, at("127.0.0.9:5000")));
        assert!(!destinations.permit(outside, at("127.0.1.1:5000")));
    }

    #[test]
    fn sockets_of_the_program_are_refused_at_every_address_of_the_machine() {
        let mut destinations = destinations();
        destinations.accepted = vec![at("127.0.0.0:0").ip()..=at("127.255.255.255:0").ip()];
        for from in ["127.0.0.1:0", "192.0.2.1:0"] {
            for refused in [
                "127.0.0.1:2223",
                "127.0.0.7:2223",
                "192.0.2.1:2223",
                "203.0.113.1:7882",
                "[2001:db8::1]:3478",
                "[::ffff:192.0.2.1]:7882",
                "[64:ff9b::192.0.2.1]:7882",
            ] {
                assert!(!destinations.permit(at(from).ip(), at(refused)), "{refused}");
            }
            assert!(destinations.permit(at(from).ip(), at("127.0.0.1:2224")));
        }
    }
}
