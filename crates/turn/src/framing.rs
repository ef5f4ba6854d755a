//! Messages in a stream of bytes (RFC 8656 sections 3.1 and 12.5): each begins with its own length.

use crate::limits::MESSAGE_MAX;

/// The stream of something else than a TURN client, or of one whose message is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTurn;

/// The length of the first message, with its padding; `None` while its beginning is incomplete.
///
/// Errors: it is no message, or too long a one.
pub fn first(bytes: &[u8]) -> Result<Option<usize>, NotTurn> {
    let Some([kind, _, high, low]) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    let whole = match kind {
        0..=3 => 20 + len,
        64..=127 => 4 + len.next_multiple_of(4),
        _ => return Err(NotTurn),
    };
    match whole <= MESSAGE_MAX {
        true => Ok(Some(whole)),
        false => Err(NotTurn),
    }
}

/// Pads a message that a stream is to carry.
pub fn pad(message: &mut Vec<u8>) {
    message.resize(message.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_state_their_length() {
        assert_eq!(first(&[0, 3, 0]), Ok(None));
        assert_eq!(first(&[0, 3, 0, 8]), Ok(Some(28)));
        assert_eq!(first(&[0x40, 0, 0, 5]), Ok(Some(12)), "padded");
        assert_eq!(first(b"GET /"), Err(NotTurn));
        assert_eq!(first(&[0x7f, 0xff, 0, 4]), Ok(Some(8)), "a channel of RFC 5766");
        assert_eq!(first(&[0x80, 0, 0, 4]), Err(NotTurn));
        assert_eq!(first(&[22, 3, 1, 0]), Err(NotTurn), "TLS");
        assert_eq!(first(&[0x40, 0, 0xff, 0xff]), Err(NotTurn));
        let mut message = vec![0x40, 0, 0, 5, 1, 2, 3, 4, 5];
        pad(&mut message);
        assert_eq!(first(&message), Ok(Some(message.len())));
    }
}
