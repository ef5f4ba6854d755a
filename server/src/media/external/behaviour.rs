//! The messages by which a STUN server with two addresses tells what a network address translator
//! or a firewall lets through.
//!
//! Source: RFC 5780 section 7.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wire::stun;

/// Attributes, and the flags "change IP" and "change port" of the first.
const CHANGE_REQUEST: u16 = 0x0003;
const OTHER_ADDRESS: u16 = 0x802c;
const BOTH: u32 = 0x6;

/// The bytes in front of the attributes.
const HEADER: usize = 20;

/// A binding request with the wish that the answer comes from another address and another port of
/// the server. It arrives only if this machine is reached by packets that it has not asked for.
pub(super) fn binding_request_for_other(id: &[u8; 12]) -> [u8; 28] {
    let mut request = [0; 28];
    request[..HEADER].copy_from_slice(&stun::binding_request(id));
    request[2..4].copy_from_slice(&8_u16.to_be_bytes());
    request[20..22].copy_from_slice(&CHANGE_REQUEST.to_be_bytes());
    request[22..24].copy_from_slice(&4_u16.to_be_bytes());
    request[24..].copy_from_slice(&BOTH.to_be_bytes());
    request
}

/// The other address from which a server can answer, in its answer to a request with this id.
///
/// Errors: `None` when the datagram is no such answer, or the server has no other address.
pub(super) fn other_address(answer: &[u8], id: &[u8; 12]) -> Option<SocketAddr> {
    // Type, length, cookie and id are right in an answer with an address.
    stun::mapped_address(answer, id)?;
    let mut attributes = answer.get(HEADER..)?;
    loop {
        let (head, rest) = attributes.split_first_chunk::<4>()?;
        let (kind, len) = (
            u16::from_be_bytes([head[0], head[1]]),
            u16::from_be_bytes([head[2], head[3]]),
        );
        let len = usize::from(len);
        let value = rest.get(..len)?;
        if kind == OTHER_ADDRESS {
            return address(value);
        }
        attributes = rest.get(len.next_multiple_of(4)..)?;
    }
}

/// An address in an attribute (RFC 8489 section 14.1).
fn address(value: &[u8]) -> Option<SocketAddr> {
    let ([_, family, high, low], ip) = value.split_first_chunk()?;
    let ip = match family {
        1 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(ip).ok()?)),
        2 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(ip).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes([*high, *low])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_reads_the_other_address_of_a_server() {
        let id = [7; 12];
        let asked = binding_request_for_other(&id);
        assert!(stun::is_binding_request(&asked));
        assert_eq!(asked[20..], [0, 3, 0, 4, 0, 0, 0, 6]);
        let answer = |value: &[u8]| {
            let seen = [0, 0x20, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43];
            let len = u16::try_from(seen.len() + 4 + value.len()).unwrap();
            let mut answer = stun::binding_request(&id).to_vec();
            answer[..4].copy_from_slice(&[[1, 1], len.to_be_bytes()].concat());
            answer.extend(seen);
            answer.extend([0x80, 0x2c, 0, u8::try_from(value.len()).unwrap()]);
            answer.extend(value);
            answer
        };
        let v4 = answer(&[0, 1, 0x0d, 0x97, 192, 0, 2, 9]);
        assert_eq!(other_address(&v4, &id), Some("192.0.2.9:3479".parse().unwrap()));
        let v6 = answer(&[
            0, 2, 0x0d, 0x97, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
        ]);
        assert_eq!(other_address(&v6, &id), Some("[2001:db8::9]:3479".parse().unwrap()));
        for len in 0..v4.len() {
            assert_eq!(other_address(&v4[..len], &id), None, "{len} bytes");
        }
        for value in [
            &[0, 3, 0, 0][..],
            &[],
            &[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0, 2, 0, 0],
        ] {
            assert_eq!(other_address(&answer(value), &id), None, "{value:?}");
        }
        assert_eq!(other_address(&asked, &id), None, "a request");
        assert_eq!(other_address(&v4, &[0; 12]), None, "another request's");
    }
}
