//! Bencode, as SIP proxies write it: dictionaries in any order.

use super::value::{Dictionary, Unreadable, Value};
use crate::limits::{DEPTH_MAX, MESSAGE_MAX};

/// Reads one value from the front of `bytes`, and returns its length too.
///
/// Errors: [`Unreadable::Incomplete`] if `bytes` may be the beginning of a value.
///
/// Source: BEP 3, without its rule that keys are sorted.
pub fn decode(bytes: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(0)?;
    Ok((value, bytes.len() - reader.rest.len()))
}

/// Appends a value.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) => encode_text(text, out),
        Value::Integer(integer) => out.extend(format!("i{integer}e").bytes()),
        Value::List(list) => {
            out.push(b'l');
            list.iter().for_each(|value| encode(value, out));
            out.push(b'e');
        }
        Value::Dictionary(dictionary) => {
            out.push(b'd');
            for (name, value) in dictionary.iter() {
                encode_text(name, out);
                encode(value, out);
            }
            out.push(b'e');
        }
    }
}

fn encode_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend(format!("{}:", text.len()).bytes());
    out.extend_from_slice(text);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Unreadable> {
        if depth > DEPTH_MAX {
            return Err(Unreadable::Malformed);
        }
        match self.peek()? {
            b'0'..=b'9' => Ok(Value::Text(self.text()?.to_vec())),
            b'i' => self.integer(),
            b'l' => self.list(depth),
            b'd' => self.dictionary(depth),
            _ => Err(Unreadable::Malformed),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Unreadable> {
        self.rest = &self.rest[1..];
        let mut list = Vec::new();
        while !self.ends()? {
            list.push(self.value(depth + 1)?);
        }
        Ok(Value::List(list))
    }

    fn dictionary(&mut self, depth: usize) -> Result<Value, Unreadable> {
        self.rest = &self.rest[1..];
        let mut dictionary = Dictionary::default();
        while !self.ends()? {
            let name = self.text()?;
            dictionary.push(name, self.value(depth + 1)?);
        }
        Ok(Value::Dictionary(dictionary))
    }

    fn integer(&mut self) -> Result<Value, Unreadable> {
        self.rest = &self.rest[1..];
        let digits = self.until(b'e', 20)?;
        let text = std::str::from_utf8(digits).map_err(|_| Unreadable::Malformed)?;
        text.parse().map(Value::Integer).map_err(|_| Unreadable::Malformed)
    }

    fn text(&mut self) -> Result<&'a [u8], Unreadable> {
        let digits = self.until(b':', 5)?;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Unreadable::Malformed);
        }
        let len = digits.iter().fold(0, |len, digit| len * 10 + usize::from(digit - b'0'));
        if len > MESSAGE_MAX {
            return Err(Unreadable::Malformed);
        }
        let (text, rest) = self.rest.split_at_checked(len).ok_or(Unreadable::Incomplete)?;
        self.rest = rest;
        Ok(text)
    }

    /// The bytes up to `end`, at most `max` of them; `end` is consumed too.
    fn until(&mut self, end: u8, max: usize) -> Result<&'a [u8], Unreadable> {
        let window = &self.rest[..self.rest.len().min(max + 1)];
        match window.iter().position(|byte| *byte == end) {
            Some(at) => {
                let found = &self.rest[..at];
                self.rest = &self.rest[at + 1..];
                Ok(found)
            }
            None if window.len() > max => Err(Unreadable::Malformed),
            None => Err(Unreadable::Incomplete),
        }
    }

    fn peek(&self) -> Result<u8, Unreadable> {
        self.rest.first().copied().ok_or(Unreadable::Incomplete)
    }

    fn ends(&mut self) -> Result<bool, Unreadable> {
        let ends = self.peek()? == b'e';
        if ends {
            self.rest = &self.rest[1..];
        }
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_come_in_any_order_and_stay_in_it() {
        let bytes = b"d8:supportsl10:load limite3:ICE6:remove7:command4:pinge";
        let (value, used) = decode(bytes).expect("well-formed");
        assert_eq!(used, bytes.len());
        let mut again = Vec::new();
        encode(&value, &mut again);
        assert_eq!(again, bytes);
    }

    #[test]
    fn a_beginning_is_told_from_nonsense() {
        let bytes = b"d7:command4:ping5:limiti-32ee";
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), Err(Unreadable::Incomplete), "{len}");
        }
        for nonsense in [
            &b"x"[..],
            b"d1:ax",
            b"i12",
            b"123456:",
            b"99999:a",
            b"i1x2e",
            b"di1ei2ee",
        ] {
            let refused = decode(nonsense).expect_err("nonsense");
            assert_eq!(refused == Unreadable::Incomplete, nonsense == b"i12", "{nonsense:?}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert_eq!(decode(&[b'l'; 60_000]), Err(Unreadable::Malformed));
    }
}
