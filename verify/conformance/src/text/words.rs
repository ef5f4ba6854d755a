//! A line as words, read one after the other.

use std::fmt;
use std::str::FromStr;

/// The fault of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(pub String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) fn problem<T>(text: impl Into<String>) -> Result<T, Problem> {
    Err(Problem(text.into()))
}

/// The words of one line that are not read yet.
pub(super) struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Words(line.split_whitespace().peekable())
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    pub(crate) fn peek(&mut self) -> Option<&'a str> {
        self.0.peek().copied()
    }

    /// The next word, which is required.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str, Problem> {
        self.next()
            .ok_or_else(|| Problem(format!("{what} is missing at the end of the line")))
    }

    /// Reads the next word if it is this one.
    pub(crate) fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// The next word as a number.
    pub(crate) fn number<T: Number>(&mut self, what: &str) -> Result<T, Problem> {
        number(self.word(what)?, what)
    }

    /// Everything that is left as bytes in hexadecimal; gaps may be anywhere.
    pub(crate) fn rest_as_bytes(&mut self) -> Result<Vec<u8>, Problem> {
        let digits: String = std::iter::from_fn(|| self.next()).collect();
        bytes(&digits)
    }

    pub(crate) fn end(&mut self) -> Result<(), Problem> {
        self.next()
            .map_or(Ok(()), |word| problem(format!("`{word}` is not understood here")))
    }
}

/// An unsigned number that a text may write in decimal or, with `0x`, in hexadecimal.
pub(super) trait Number: FromStr + TryFrom<u64> {}
impl<T: FromStr + TryFrom<u64>> Number for T {}

pub(super) fn number<T: Number>(text: &str, what: &str) -> Result<T, Problem> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let fitting = value.and_then(|value| T::try_from(value).ok());
    fitting.ok_or_else(|| Problem(format!("`{text}` is not {what}")))
}

pub(super) fn bytes(digits: &str) -> Result<Vec<u8>, Problem> {
    if digits == "empty" {
        return Ok(Vec::new());
    }
    let pair = |at: usize| {
        digits
            .get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    bytes
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| Problem(format!("`{digits}` is not bytes in hexadecimal, or `empty`")))
}

/// `a=b` as two words.
pub(super) fn split<'a>(text: &'a str, at: char, what: &str) -> Result<(&'a str, &'a str), Problem> {
    text.split_once(at)
        .ok_or_else(|| Problem(format!("`{text}` is not {what}: there is no `{at}` in it")))
}
