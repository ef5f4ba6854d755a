//! JSON, the other encoding of the same values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::value::{Dictionary, Unreadable, Value};

/// Reads one value from the front of `bytes`, and returns its length too.
///
/// Errors: [`Unreadable::Incomplete`] if `bytes` may be the beginning of a value.
pub fn decode(bytes: &[u8]) -> Result<(Value, usize), Unreadable> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) if error.is_eof() => Err(Unreadable::Incomplete),
        Some(Err(_)) => Err(Unreadable::Malformed),
        None => Err(Unreadable::Incomplete),
    }
}

/// Appends a value. Bytes that are no text are replaced: JSON has no others.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("values have text keys, and a vector takes everything");
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(&String::from_utf8_lossy(text)),
            Self::Integer(integer) => serializer.serialize_i64(*integer),
            Self::List(list) => serializer.collect_seq(list),
            Self::Dictionary(dictionary) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in dictionary.iter() {
                    map.serialize_entry(&String::from_utf8_lossy(name), value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Integer(i64::from(yes)))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::Integer(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Value, E> {
        Ok(integer.into())
    }

    // No key takes a fraction; it is kept as it would be printed.
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.to_string().into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok("".into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = sequence.next_element()? {
            list.push(value);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut dictionary = Dictionary::default();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            dictionary.push(name, value);
        }
        Ok(Value::Dictionary(dictionary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_were_read() {
        let bytes = br#"{"command":"offer","supports":["load limit"],"limit":-3,"codec":{"strip":["G729"]}}"#;
        let (value, used) = decode(bytes).expect("well-formed");
        assert_eq!(used, bytes.len());
        let mut again = Vec::new();
        encode(&value, &mut again);
        assert_eq!(again, bytes);
    }

    #[test]
    fn a_beginning_is_told_from_nonsense() {
        let bytes = br#"{"command":"ping"}"#;
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), Err(Unreadable::Incomplete), "{len}");
        }
        assert_eq!(decode(br#"{"command" "ping"}"#), Err(Unreadable::Malformed));
        assert_eq!(decode("[".repeat(60_000).as_bytes()), Err(Unreadable::Malformed));
    }
}
