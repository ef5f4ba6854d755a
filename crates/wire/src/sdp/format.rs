//! Payload types and what they stand for.

use crate::{Codec, PayloadType};

/// One payload type of a media section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The number.
    pub payload_type: PayloadType,
    /// Encoding name, as written.
    pub name: String,
    /// Units of RTP timestamps, in hertz.
    pub clock_rate: u32,
    /// Channels of audio; 1 where nothing is said.
    pub channels: u8,
    /// Parameters (`a=fmtp`).
    pub parameters: Parameters,
    /// Feedback that may be sent, as `nack pli` (RFC 4585 section 4.2).
    pub feedback: Vec<String>,
}

impl Format {
    /// The codec, when Weir forwards it.
    pub fn codec(&self) -> Option<Codec> {
        Codec::from_name(&self.name).filter(|codec| codec.clock_rate() == self.clock_rate)
    }

    /// Which payload type this one retransmits (RFC 4588 section 8.6).
    pub fn retransmits(&self) -> Option<PayloadType> {
        let apt = self.parameters.value("apt").filter(|_| self.name.eq_ignore_ascii_case("rtx"))?;
        PayloadType::new(apt.parse().ok()?)
    }

    /// Whether feedback of this sort may be sent.
    pub fn has_feedback(&self, feedback: &str) -> bool {
        self.feedback.iter().any(|known| known.eq_ignore_ascii_case(feedback))
    }
}

/// Parameters of a format, as written after `a=fmtp:`: `name=value` pairs between semicolons, or whatever the codec defines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters(pub String);

impl Parameters {
    /// The value of a parameter; names are compared without case.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All parameters; those that have no value have an empty one.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.0.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.split_once('=').unwrap_or((part, "")))
    }
}

/// The formats RFC 3551 gives a number for good, which need no `a=rtpmap`.
pub(super) fn assigned(payload_type: u8) -> Option<(&'static str, u32)> {
    Some(match payload_type {
        0 => ("PCMU", 8_000),
        8 => ("PCMA", 8_000),
        9 => ("G722", 8_000),
        13 => ("CN", 8_000),
        _ => return None,
    })
}
