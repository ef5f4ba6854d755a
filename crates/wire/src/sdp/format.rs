//! Payload types and what they stand for.

use std::collections::BTreeMap;

use sdp_types::Media;

use super::SdpError;
use super::parse::FEEDBACK_LINES_MAX;
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
        let apt = self
            .parameters
            .value("apt")
            .filter(|_| self.name.eq_ignore_ascii_case("rtx"))?;
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
        self.pairs()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All parameters; those that have no value have an empty one.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.0.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.split_once('=').unwrap_or((part, "")))
    }
}

impl Format {
    /// The payload types a media line lists, with what the section's attributes say of them.
    pub(super) fn parse_all(media: &Media) -> Result<Vec<Self>, SdpError> {
        let lines = Lines::collect(media)?;
        let mut formats: Vec<Self> = Vec::new();
        for word in media.fmt.split_ascii_whitespace() {
            let number: u8 = word.parse().map_err(|_| SdpError::Attribute("rtpmap"))?;
            let payload_type = PayloadType::new(number).ok_or(SdpError::Attribute("rtpmap"))?;
            if formats.iter().any(|known| known.payload_type == payload_type) {
                return Err(SdpError::PayloadTypeTaken(number));
            }
            // A number that stands for nothing is of no use to anybody.
            let Some((name, clock_rate, channels)) = lines.codec(number)? else {
                continue;
            };
            let parameters = lines.parameters.get(&number).copied().unwrap_or_default();
            let feedback = lines.feedback(number);
            formats.push(Self {
                payload_type,
                name,
                clock_rate,
                channels,
                parameters: Parameters(parameters.to_owned()),
                feedback,
            });
        }
        Ok(formats)
    }
}

/// The attributes of a section that speak of payload types, gathered in one pass.
#[derive(Default)]
struct Lines<'a> {
    codecs: BTreeMap<u8, &'a str>,
    parameters: BTreeMap<u8, &'a str>,
    /// `None` speaks of all payload types.
    feedback: Vec<(Option<u8>, &'a str)>,
}

impl<'a> Lines<'a> {
    fn collect(media: &'a Media) -> Result<Self, SdpError> {
        let mut lines = Self::default();
        for attribute in &media.attributes {
            let text = attribute.value.as_deref().unwrap_or_default().trim();
            let Some((number, text)) = text.split_once(' ') else {
                continue;
            };
            let (number, all) = (number.parse::<u8>().ok(), number == "*");
            match (attribute.attribute.as_str(), number) {
                ("rtpmap", Some(number)) => _ = lines.codecs.entry(number).or_insert(text.trim()),
                ("fmtp", Some(number)) => _ = lines.parameters.entry(number).or_insert(text.trim()),
                ("rtcp-fb", number) if number.is_some() || all => lines.feedback.push((number, text.trim())),
                _ => {}
            }
        }
        match lines.feedback.len() > FEEDBACK_LINES_MAX {
            true => Err(SdpError::TooMany("rtcp-fb")),
            false => Ok(lines),
        }
    }

    /// Encoding name, clock rate and channels of a payload type.
    fn codec(&self, number: u8) -> Result<Option<(String, u32, u8)>, SdpError> {
        let Some(text) = self.codecs.get(&number) else {
            return Ok(assigned(number).map(|(name, clock_rate)| (name.to_owned(), clock_rate, 1)));
        };
        let mut parts = text.split('/');
        let name = parts.next().filter(|name| !name.is_empty() && !name.contains(' '));
        let clock_rate = parts.next().and_then(|rate| rate.parse().ok());
        let channels = parts
            .next()
            .map_or(Some(1), |channels| channels.parse().ok().filter(|count| *count > 0));
        match (name, clock_rate, channels) {
            (Some(name), Some(clock_rate), Some(channels)) => Ok(Some((name.to_owned(), clock_rate, channels))),
            _ => Err(SdpError::Attribute("rtpmap")),
        }
    }

    fn feedback(&self, number: u8) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (of, text) in &self.feedback {
            if of.is_none_or(|of| of == number) && !found.iter().any(|known| known == text) {
                found.push((*text).to_owned());
            }
        }
        found
    }
}

/// The formats RFC 3551 gives a number for good, which need no `a=rtpmap`.
fn assigned(payload_type: u8) -> Option<(&'static str, u32)> {
    Some(match payload_type {
        0 => ("PCMU", 8_000),
        8 => ("PCMA", 8_000),
        9 => ("G722", 8_000),
        13 => ("CN", 8_000),
        _ => return None,
    })
}
