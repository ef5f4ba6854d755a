//! Taking codecs out of a section.

use std::collections::HashMap;

use super::Section;

/// Which codecs the other side gets to see. Nothing is transcoded: a codec can only be taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodecPolicy {
    /// Codecs to take out, as `PCMU`, `opus/48000/2` or `all`.
    pub strip: Vec<String>,
    /// Codecs that stay even so.
    pub except: Vec<String>,
}

/// Names of the payload types that need no `a=rtpmap` (RFC 3551 section 6), as far as phones use them.
const STATIC: [(u8, &str); 12] = [
    (0, "PCMU/8000"),
    (3, "GSM/8000"),
    (4, "G723/8000"),
    (5, "DVI4/8000"),
    (8, "PCMA/8000"),
    (9, "G722/8000"),
    (13, "CN/8000"),
    (15, "G728/8000"),
    (18, "G729/8000"),
    (26, "JPEG/90000"),
    (31, "H261/90000"),
    (34, "H263/90000"),
];

/// The clock of most sound in telephony, for where nobody says.
pub(crate) const TELEPHONE_CLOCK: u32 = 8_000;

impl Section<'_> {
    /// The clock of the format that comes first, in ticks a second, when it is known.
    pub(crate) fn clock_rate(&self) -> Option<u32> {
        let first = self.formats.split_ascii_whitespace().next()?;
        let rate = names(self).get(first)?.split('/').nth(1)?.parse().ok();
        rate.filter(|rate| *rate > 0)
    }
}

impl CodecPolicy {
    /// The payload types of `section` that go, as its format list names them. Never all of them: a section without formats is none.
    pub fn unwanted<'a>(&self, section: &Section<'a>) -> Vec<&'a str> {
        if self.strip.is_empty() || !section.is_rtp() {
            return Vec::new();
        }
        let names = names(section);
        let formats: Vec<&str> = section.formats.split_ascii_whitespace().collect();
        let goes = |format: &&&str| {
            let name = names.get(**format).map(String::as_str).unwrap_or_default();
            matches(&self.strip, name) && !matches(&self.except, name)
        };
        let unwanted: Vec<&str> = formats.iter().filter(goes).copied().collect();
        if unwanted.len() == formats.len() {
            Vec::new()
        } else {
            unwanted
        }
    }
}

/// What the payload types of a section stand for, as `OPUS/48000/2`.
fn names<'a>(section: &Section<'a>) -> HashMap<&'a str, String> {
    let mut names = HashMap::new();
    for format in section.formats.split_ascii_whitespace() {
        let known = STATIC.iter().find(|(number, _)| format.parse() == Ok(*number));
        names.extend(known.map(|(_, name)| (format, (*name).to_owned())));
    }
    for line in &section.lines {
        if let Some(("rtpmap", value)) = line.attribute()
            && let Some((format, name)) = value.split_once(' ')
        {
            names.insert(format, name.trim().to_ascii_uppercase());
        }
    }
    names
}

/// Whether one of `wanted` means the codec: all of it, or the beginning up to a slash.
fn matches(wanted: &[String], name: &str) -> bool {
    wanted.iter().any(|wanted| {
        let wanted = wanted.to_ascii_uppercase();
        let rest = name.strip_prefix(wanted.as_str());
        wanted == "ALL" || (!name.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    })
}
