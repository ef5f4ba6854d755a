//! The client of a request: the peer itself, or the address a trusted proxy names.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};

use crate::config::Network;

/// Headers that proxies add.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDING: [HeaderName; 5] = [
    FORWARDED_FOR,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
    header::FORWARDED,
    header::VIA,
];

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// Its address, as far as it is known.
    pub address: IpAddr,
    /// Whether the connection is the client's own, with no proxy between.
    pub is_direct: bool,
}

impl Client {
    /// The client of a request from `peer`. Forwarding headers are trusted only from `proxies`.
    pub(crate) fn of(peer: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> Self {
        let peer = peer.to_canonical();
        let is_forwarded = FORWARDING.iter().any(|name| headers.contains_key(name));
        if !is_trusted(peer, proxies) {
            return Client {
                address: peer,
                is_direct: !is_forwarded,
            };
        }
        let named = named(headers, proxies);
        Client {
            address: named.unwrap_or(peer),
            is_direct: false,
        }
    }

    /// Whether it runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.is_direct && self.address.is_loopback()
    }
}

/// Whether this address is a trusted proxy's.
pub(crate) fn is_trusted(peer: IpAddr, proxies: &[Network]) -> bool {
    let peer = peer.to_canonical();
    proxies.iter().any(|network| network.contains(peer))
}

/// The client that trusted proxies name. If the two headers differ, one of them is not the proxy's,
/// and it is unknown which.
fn named(headers: &HeaderMap, proxies: &[Network]) -> Option<IpAddr> {
    let texts = |name: &HeaderName| {
        let values = headers.get_all(name).into_iter();
        values.map(|value| value.to_str().unwrap_or("?")).collect::<Vec<_>>()
    };
    let (plain, tagged) = (texts(&FORWARDED_FOR), texts(&header::FORWARDED));
    let plain_hops = plain.iter().flat_map(|text| text.split(',')).map(hop);
    let tagged_hops = tagged.iter().flat_map(|text| text.split(',')).map(tagged_hop);
    match (plain.is_empty(), tagged.is_empty()) {
        (_, true) => nearest_stranger(plain_hops, proxies),
        (true, _) => nearest_stranger(tagged_hops, proxies),
        _ => {
            let found = nearest_stranger(plain_hops, proxies);
            found.filter(|address| nearest_stranger(tagged_hops, proxies) == Some(*address))
        }
    }
}

/// The last hop that is not a trusted proxy: the hops before it are unverified. `None` once a hop
/// cannot be parsed.
fn nearest_stranger(hops: impl DoubleEndedIterator<Item = Option<IpAddr>>, proxies: &[Network]) -> Option<IpAddr> {
    let mut last = None;
    for hop in hops.rev() {
        let address = hop?;
        if !is_trusted(address, proxies) {
            return Some(address);
        }
        last = Some(address);
    }
    last
}

/// One element of `X-Forwarded-For`: an address, some proxies add the port.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse().ok();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    address.or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// One element of `Forwarded`: pairs, of which `for` names the client (RFC 7239).
fn tagged_hop(text: &str) -> Option<IpAddr> {
    let mut pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    hop(value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(peer: &str, headers: &[(HeaderName, &str)]) -> Client {
        let proxies: Vec<Network> = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"]
            .map(|text| text.parse().unwrap())
            .into();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        Client::of(peer.parse().unwrap(), &map, &proxies)
    }

    fn forwarded(address: &str) -> Client {
        Client {
            address: address.parse().unwrap(),
            is_direct: false,
        }
    }

    #[test]
    fn strangers_are_not_believed() {
        let spoofed = client("192.0.2.1", &[(FORWARDED_FOR, "127.0.0.1")]);
        assert_eq!(spoofed, forwarded("192.0.2.1"));
        let plain = client("192.0.2.1", &[]);
        assert!(plain.is_direct && !plain.is_local());
        assert!(client("::1", &[]).is_local() && client("::ffff:127.0.0.2", &[]).is_local());
        assert!(!client("::1", &[(FORWARDED_FOR, "::1")]).is_local(), "somebody's proxy");
    }

    #[test]
    fn the_last_hop_that_is_no_proxy_is_the_client() {
        for (value, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("127.0.0.1, 192.0.2.7", "192.0.2.7"),
            ("1.2.3.4, 192.0.2.7, 10.1.2.3", "192.0.2.7"),
            ("192.0.2.7:4711", "192.0.2.7"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("10.9.9.9", "10.9.9.9"),
            ("192.0.2.7, unknown", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(
                client("10.0.0.1", &[(FORWARDED_FOR, value)]),
                forwarded(expected),
                "{value}"
            );
        }
        let twice = [(FORWARDED_FOR, "1.2.3.4"), (FORWARDED_FOR, "192.0.2.7")];
        assert_eq!(client("10.0.0.1", &twice), forwarded("192.0.2.7"));
    }

    #[test]
    fn the_standard_header_has_the_same_effect() {
        for (value, expected) in [
            ("for=192.0.2.7;proto=https;by=10.0.0.1", "192.0.2.7"),
            ("for=1.2.3.4, For=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("for=_hidden", "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
        ] {
            let headers = [(header::FORWARDED, value)];
            assert_eq!(client("10.0.0.1", &headers), forwarded(expected), "{value}");
        }
        let agree = [(header::FORWARDED, "for=192.0.2.7"), (FORWARDED_FOR, "192.0.2.7")];
        assert_eq!(client("10.0.0.1", &agree), forwarded("192.0.2.7"));
        let differ = [(header::FORWARDED, "for=192.0.2.7"), (FORWARDED_FOR, "1.2.3.4")];
        assert_eq!(
            client("10.0.0.1", &differ),
            forwarded("10.0.0.1"),
            "one of them is the client's"
        );
    }

    #[test]
    fn a_client_behind_a_proxy_on_this_machine_is_not_local() {
        for headers in [&[][..], &[(FORWARDED_FOR, "127.0.0.1")]] {
            assert!(!client("127.0.0.1", headers).is_local());
        }
    }
}
