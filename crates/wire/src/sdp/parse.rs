//! From text to values, in one pass over the lines.
//!
//! A faulty line costs that line, a faulty section that section: both are left out and reported in
//! [`LeftOut`]. A description is refused only for faults that make all of it meaningless.

use std::collections::HashMap;

use super::format::Lines;
use super::inherited::Inherited;
use super::section::Section;
use super::{Flaw, LeftOut, SdpError, SessionDescription};
use crate::Mid;
use crate::limits::{DESCRIPTION_MAX, SECTIONS_MAX, VALUE_MAX};

/// Attributes that are read; others are skipped, however long they are.
const READ: [&str; 29] = [
    "bundle-only",
    "candidate",
    "end-of-candidates",
    "extmap",
    "extmap-allow-mixed",
    "fingerprint",
    "fmtp",
    "group",
    "ice-lite",
    "ice-options",
    "ice-pwd",
    "ice-ufrag",
    "inactive",
    "max-message-size",
    "mid",
    "msid",
    "recvonly",
    "rid",
    "rtcp-fb",
    "rtcp-mux",
    "rtcp-rsize",
    "rtpmap",
    "sctp-port",
    "sendonly",
    "sendrecv",
    "setup",
    "simulcast",
    "ssrc",
    "ssrc-group",
];

impl SessionDescription {
    /// Reads an offer or an answer, without unusable parts.
    ///
    /// Errors: any [`SdpError`].
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        Self::read(text).map(|(description, _)| description)
    }

    /// The same as [`parse`](Self::parse), and returns the omitted parts.
    pub fn read(text: &str) -> Result<(Self, LeftOut), SdpError> {
        if text.len() > DESCRIPTION_MAX {
            return Err(SdpError::TooLong);
        }
        let mut lines = lines(text.trim_start_matches('\u{feff}'));
        if lines.next().is_none_or(|(_, line)| line.trim_ascii_end() != "v=0") {
            return Err(SdpError::NotSdp);
        }
        let mut reader = Reader::default();
        for (number, line) in lines {
            reader.line(number, line)?;
        }
        Ok(reader.finish())
    }
}

/// The lines that are not blank, with their numbers. A line ends with LF, with CR and LF, or with
/// CR.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = (1..).zip(text.split('\n'));
    let parts = numbered.flat_map(|(number, line)| line.split('\r').map(move |part| (number, part)));
    parts.filter(|(_, part)| !part.trim_ascii().is_empty())
}

#[derive(Default)]
struct Reader<'a> {
    description: SessionDescription,
    bundle: Option<Bundle>,
    has_origin: bool,
    inherited: Inherited<'a>,
    /// The section whose lines are being read, and its lines about payload types.
    section: Option<Section<'a>>,
    formats: Lines<'a>,
    /// The position of the section of each name.
    names: HashMap<Mid, usize>,
    /// Sections without a name of their own.
    nameless: Vec<usize>,
    left_out: LeftOut,
}

/// An `a=group:BUNDLE`.
struct Bundle {
    line: usize,
    /// How many names it has.
    listed: usize,
    mids: Vec<Mid>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, number: usize, line: &'a str) -> Result<(), SdpError> {
        let (letter, value) = line.split_once('=').unwrap_or(("", ""));
        match letter {
            _ if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') => {
                self.left_out.line(number, Flaw::NotALine);
            }
            "m" => return self.media_line(number, value),
            "a" => self.attribute(number, value),
            "o" if !self.has_origin && self.section.is_none() => self.origin(number, value),
            // None of these is needed, so they have no faults.
            "b" | "c" | "e" | "i" | "k" | "o" | "p" | "r" | "s" | "t" | "u" | "v" | "z" => {}
            _ => self.left_out.line(number, Flaw::NotALine),
        }
        Ok(())
    }

    fn origin(&mut self, number: usize, value: &str) {
        self.has_origin = true;
        let mut words = value.split_ascii_whitespace().skip(1);
        let mut next = || words.next()?.parse().ok();
        self.description.session_id = next().unwrap_or(0);
        match next() {
            Some(version) => self.description.version = version,
            None => self.left_out.line(number, Flaw::Unreadable("o= line")),
        }
    }

    fn media_line(&mut self, number: usize, value: &'a str) -> Result<(), SdpError> {
        self.end_section();
        if self.description.sections.len() == SECTIONS_MAX {
            return Err(SdpError::TooMany("media sections"));
        }
        self.section = Some(Section::begin(number, value));
        Ok(())
    }

    fn attribute(&mut self, number: usize, text: &'a str) {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let Some(name) = READ.into_iter().find(|known| *known == name.trim_ascii_end()) else {
            return;
        };
        let value = value.trim_ascii();
        let read = if value.len() > VALUE_MAX && name != "group" {
            Err(Flaw::TooLong(name))
        } else {
            self.known_attribute(number, name, value)
        };
        if let Err(flaw) = read {
            self.left_out.line(number, flaw);
        }
    }

    fn known_attribute(&mut self, number: usize, name: &'static str, value: &'a str) -> Result<(), Flaw> {
        match (name, &mut self.section) {
            ("extmap-allow-mixed", _) => self.description.extmap_allow_mixed = true,
            (_, Some(section)) => return section.attribute(name, value, &mut self.formats),
            ("ice-lite", None) => self.description.ice_lite = true,
            ("group", None) => self.group(number, value),
            (_, None) => return self.inherited.attribute(name, value),
        }
        Ok(())
    }

    /// The first bundle counts; which of the sections it names exist is known at the end.
    fn group(&mut self, line: usize, value: &str) {
        let mut words = value.split_ascii_whitespace();
        if words.next() == Some("BUNDLE") && self.bundle.is_none() {
            let mids = words.clone().take(SECTIONS_MAX).filter_map(Mid::new).collect();
            let listed = words.count();
            self.bundle = Some(Bundle { line, listed, mids });
        }
    }

    fn end_section(&mut self) {
        let Some(section) = self.section.take() else { return };
        let position = self.description.sections.len();
        let number = section.number;
        let (mut section, name, mut flaw) = section.finish(&mut self.formats, &self.inherited, &mut self.left_out);
        match name {
            None => self.nameless.push(position),
            Some(Some(mid)) if !self.names.contains_key(&mid) => {
                self.names.insert(mid, position);
                section.mid = mid;
            }
            // It cannot be spoken of, so it can only be refused.
            Some(name) => {
                self.nameless.push(position);
                let why = if name.is_some() {
                    Flaw::Repeated("mid")
                } else {
                    Flaw::Unreadable("mid")
                };
                flaw.get_or_insert(why);
            }
        }
        if let Some(flaw) = flaw {
            (section.rejected, section.bundle_only) = (true, false);
            self.left_out.section(number, flaw);
        }
        self.description.sections.push(section);
    }

    fn finish(mut self) -> (SessionDescription, LeftOut) {
        self.end_section();
        for position in std::mem::take(&mut self.nameless) {
            let mid = self.free_name(position);
            self.names.insert(mid, position);
            self.description.sections[position].mid = mid;
        }
        if let Some(Bundle { line, listed, mids }) = self.bundle {
            let mut names = self.names;
            self.description.bundle = mids.into_iter().filter(|mid| names.remove(mid).is_some()).collect();
            if self.description.bundle.len() < listed {
                self.left_out.line(line, Flaw::Unreadable("name in a=group"));
            }
        }
        (self.description, self.left_out)
    }

    /// A section without a name gets its position, or something like it where another section is
    /// called that.
    fn free_name(&self, position: usize) -> Mid {
        let named = |text: String| Mid::new(&text).expect("a number and a dash are a token");
        let mut names = std::iter::once(position.to_string()).chain((0..).map(|n: usize| format!("{position}-{n}")));
        let free = names.find_map(|text| Some(named(text)).filter(|mid| !self.names.contains_key(mid)));
        free.expect("there are more names than sections")
    }
}
