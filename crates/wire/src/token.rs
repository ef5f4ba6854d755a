//! Short names carried in header extensions, kept inline so that a packet's name can be a table
//! key.

use std::fmt;

/// A short ASCII name, stored inline: `Copy`, hashable, no heap.
///
/// Shape: 1 to `MAX` characters of the SDP `token` grammar, so it can be written into SDP as it is.
/// Source: RFC 8866 section 9.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token<const MAX: usize> {
    /// Unused bytes are zero, so that equality and hashing need no length.
    bytes: [u8; MAX],
    len: u8,
}

impl<const MAX: usize> Token<MAX> {
    /// `None` when `name` is empty, too long or has a character outside the grammar.
    pub fn new(name: &str) -> Option<Self> {
        Self::from_bytes(name.as_bytes())
    }

    /// As [`new`](Self::new), from the bytes of a header extension.
    pub fn from_bytes(name: &[u8]) -> Option<Self> {
        if name.is_empty() || name.len() > MAX || !name.iter().copied().all(is_token_character) {
            return None;
        }
        let mut bytes = [0; MAX];
        bytes[..name.len()].copy_from_slice(name);
        Some(Self {
            bytes,
            len: name.len() as u8,
        })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).expect("tokens are ASCII")
    }

    /// The name as it travels.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

fn is_token_character(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x27 | 0x2a..=0x2b | 0x2d..=0x2e | 0x30..=0x39 | 0x41..=0x5a | 0x5e..=0x7e)
}

impl<const MAX: usize> fmt::Debug for Token<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<const MAX: usize> fmt::Display for Token<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A token with a meaning of its own.
macro_rules! named_token {
    ($(#[$doc:meta])* $name:ident of $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Token<{ $max }>);

        impl $name {
            /// The longest name, in bytes.
            pub const MAX: usize = $max;

            /// `None` when `name` is not a [`Token`].
            pub fn new(name: &str) -> Option<Self> {
                Token::new(name).map(Self)
            }

            /// As [`new`](Self::new), from the bytes of a header extension.
            pub fn from_bytes(name: &[u8]) -> Option<Self> {
                Token::from_bytes(name).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The name as it travels.
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

named_token! {
    /// Media identification: which media section of the SDP a packet belongs to.
    ///
    /// RFC 9143 sets no limit and recommends 3 bytes; browsers use at most 5. In packets those
    /// beyond 16 bytes need the two-byte form of header extensions, and are read but never written.
    ///
    /// Source: RFC 9143.
    Mid of 64
}

named_token! {
    /// RTP stream identifier: which encoding of a simulcast track a packet belongs to.
    ///
    /// Source: RFC 8852.
    Rid of 16
}

impl Mid {
    /// The longest name that is written into packets: more does not fit into header extensions of
    /// the one-byte form (RFC 8285).
    pub const WRITTEN_MAX: usize = 16;

    /// The name as packets carry it; `None` when it is too long.
    pub fn written(self) -> Option<Self> {
        (self.as_bytes().len() <= Self::WRITTEN_MAX).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_token_characters_up_to_their_limit() {
        assert_eq!(Mid::new("0").unwrap().as_str(), "0");
        assert_eq!(Mid::new(&"m".repeat(64)).unwrap().as_bytes().len(), 64);
        assert_eq!(Mid::new(&"m".repeat(65)), None);
        assert_eq!(Rid::new("0123456789abcdef").unwrap().as_bytes().len(), 16);
        for refused in ["", "0123456789abcdefg", "a b", "a\r\n", "é", "a:b", "a\0"] {
            assert_eq!(Token::<16>::new(refused), None, "{refused:?}");
        }
    }

    #[test]
    fn printing_shows_the_name() {
        let rid = Rid::from_bytes(b"hi").unwrap();
        assert_eq!(format!("{rid} {rid:?} {:>4}", rid.0), "hi Rid(\"hi\")   hi");
    }
}
