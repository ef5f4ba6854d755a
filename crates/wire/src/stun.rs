//! Parses just enough STUN to find the agent of a connectivity check or of its answer, before any
//! allocation for it, and asks STUN servers for this machine's address.
//!
//! Nothing here is authenticated: the result only selects the agent that verifies
//! MESSAGE-INTEGRITY.
//!
//! Source: RFC 8489 sections 5 and 14; RFC 8445 section 7.2.2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::bytes::Reader;

const BINDING_REQUEST: u16 = 0x0001;
const BINDING_SUCCESS: u16 = 0x0101;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const MAGIC_COOKIE: u32 = 0x2112_a442;
const USERNAME: u16 = 0x0006;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const TRANSACTION_ID_LEN: usize = 12;

/// Whether a datagram is a STUN binding request, judged by its header only.
pub fn is_binding_request(datagram: &[u8]) -> bool {
    request_attributes(datagram).is_some()
}

/// The two halves of a binding request's USERNAME: our user fragment, then the peer's.
///
/// Errors: `None` when the datagram is not a binding request, or has no USERNAME before its
/// MESSAGE-INTEGRITY, or one that is not two user fragments joined by a colon.
pub fn username(datagram: &[u8]) -> Option<(&str, &str)> {
    let mut attributes = request_attributes(datagram)?;
    loop {
        let kind = attributes.u16()?;
        let len = usize::from(attributes.u16()?);
        let value = attributes.take(len)?;
        match kind {
            USERNAME => return split_username(value),
            // Attributes after it are not covered by it, so they are not read.
            MESSAGE_INTEGRITY => return None,
            _ => attributes.take(len.next_multiple_of(4) - len)?,
        };
    }
}

/// A success response to a binding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingSuccess<'a> {
    /// The transaction id of the request.
    pub id: [u8; TRANSACTION_ID_LEN],
    /// The bytes in front of MESSAGE-INTEGRITY, which it covers with a length of its own.
    pub covered: &'a [u8],
    /// The value of MESSAGE-INTEGRITY.
    pub integrity: [u8; 20],
}

/// A success response to a binding request, as far as an agent needs it that only wants to know
/// whether its request arrived. FFmpeg's has no XOR-MAPPED-ADDRESS.
///
/// Errors: `None` when the datagram is no such response, or has no MESSAGE-INTEGRITY.
pub fn binding_success(datagram: &[u8]) -> Option<BindingSuccess<'_>> {
    let (kind, id, mut attributes) = message(datagram)?;
    if kind != BINDING_SUCCESS {
        return None;
    }
    loop {
        let start = datagram.len() - attributes.len();
        let kind = attributes.u16()?;
        let len = usize::from(attributes.u16()?);
        let value = attributes.take(len)?;
        if kind == MESSAGE_INTEGRITY {
            return Some(BindingSuccess {
                id: id.try_into().ok()?,
                covered: &datagram[..start],
                integrity: value.try_into().ok()?,
            });
        }
        attributes.take(len.next_multiple_of(4) - len)?;
    }
}

/// A binding request without attributes: it asks a STUN server for the address it comes from.
pub fn binding_request(id: &[u8; TRANSACTION_ID_LEN]) -> [u8; 20] {
    let mut request = [0; 20];
    request[..2].copy_from_slice(&BINDING_REQUEST.to_be_bytes());
    request[4..8].copy_from_slice(&MAGIC_COOKIE.to_be_bytes());
    request[8..].copy_from_slice(id);
    request
}

/// The address that a server's answer to such a request names.
///
/// Errors: `None` when the datagram is no success response to the request with this id, or names no
/// address.
pub fn mapped_address(datagram: &[u8], id: &[u8; TRANSACTION_ID_LEN]) -> Option<SocketAddr> {
    let (kind, found, mut attributes) = message(datagram)?;
    if kind != BINDING_SUCCESS || found != id {
        return None;
    }
    loop {
        let kind = attributes.u16()?;
        let len = usize::from(attributes.u16()?);
        let value = attributes.take(len)?;
        match kind {
            XOR_MAPPED_ADDRESS => return xored_address(value, id),
            _ => attributes.take(len.next_multiple_of(4) - len)?,
        };
    }
}

/// The address in an attribute's value that is combined with the cookie and the transaction id (RFC
/// 8489 section 14.2).
///
/// Errors: `None` when the value is malformed.
pub fn xored_address(value: &[u8], id: &[u8; TRANSACTION_ID_LEN]) -> Option<SocketAddr> {
    let mut reader = Reader::new(value);
    let [_, family] = reader.array()?;
    let port = reader.u16()? ^ (MAGIC_COOKIE >> 16) as u16;
    let ip: IpAddr = match family {
        IPV4 => Ipv4Addr::from_bits(reader.u32()? ^ MAGIC_COOKIE).into(),
        IPV6 => {
            let mut mask = [0; 16];
            mask[..4].copy_from_slice(&MAGIC_COOKIE.to_be_bytes());
            mask[4..].copy_from_slice(id);
            let bits = u128::from_be_bytes(reader.array()?) ^ u128::from_be_bytes(mask);
            Ipv6Addr::from_bits(bits).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The attributes of a binding request whose length is that of the datagram.
fn request_attributes(datagram: &[u8]) -> Option<Reader<'_>> {
    let (kind, _, attributes) = message(datagram)?;
    (kind == BINDING_REQUEST).then_some(attributes)
}

/// The type, the transaction id and the attributes of a message whose length is that of the
/// datagram.
fn message(datagram: &[u8]) -> Option<(u16, &[u8], Reader<'_>)> {
    let mut reader = Reader::new(datagram);
    let kind = reader.u16()?;
    let len = usize::from(reader.u16()?);
    let cookie = reader.u32()?;
    let id = reader.take(TRANSACTION_ID_LEN)?;
    let is_whole = cookie == MAGIC_COOKIE && len == reader.len() && len.is_multiple_of(4);
    is_whole.then_some((kind, id, reader))
}

fn split_username(value: &[u8]) -> Option<(&str, &str)> {
    let is_fragment = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    let (local, remote) = str::from_utf8(value).ok()?.split_once(':')?;
    (is_fragment(local) && is_fragment(remote)).then_some((local, remote))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binding request with these attributes.
    fn request(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, value) in attributes {
            body.extend(kind.to_be_bytes());
            body.extend((value.len() as u16).to_be_bytes());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut datagram = vec![0, 1];
        datagram.extend((body.len() as u16).to_be_bytes());
        datagram.extend(MAGIC_COOKIE.to_be_bytes());
        datagram.extend([7; TRANSACTION_ID_LEN]);
        datagram.extend(body);
        datagram
    }

    const PRIORITY: u16 = 0x0024;

    #[test]
    fn the_sample_request_of_rfc_5769_has_its_username() {
        // RFC 5769 section 2.1, up to and including USERNAME: SOFTWARE, PRIORITY, ICE-CONTROLLED,
        // USERNAME.
        let sample = request(&[
            (0x8022, b"STUN test client"),
            (PRIORITY, &[0x6e, 0x00, 0x01, 0xff]),
            (0x8029, &[0x93, 0x2f, 0xf9, 0xb1, 0x51, 0x26, 0x3b, 0x36]),
            (USERNAME, b"evtj:h6vY"),
        ]);
        assert!(is_binding_request(&sample));
        assert_eq!(username(&sample), Some(("evtj", "h6vY")));
    }

    /// The responses of RFC 5769 sections 2.2 and 2.3, without integrity and fingerprint.
    #[test]
    fn the_sample_responses_of_rfc_5769_have_their_addresses() {
        let id = [0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae];
        let response = |value: &[u8]| {
            let mut datagram = request(&[(0x8022, b"test vector"), (XOR_MAPPED_ADDRESS, value)]);
            datagram[..2].copy_from_slice(&[1, 1]);
            datagram[8..20].copy_from_slice(&id);
            datagram
        };
        let v4 = response(&[0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43]);
        assert_eq!(mapped_address(&v4, &id), Some("192.0.2.1:32853".parse().unwrap()));
        let v6 = response(&[
            0, 2, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9,
            0xd9,
        ]);
        let expected = "[2001:db8:1234:5678:11:2233:4455:6677]:32853".parse().unwrap();
        assert_eq!(mapped_address(&v6, &id), Some(expected));
        assert_eq!(mapped_address(&v4, &[0; 12]), None, "another request's");
        for len in 0..v4.len() {
            assert_eq!(mapped_address(&v4[..len], &id), None, "{len} bytes");
        }
        assert_eq!(mapped_address(&response(&[0, 3, 0, 0, 0, 0, 0, 0]), &id), None);
        assert_eq!(mapped_address(&binding_request(&id), &id), None);
        assert!(is_binding_request(&binding_request(&id)));
    }

    #[test]
    fn an_answer_has_its_integrity_with_or_without_an_address() {
        for attributes in [&[(XOR_MAPPED_ADDRESS, &[0, 1, 0, 0, 0, 0, 0, 0][..])][..], &[]] {
            let mut datagram = request(&[attributes, &[(MESSAGE_INTEGRITY, &[5; 20]), (0x8028, &[0; 4])]].concat());
            assert_eq!(binding_success(&datagram), None, "a request");
            datagram[0] = 1;
            datagram[1] = 1;
            let covered = 20 + 12 * attributes.len();
            let expected = BindingSuccess {
                id: [7; TRANSACTION_ID_LEN],
                covered: &datagram[..covered],
                integrity: [5; 20],
            };
            assert_eq!(binding_success(&datagram), Some(expected));
            for len in 0..datagram.len() {
                assert_eq!(binding_success(&datagram[..len]), None, "{len} bytes");
            }
        }
        let mut unsigned = request(&[(MESSAGE_INTEGRITY, &[5; 16])]);
        (unsigned[0], unsigned[1]) = (1, 1);
        assert_eq!(binding_success(&unsigned), None, "an integrity of another length");
    }

    #[test]
    fn attributes_in_front_of_the_username_may_need_padding() {
        for len in 0..=4 {
            let datagram = request(&[(0x8022, &b"weir"[..len]), (USERNAME, b"abcd:efgh")]);
            assert_eq!(username(&datagram), Some(("abcd", "efgh")), "{len} bytes in front");
        }
    }

    #[test]
    fn a_username_behind_the_integrity_is_not_read() {
        let datagram = request(&[(MESSAGE_INTEGRITY, &[0; 20]), (USERNAME, b"a:b")]);
        assert!(is_binding_request(&datagram));
        assert_eq!(username(&datagram), None);
    }

    #[test]
    fn usernames_are_two_user_fragments() {
        for refused in [&b"ab"[..], b":b", b"a:", b"a:b:c", b"a\xff:b", b"a:b "] {
            assert_eq!(username(&request(&[(USERNAME, refused)])), None, "{refused:?}");
        }
    }

    #[test]
    fn other_datagrams_are_not_requests() {
        let request = request(&[(USERNAME, b"abcd:efgh")]);
        for end in 0..request.len() {
            assert!(!is_binding_request(&request[..end]), "{end} bytes");
            assert_eq!(username(&request[..end]), None);
        }
        for (at, value) in [(0, 1), (1, 0x11), (4, 0)] {
            let mut changed = request.clone();
            changed[at] = value;
            assert!(!is_binding_request(&changed), "byte {at} is {value}");
        }
    }
}
