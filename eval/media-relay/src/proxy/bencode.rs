//! What `ng` messages are written in: integers, byte strings, lists and dictionaries.

/// A value; keys keep their order, because neither side of the protocol sorts them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `i42e`
    Integer(i64),
    /// `3:abc`
    Text(String),
    /// `l...e`
    List(Vec<Value>),
    /// `d...e`
    Dictionary(Vec<(String, Value)>),
}

/// Lists in lists, at most.
const DEPTH_MAX: u32 = 32;

impl Value {
    /// A string.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A list of strings.
    pub fn texts(texts: &[&str]) -> Self {
        Self::List(texts.iter().map(|&text| Self::text(text)).collect())
    }

    /// A dictionary.
    pub fn dictionary(entries: Vec<(&str, Value)>) -> Self {
        Self::Dictionary(
            entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// What is under a key of a dictionary.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Dictionary(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// Its bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let string = |out: &mut Vec<u8>, text: &str| out.extend(format!("{}:{text}", text.len()).bytes());
        match self {
            Self::Integer(value) => out.extend(format!("i{value}e").bytes()),
            Self::Text(text) => string(out, text),
            Self::List(values) => {
                out.push(b'l');
                values.iter().for_each(|value| value.write(out));
                out.push(b'e');
            }
            Self::Dictionary(entries) => {
                out.push(b'd');
                for (key, value) in entries {
                    string(out, key);
                    value.write(out);
                }
                out.push(b'e');
            }
        }
    }

    /// Reads one value that fills all of `bytes`; `None` when there is none. Strings that are no UTF-8 are read as far as they are.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let value = read(&mut rest, DEPTH_MAX)?;
        rest.is_empty().then_some(value)
    }
}

fn read(rest: &mut &[u8], depth: u32) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let (&first, behind) = rest.split_first()?;
    match first {
        b'i' => {
            *rest = behind;
            number(rest, b'e').map(Value::Integer)
        }
        b'l' => {
            *rest = behind;
            let mut values = Vec::new();
            while !ends(rest)? {
                values.push(read(rest, depth)?);
            }
            Some(Value::List(values))
        }
        b'd' => {
            *rest = behind;
            let mut entries = Vec::new();
            while !ends(rest)? {
                entries.push((string(rest)?, read(rest, depth)?));
            }
            Some(Value::Dictionary(entries))
        }
        _ => string(rest).map(Value::Text),
    }
}

/// Whether a list ends here; then its end is passed over.
fn ends(rest: &mut &[u8]) -> Option<bool> {
    let (&first, behind) = rest.split_first()?;
    let ends = first == b'e';
    if ends {
        *rest = behind;
    }
    Some(ends)
}

fn number(rest: &mut &[u8], end: u8) -> Option<i64> {
    let at = rest.iter().take(24).position(|&byte| byte == end)?;
    let digits = std::str::from_utf8(&rest[..at]).ok()?;
    *rest = &rest[at + 1..];
    digits.parse().ok()
}

fn string(rest: &mut &[u8]) -> Option<String> {
    let len = usize::try_from(number(rest, b':')?).ok()?;
    let (text, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let value = Value::dictionary(vec![
            ("command", Value::text("offer")),
            ("flags", Value::texts(&["trust-address", ""])),
            ("delete delay", Value::Integer(-1)),
            ("nothing", Value::Dictionary(Vec::new())),
        ]);
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            "d7:command5:offer5:flagsl13:trust-address0:e12:delete delayi-1e7:nothingdee"
        );
        assert_eq!(Value::read(&bytes), Some(value.clone()));
        assert_eq!(value.get("command").and_then(Value::as_text), Some("offer"));
    }

    #[test]
    fn truncated_and_deeply_nested_values_are_refused() {
        let whole = b"d3:sdp3:v=06:result2:oke";
        assert!(Value::read(whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(Value::read(&whole[..end]), None, "{end} bytes");
        }
        assert_eq!(Value::read(&[b'l'; 100]), None);
        assert_eq!(Value::read(b"99999999999999999999:a"), None);
        assert_eq!(Value::read(b"-1:a"), None);
    }
}
