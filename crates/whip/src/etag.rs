//! Entity tags: one for each ICE session (RFC 9725 section 4.3.1, RFC 9110 section 13.1.1).

/// The condition of an `If-Match` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// Any ICE session: the request restarts ICE.
    Any,
    /// The ICE session with one of these tags.
    Tags(Vec<String>),
}

impl IfMatch {
    /// The condition of a header's value. A tag that is weak or cannot be read never matches.
    pub(crate) fn parse(value: &str) -> Self {
        if value.trim() == "*" {
            return Self::Any;
        }
        let tags = value.split(',').map(str::trim);
        let strong = tags.filter_map(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
        Self::Tags(strong.map(str::to_owned).collect())
    }

    /// Whether it holds for the ICE session with this tag.
    pub(crate) fn holds(&self, tag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => tags.iter().any(|known| known == tag),
        }
    }
}

/// A tag as a header's value.
pub(crate) fn quoted(tag: &str) -> String {
    format!("\"{tag}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_tags_match_and_others_do_not() {
        assert!(IfMatch::parse(" * ").holds("abc"));
        assert!(IfMatch::parse(&quoted("abc")).holds("abc"));
        assert!(IfMatch::parse("\"x\" , \"abc\"").holds("abc"));
        for other in ["\"ab\"", "W/\"abc\"", "abc", "\"", "", "\"*\""] {
            assert!(!IfMatch::parse(other).holds("abc"), "{other}");
        }
    }
}
