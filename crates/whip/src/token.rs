//! The text of a token, kept to recognise it.

use std::fmt;

use zeroize::Zeroizing;

/// The text of a token. It is overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct Token(Zeroizing<String>);

impl Token {
    pub(crate) fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }

    /// Whether it is the same, without telling by its time where two differ.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl fmt::Debug for Token {
    // Secrets have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
