//! Messages in a byte stream.

use super::Encoding;
use crate::cookie::split;
use crate::limits::{COOKIE_MAX, DEPTH_MAX, MESSAGE_MAX};
use crate::ng::value::Unreadable;

/// Of a message that has not ended, the fewest bytes worth decoding.
const FIRST_ATTEMPT: usize = 64;

/// Finds messages in the bytes of a TCP connection, with work in proportion to the bytes for any
/// segmentation.
///
/// A message ends where its value does; there is no other mark. So an unreadable value ends the
/// connection.
#[derive(Debug, Default)]
pub struct Stream {
    bytes: Vec<u8>,
    /// Start of the next message; earlier bytes have been given out.
    start: usize,
    /// How many bytes of the next message have been looked at.
    scanned: usize,
    /// How many of them were decoded in vain.
    attempted: usize,
    position: Position,
    #[cfg(test)]
    work: usize,
}

/// Position of the next byte in a message.
#[derive(Debug, Default)]
enum Position {
    #[default]
    Cookie,
    /// At the first byte of the payload, which tells its encoding.
    Payload,
    Bencode {
        depth: usize,
        item: Item,
    },
    Json {
        depth: usize,
        text: JsonText,
    },
}

/// The part of bencode that the next byte belongs to.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// The beginning of a value or the end of a list.
    Next,
    /// The length of a text, as far as it is parsed.
    Length(usize),
    /// A text with this many more bytes.
    Text(usize),
    Integer,
}

/// Whether the next byte of JSON is in a text, where brackets have no meaning.
#[derive(Clone, Copy, Debug)]
enum JsonText {
    Outside,
    Inside,
    Escaped,
}

impl Stream {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        // Moved at most once for each byte that was given out.
        if self.start >= self.bytes.len() - self.start {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, cookie and payload as in a datagram; `None` until there is one.
    ///
    /// Errors: [`Unreadable::Malformed`] when no message can follow, or none within [`MESSAGE_MAX`]
    /// bytes; close the connection.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        if self.scanned == 0 {
            let rest = &self.bytes[self.start..];
            self.start += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        }
        while let Some(byte) = self.bytes.get(self.start + self.scanned) {
            if self.scanned == MESSAGE_MAX {
                return Err(Unreadable::Malformed);
            }
            let ends = self.position.take(*byte, self.scanned)?;
            self.scanned += 1;
            self.worked(1);
            if ends {
                return self.give_out().map(Some);
            }
        }
        self.attempt()
    }

    /// The message that has been looked through to its end.
    fn give_out(&mut self) -> Result<Vec<u8>, Unreadable> {
        self.worked(self.scanned);
        let message = self.bytes[self.start..self.start + self.scanned].to_vec();
        if decoded_len(&message) != Ok(message.len()) {
            return Err(Unreadable::Malformed);
        }
        self.start += self.scanned;
        (self.scanned, self.attempted, self.position) = (0, 0, Position::Cookie);
        Ok(message)
    }

    /// Tries to decode an incomplete message each time that its length has doubled, so that
    /// malformed bytes end the connection before its limit does.
    fn attempt(&mut self) -> Result<Option<Vec<u8>>, Unreadable> {
        if self.scanned < FIRST_ATTEMPT.max(2 * self.attempted) {
            return Ok(None);
        }
        self.attempted = self.scanned;
        self.worked(self.scanned);
        match decoded_len(&self.bytes[self.start..]) {
            Err(Unreadable::Incomplete) => Ok(None),
            _ => Err(Unreadable::Malformed),
        }
    }

    fn worked(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.work += _bytes;
        }
    }
}

/// The length of the message at the front.
fn decoded_len(message: &[u8]) -> Result<usize, Unreadable> {
    let (cookie, payload) = split(message).ok_or(Unreadable::Incomplete)?;
    if payload.is_empty() {
        return Err(Unreadable::Incomplete);
    }
    let encoding = Encoding::of(payload).ok_or(Unreadable::Malformed)?;
    let (_, used) = encoding.decode(payload)?;
    Ok(cookie.len() + 1 + used)
}

impl Position {
    /// Advances by the byte at `at` in the message; returns whether the message ends with it.
    fn take(&mut self, byte: u8, at: usize) -> Result<bool, Unreadable> {
        match self {
            Self::Cookie if byte == b' ' => *self = Self::Payload,
            Self::Cookie if at >= COOKIE_MAX => return Err(Unreadable::Malformed),
            Self::Cookie => {}
            Self::Payload => {
                *self = match Encoding::of(&[byte]).ok_or(Unreadable::Malformed)? {
                    Encoding::Bencode => Self::Bencode {
                        depth: 1,
                        item: Item::Next,
                    },
                    Encoding::Json => Self::Json {
                        depth: 1,
                        text: JsonText::Outside,
                    },
                }
            }
            Self::Bencode { depth, item } => {
                *item = item.after(byte, depth)?;
                return Ok(*depth == 0);
            }
            Self::Json { depth, text } => {
                *text = text.after(byte, depth);
                return Ok(*depth == 0);
            }
        }
        Ok(false)
    }
}

impl Item {
    fn after(self, byte: u8, depth: &mut usize) -> Result<Self, Unreadable> {
        let digit = usize::from(byte.wrapping_sub(b'0'));
        Ok(match (self, byte) {
            (Self::Next, b'0'..=b'9') => Self::Length(digit),
            (Self::Next, b'i') => Self::Integer,
            (Self::Next, b'l' | b'd') if *depth <= DEPTH_MAX => {
                *depth += 1;
                Self::Next
            }
            (Self::Next, b'e') => {
                *depth -= 1;
                Self::Next
            }
            (Self::Length(len), b'0'..=b'9') if len <= MESSAGE_MAX => Self::Length(10 * len + digit),
            (Self::Length(0), b':') => Self::Next,
            (Self::Length(len), b':') => Self::Text(len),
            (Self::Text(1), _) | (Self::Integer, b'e') => Self::Next,
            (Self::Text(len), _) => Self::Text(len - 1),
            (Self::Integer, b'-' | b'0'..=b'9') => self,
            _ => return Err(Unreadable::Malformed),
        })
    }
}

impl JsonText {
    fn after(self, byte: u8, depth: &mut usize) -> Self {
        match (self, byte) {
            (Self::Outside, b'{' | b'[') => *depth += 1,
            (Self::Outside, b'}' | b']') => *depth -= 1,
            _ => {}
        }
        match (self, byte) {
            (Self::Outside, b'"') | (Self::Escaped, _) => Self::Inside,
            (Self::Inside, b'"') => Self::Outside,
            (Self::Inside, b'\\') => Self::Escaped,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_stream_are_found_with_any_cuts() {
        let sent = b"1_1 d7:command4:pinge2_2 {\"command\":\"ping\"}\n3_3 d7:command4:pinge";
        for cut in 0..sent.len() {
            let mut stream = Stream::default();
            let mut found = Vec::new();
            for part in [&sent[..cut], &sent[cut..]] {
                stream.push(part);
                while let Some(message) = stream.next_message().expect("well-formed") {
                    found.push(message);
                }
            }
            let expected: [&[u8]; 3] = [
                b"1_1 d7:command4:pinge",
                b"2_2 {\"command\":\"ping\"}",
                b"3_3 d7:command4:pinge",
            ];
            assert_eq!(found, expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_stream_of_nonsense_ends() {
        for nonsense in [&b"1_1 x"[..], &[b'x'; COOKIE_MAX + 1], b"1_1 d1:ax"] {
            let mut stream = Stream::default();
            stream.push(nonsense);
            assert_eq!(stream.next_message(), Err(Unreadable::Malformed));
        }
        let mut endless = Stream::default();
        endless.push(b"1_1 d1:al");
        endless.push(&b"1:x".repeat(MESSAGE_MAX));
        assert_eq!(endless.next_message(), Err(Unreadable::Malformed));
    }

    #[test]
    fn the_end_of_json_is_not_looked_for_in_its_text() {
        let sent = br#"1_1 {"a":"}\"}]","b":[{"c":"\\"}]}"#;
        let mut stream = Stream::default();
        for byte in sent {
            assert_eq!(stream.next_message(), Ok(None));
            stream.push(&[*byte]);
        }
        assert_eq!(stream.next_message(), Ok(Some(sent.to_vec())));
    }

    #[test]
    fn nonsense_in_json_ends_a_stream_long_before_its_limit() {
        let mut stream = Stream::default();
        stream.push(br#"1_1 {"command" "ping", "#);
        assert_eq!(stream.next_message(), Ok(None));
        stream.push(&[b' '; FIRST_ATTEMPT]);
        assert_eq!(stream.next_message(), Err(Unreadable::Malformed));
        let mut stream = Stream::default();
        stream.push(br#"1_1 {"command" "ping"}"#);
        assert_eq!(stream.next_message(), Err(Unreadable::Malformed));
    }

    #[test]
    fn bytes_that_come_one_by_one_take_no_more_work_each() {
        let text = "x".repeat(60_000);
        let integers = "i1e".repeat(20_000);
        let long = [
            format!("1_1 d1:a60000:{text}e"),
            format!("1_1 d1:al{integers}ee"),
            format!("1_1 {{\"a\":\"{text}\"}}"),
        ];
        for message in long {
            let mut stream = Stream::default();
            for byte in message.bytes() {
                assert_eq!(stream.next_message(), Ok(None));
                stream.push(&[byte]);
            }
            assert_eq!(stream.next_message(), Ok(Some(message.clone().into_bytes())));
            assert!(stream.work <= 4 * message.len(), "{} of {}", stream.work, message.len());
        }
    }

    #[test]
    fn messages_that_come_together_are_not_moved_for_each_other() {
        let sent = b"1_1 d7:command4:pinge".repeat(3_000);
        let mut stream = Stream::default();
        stream.push(&sent);
        for _ in 0..3_000 {
            assert!(stream.next_message().expect("well-formed").is_some());
        }
        assert_eq!((stream.next_message(), stream.bytes.len()), (Ok(None), sent.len()));
        assert!(stream.work <= 2 * sent.len());
        stream.push(b"2_2 d");
        assert_eq!(stream.bytes, b"2_2 d");
    }
}
