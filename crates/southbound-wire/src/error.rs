//! The reasons to refuse a message.

use std::fmt;

/// The reason that a message is refused. The program at the other end is at fault. Fields have the
/// name of their message in front.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The message has this many bytes, more than [`MESSAGE_LEN_MAX`](crate::MESSAGE_LEN_MAX).
    TooLong(usize),
    /// The bytes are not a message of this protocol.
    Malformed(prost::DecodeError),
    /// A field is absent that the value needs, or the value of a oneof is unknown.
    Missing(&'static str),
    /// An enum has no value, or one that this version does not know.
    UnknownValue {
        /// The field.
        field: &'static str,
        /// Its number.
        value: i32,
    },
    /// A number is not in the range of its field.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its number.
        value: u64,
    },
    /// A fraction is not from 0 to 1.
    NoFraction(&'static str),
    /// A text or a list of bytes has a length that its field cannot have.
    Length {
        /// The field.
        field: &'static str,
        /// Its length, in bytes.
        len: usize,
    },
    /// A text has characters that its field cannot have.
    Characters(&'static str),
    /// Two header extensions have one id, or one has two.
    Extension(wire::ExtensionMapError),
    /// A further key of a sender has further keys itself.
    NestedKeys,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(len) => write!(f, "a message of {len} bytes is longer than messages may be"),
            Self::Malformed(error) => write!(f, "the bytes are not a message: {error}"),
            Self::Missing(field) => write!(f, "{field} is missing or of a kind that is not known"),
            Self::UnknownValue { field, value } => write!(f, "{field} has the unknown value {value}"),
            Self::OutOfRange { field, value } => write!(f, "{field} is out of range: {value}"),
            Self::NoFraction(field) => write!(f, "{field} is not between 0 and 1"),
            Self::Length { field, len } => write!(f, "{field} cannot have a length of {len} bytes"),
            Self::Characters(field) => write!(f, "{field} has a character that it cannot have"),
            Self::Extension(error) => write!(f, "header extensions contradict each other: {error}"),
            Self::NestedKeys => f.write_str("a further key of a sender has further keys"),
        }
    }
}

impl std::error::Error for Error {}
