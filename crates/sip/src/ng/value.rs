//! Values of both encodings of the `ng` protocol: texts, whole numbers, lists and dictionaries.

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes, mostly text.
    Text(Vec<u8>),
    /// A whole number.
    Integer(i64),
    /// Values in order.
    List(Vec<Value>),
    /// Values with names.
    Dictionary(Dictionary),
}

/// Values with names, in the order of insertion: proxies do not sort them, and neither do we.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary(Vec<(Vec<u8>, Value)>);

impl Dictionary {
    /// The first value of that name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(key, _)| key == name.as_bytes());
        found.map(|(_, value)| value)
    }

    /// The first value of that name, when it is text.
    pub fn text(&self, name: &str) -> Option<&[u8]> {
        self.value(name)?.text()
    }

    /// The same for a key of a request, which is in small letters with dashes here. Proxies also
    /// write capitals, spaces and underscores.
    pub(crate) fn spelt(&self, name: &str) -> Option<&[u8]> {
        let is_it = |key: &[u8]| key.len() == name.len() && key.iter().zip(name.bytes()).all(|(a, b)| plain(*a) == b);
        let found = self.0.iter().find(|(key, _)| is_it(key));
        found.and_then(|(_, value)| value.text())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Value)> {
        self.0.iter().map(|(key, value)| (key.as_slice(), value))
    }

    /// Adds an entry.
    pub fn push(&mut self, name: impl Into<Vec<u8>>, value: impl Into<Value>) {
        self.0.push((name.into(), value.into()));
    }

    /// The same with one more entry.
    #[must_use]
    pub fn with(mut self, name: impl Into<Vec<u8>>, value: impl Into<Value>) -> Self {
        self.push(name, value);
        self
    }
}

/// A letter of a name as in small letters with dashes.
fn plain(letter: u8) -> u8 {
    match letter {
        b' ' | b'_' => b'-',
        letter => letter.to_ascii_lowercase(),
    }
}

impl Value {
    /// The bytes of a text.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number, whether it was sent as one or as text.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// The texts of a list; a text alone is a list of one, as proxies send both.
    pub fn texts(&self) -> Vec<&[u8]> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(list) => list.iter().filter_map(Value::text).collect(),
            _ => Vec::new(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into_bytes())
    }
}

impl From<&[u8]> for Value {
    fn from(text: &[u8]) -> Self {
        Self::Text(text.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(integer: u64) -> Self {
        Self::Integer(i64::try_from(integer).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Self {
        Self::List(list)
    }
}

impl From<Dictionary> for Value {
    fn from(dictionary: Dictionary) -> Self {
        Self::Dictionary(dictionary)
    }
}

/// Why bytes are no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They may be the beginning of one.
    Incomplete,
    /// They are malformed, with any bytes after them.
    Malformed,
}
