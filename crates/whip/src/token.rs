//! The text of a token: where a request has it, and kept to recognise it.

use std::fmt;

use zeroize::Zeroizing;

/// The text of a token. It is overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct Token(Zeroizing<String>);

impl Token {
    pub(crate) fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }

    /// The text. A good token has no character that a URL would escape (RFC 7515 section 3.1).
    pub(crate) fn text(&self) -> &str {
        &self.0
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

/// The token of an `Authorization` header.
pub(crate) fn bearer(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The token of a client that cannot set a header (RFC 6750 section 2.3), overwritten when it is
/// dropped.
pub(crate) fn in_url(query: &str) -> Option<Zeroizing<String>> {
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    let (_, token) = parameters.find(|(name, value)| name == "access_token" && !value.is_empty())?;
    Some(Zeroizing::new(token.into_owned()))
}
