//! Attributes of requests that the STUN library does not read, or of which it reads only the last.

use std::net::SocketAddr;

use wire::stun::xored_address;

const MESSAGE_INTEGRITY: u16 = 0x0008;
const XOR_PEER_ADDRESS: u16 = 0x0012;
const REQUESTED_ADDRESS_FAMILY: u16 = 0x0017;
const REQUESTED_TRANSPORT: u16 = 0x0019;
/// The STUN library reads these: USERNAME, CHANNEL-NUMBER, LIFETIME, DATA, REALM and NONCE.
const READ_ELSEWHERE: [u16; 6] = [0x0006, 0x000c, 0x000d, 0x0013, 0x0014, 0x0015];
/// The first type that need not be understood (RFC 8489 section 14).
const OPTIONAL: u16 = 0x8000;

/// The attributes in front of MESSAGE-INTEGRITY.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// The protocol that an allocation is to have, by its IP number.
    pub transport: Option<u8>,
    /// The address family that an allocation is to have: 1 is IPv4, 2 is IPv6.
    pub family: Option<u8>,
    /// All peers.
    pub peers: Vec<SocketAddr>,
    /// Types that have to be understood and are not, each once.
    pub unknown: Vec<u16>,
}

impl Attributes {
    /// Those of a STUN message.
    ///
    /// Errors: `None` for a message that is malformed.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let mut attributes = Attributes::default();
        let id = message.get(8..20)?.first_chunk()?;
        let mut rest = &message[20..];
        while let Some(([first, second, high, low], after)) = rest.split_first_chunk::<4>() {
            let kind = u16::from_be_bytes([*first, *second]);
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            let value = after.get(..len)?;
            match kind {
                MESSAGE_INTEGRITY => break,
                XOR_PEER_ADDRESS => attributes.peers.push(xored_address(value, id)?),
                REQUESTED_ADDRESS_FAMILY => attributes.family = Some(*value.first()?),
                REQUESTED_TRANSPORT => attributes.transport = Some(*value.first()?),
                OPTIONAL.. => {}
                _ if READ_ELSEWHERE.contains(&kind) || attributes.unknown.contains(&kind) => {}
                _ => attributes.unknown.push(kind),
            }
            rest = after.get(len.next_multiple_of(4)..)?;
        }
        Some(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_others_and_never_beyond_the_end() {
        let mut message = vec![0; 20];
        message.extend([0, 0x0d, 0, 3, 1, 2, 3, 0]);
        message.extend([0, 0x19, 0, 4, 17, 0, 0, 0]);
        for unknown in [0x18, 0x22, 0x18] {
            message.extend([0, unknown, 0, 1, 0, 0, 0, 0]);
        }
        message.extend([0x80, 0x22, 0, 0]);
        let expected = Attributes {
            transport: Some(17),
            unknown: vec![0x18, 0x22],
            ..Attributes::default()
        };
        assert_eq!(Attributes::read(&message), Some(expected));
        for len in 0..message.len() {
            let read = Attributes::read(&message[..len]);
            assert!(read.is_none_or(|it| it.transport.is_none_or(|it| it == 17)));
        }
        message.extend([0, 0x17, 0xff, 0xff, 1]);
        assert_eq!(Attributes::read(&message), None);
    }

    #[test]
    fn attributes_after_the_integrity_are_not_read() {
        let mut message = vec![0; 20];
        message.extend([0, 0x08, 0, 20]);
        message.extend([0; 20]);
        message.extend([0, 0x19, 0, 4, 17, 0, 0, 0]);
        assert_eq!(Attributes::read(&message), Some(Attributes::default()));
    }
}
