//! Flags in one string, as `replace-origin codec=[strip=[G729 GSM]] transport-protocol=RTP/AVP`.

use crate::limits::DEPTH_MAX;
use crate::ng::value::{Dictionary, Value};

/// Flags in one string; further ones are not looked at.
const MAX: usize = 256;

/// Reads a string of flags: names alone, and names with values. A name alone has the empty value.
pub(crate) fn read(text: &str) -> Vec<(String, Value)> {
    let mut reader = Reader { rest: text, read: 0 };
    reader.items(0)
}

struct Reader<'a> {
    rest: &'a str,
    read: usize,
}

impl Reader<'_> {
    /// The items up to the closing bracket, which is consumed, or the end.
    fn items(&mut self, depth: usize) -> Vec<(String, Value)> {
        let mut items = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix(']') {
                self.rest = rest;
                return items;
            }
            if self.rest.is_empty() || self.read == MAX {
                return items;
            }
            self.read += 1;
            items.push(self.item(depth));
        }
    }

    fn item(&mut self, depth: usize) -> (String, Value) {
        let name = self.word(|letter| letter == '=');
        let Some(rest) = self.rest.strip_prefix('=') else {
            // A stray bracket is skipped, so that every item consumes something.
            if name.is_empty() {
                self.rest = &self.rest[1..];
            }
            return (name, Value::from(""));
        };
        self.rest = rest;
        match self.rest.strip_prefix('[') {
            Some(rest) if depth < DEPTH_MAX => {
                self.rest = rest;
                (name, collection(self.items(depth + 1)))
            }
            _ => (name, Value::from(self.word(|_| false))),
        }
    }

    fn word(&mut self, ends: fn(char) -> bool) -> String {
        let end = |letter: char| letter.is_whitespace() || letter == ']' || letter == '[' || ends(letter);
        let len = self.rest.find(end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        word.to_owned()
    }
}

/// The value of a bracket: a dictionary if any item has a value, otherwise a list.
fn collection(items: Vec<(String, Value)>) -> Value {
    if items.iter().all(|(_, value)| *value == Value::from("")) {
        return Value::List(items.into_iter().map(|(name, _)| Value::from(name)).collect());
    }
    let mut dictionary = Dictionary::default();
    items.into_iter().for_each(|(name, value)| dictionary.push(name, value));
    Value::Dictionary(dictionary)
}
