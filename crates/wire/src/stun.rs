//! Parses just enough STUN to find the agent of a connectivity check, before any allocation for it.
//!
//! Nothing here is authenticated: the result only selects the agent that verifies
//! MESSAGE-INTEGRITY.
//!
//! Source: RFC 8489 sections 5 and 14; RFC 8445 section 7.2.2.

use crate::bytes::Reader;

const BINDING_REQUEST: u16 = 0x0001;
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

/// The attributes of a binding request whose length is that of the datagram.
fn request_attributes(datagram: &[u8]) -> Option<Reader<'_>> {
    let mut reader = Reader::new(datagram);
    let kind = reader.u16()?;
    let len = usize::from(reader.u16()?);
    let cookie = reader.u32()?;
    reader.take(TRANSACTION_ID_LEN)?;
    let is_request = kind == BINDING_REQUEST && cookie == MAGIC_COOKIE && len == reader.len() && len.is_multiple_of(4);
    is_request.then_some(reader)
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
