//! Attributes of requests that the STUN library does not read.

const REQUESTED_ADDRESS_FAMILY: u16 = 0x0017;
const REQUESTED_TRANSPORT: u16 = 0x0019;

/// The protocol that an allocation is to have, by its IP number.
pub(crate) fn requested_transport(message: &[u8]) -> Option<u8> {
    value(message, REQUESTED_TRANSPORT)?.first().copied()
}

/// The address family that an allocation is to have: 1 is IPv4, 2 is IPv6.
pub(crate) fn requested_family(message: &[u8]) -> Option<u8> {
    value(message, REQUESTED_ADDRESS_FAMILY)?.first().copied()
}

/// The value of an attribute of a STUN message.
fn value(message: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(20..)?;
    loop {
        let ([first, second, high, low], after) = rest.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        if u16::from_be_bytes([*first, *second]) == kind {
            return after.get(..len);
        }
        rest = after.get(len.next_multiple_of(4)..)?;
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
        assert_eq!(requested_transport(&message), Some(17));
        assert_eq!(requested_family(&message), None);
        for len in 0..message.len() {
            let cut = &message[..len];
            assert!(requested_transport(cut).is_none_or(|it| it == 17));
        }
        message.extend([0, 0x17, 0xff, 0xff, 1]);
        assert_eq!(requested_family(&message), None);
    }
}
