//! Payload types and their formats.

use super::{Feedback, Flaw};
use crate::{Codec, PayloadType};

/// How many payload types there can be.
const PAYLOAD_TYPES: usize = 128;

/// One payload type of a media section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The number.
    pub payload_type: PayloadType,
    /// Encoding name, as written.
    pub name: String,
    /// Units of RTP timestamps, in hertz.
    pub clock_rate: u32,
    /// Channels of audio; 1 by default.
    pub channels: u8,
    /// Parameters (`a=fmtp`).
    pub parameters: Parameters,
    /// Feedback that may be sent.
    pub feedback: Feedback,
}

impl Format {
    /// The codec, when Weir forwards it.
    pub fn codec(&self) -> Option<Codec> {
        Codec::from_name(&self.name).filter(|codec| codec.clock_rate() == self.clock_rate)
    }

    /// Which payload type this one retransmits (RFC 4588 section 8.6).
    pub fn retransmits(&self) -> Option<PayloadType> {
        let apt = self
            .parameters
            .value("apt")
            .filter(|_| self.name.eq_ignore_ascii_case("rtx"))?;
        PayloadType::new(apt.parse().ok()?)
    }

    /// Whether feedback of this sort may be sent.
    pub fn has_feedback(&self, feedback: &str) -> bool {
        self.feedback.contains(feedback)
    }
}

/// Parameters of a format, as written after `a=fmtp:`: `name=value` pairs between semicolons, or
/// the codec's own form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters(pub String);

impl Parameters {
    /// The value of a parameter; names are compared without case.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.pairs()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All parameters; those without a value have an empty one.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.0.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.split_once('=').unwrap_or((part, "")))
    }
}

/// The attributes of a section that describe payload types, gathered in one pass.
pub(super) struct Lines<'a> {
    codecs: [Option<&'a str>; PAYLOAD_TYPES],
    parameters: [Option<&'a str>; PAYLOAD_TYPES],
    feedback: [Feedback; PAYLOAD_TYPES],
    /// Of all payload types.
    feedback_of_all: Feedback,
}

impl Default for Lines<'_> {
    fn default() -> Self {
        Self {
            codecs: [None; PAYLOAD_TYPES],
            parameters: [None; PAYLOAD_TYPES],
            feedback: [Feedback::default(); PAYLOAD_TYPES],
            feedback_of_all: Feedback::default(),
        }
    }
}

impl<'a> Lines<'a> {
    /// Takes an `a=rtpmap` in.
    pub(super) fn codec(&mut self, text: &'a str) -> Result<(), Flaw> {
        let (number, text) = of_payload_type(text).ok_or(Flaw::Unreadable("rtpmap"))?;
        read_codec(text).ok_or(Flaw::Unreadable("rtpmap"))?;
        say_once(&mut self.codecs[number], text, "rtpmap")
    }

    /// Takes an `a=fmtp` in.
    pub(super) fn parameters(&mut self, text: &'a str) -> Result<(), Flaw> {
        let (number, text) = of_payload_type(text).ok_or(Flaw::Unreadable("fmtp"))?;
        say_once(&mut self.parameters[number], text, "fmtp")
    }

    /// Takes an `a=rtcp-fb` in.
    pub(super) fn feedback(&mut self, text: &'a str) -> Result<(), Flaw> {
        if let Some(("*", kind)) = text.split_once(' ') {
            self.feedback_of_all.insert(kind);
            return Ok(());
        }
        let (number, kind) = of_payload_type(text).ok_or(Flaw::Unreadable("rtcp-fb"))?;
        self.feedback[number].insert(kind);
        Ok(())
    }

    /// The payload types that a media line lists, each once, and the first fault of the list.
    pub(super) fn formats(&self, listed: &str) -> (Vec<Format>, Option<Flaw>) {
        let (mut formats, mut flaw, mut seen) = (Vec::new(), None, [false; PAYLOAD_TYPES]);
        for word in listed.split_ascii_whitespace() {
            let Some(payload_type) = word.parse().ok().and_then(PayloadType::new) else {
                flaw = Some(Flaw::Unreadable("payload type"));
                continue;
            };
            if std::mem::replace(&mut seen[usize::from(payload_type.get())], true) {
                flaw = Some(Flaw::Repeated("payload type"));
                continue;
            }
            // A number without a format is useless.
            formats.extend(self.format(payload_type));
        }
        (formats, flaw)
    }

    fn format(&self, payload_type: PayloadType) -> Option<Format> {
        let number = usize::from(payload_type.get());
        let (name, clock_rate, channels) = match self.codecs[number] {
            Some(text) => read_codec(text)?,
            None => assigned(payload_type.get()).map(|(name, clock_rate)| (name, clock_rate, 1))?,
        };
        Some(Format {
            payload_type,
            name: name.to_owned(),
            clock_rate,
            channels,
            parameters: Parameters(self.parameters[number].unwrap_or_default().to_owned()),
            feedback: self.feedback[number].or(self.feedback_of_all),
        })
    }
}

/// The payload type of a line, and the rest of it.
fn of_payload_type(text: &str) -> Option<(usize, &str)> {
    let (number, text) = text.split_once(|letter: char| letter.is_ascii_whitespace())?;
    let payload_type = number.parse().ok().and_then(PayloadType::new)?;
    Some((payload_type.get().into(), text.trim()))
}

fn say_once<'a>(known: &mut Option<&'a str>, text: &'a str, name: &'static str) -> Result<(), Flaw> {
    match *known.get_or_insert(text) == text {
        true => Ok(()),
        false => Err(Flaw::Repeated(name)),
    }
}

/// Encoding name, clock rate and channels.
fn read_codec(text: &str) -> Option<(&str, u32, u8)> {
    let mut parts = text.split('/');
    let name = parts.next().filter(|name| !name.is_empty() && !name.contains(' '))?;
    let clock_rate = parts.next()?.parse().ok()?;
    let channels = match parts.next() {
        Some(channels) => channels.parse().ok().filter(|count| *count > 0)?,
        None => 1,
    };
    Some((name, clock_rate, channels))
}

/// The formats with a static number in RFC 3551, which need no `a=rtpmap`.
fn assigned(payload_type: u8) -> Option<(&'static str, u32)> {
    Some(match payload_type {
        0 => ("PCMU", 8_000),
        8 => ("PCMA", 8_000),
        9 => ("G722", 8_000),
        13 => ("CN", 8_000),
        _ => return None,
    })
}
