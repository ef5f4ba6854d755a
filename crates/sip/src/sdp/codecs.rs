//! Taking codecs out of a section.

use std::collections::{HashMap, HashSet};

use super::Section;
use crate::limits::{CODECS_MAX, FORMATS_MAX};

/// The codecs that the other side is offered. Nothing is transcoded: a codec can only be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodecPolicy {
    /// Codecs to take out, as `PCMU`, `opus/48000/2` or `all`.
    pub strip: Vec<String>,
    /// Codecs that stay even so.
    pub except: Vec<String>,
    /// Codecs that stay even so, in this order.
    pub offer: Vec<String>,
    /// Codecs to hide from the other side and to transcode from another codec. If `transcode`
    /// names codecs they stay, because nothing is transcoded here.
    pub mask: Vec<String>,
    /// Codecs to have, whether or not they are offered.
    pub transcode: Vec<String>,
    /// Codecs to hide from the other side and to transcode in any case. They stay.
    pub consume: Vec<String>,
}

/// Names of the payload types that need no `a=rtpmap` (RFC 3551 section 6), as far as phones use
/// them.
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

/// The packet time of most audio in milliseconds, and that of G.723, used when none is stated (RFC
/// 3551 section 4.5).
const PACKET_TIME: u64 = 20;
const PACKET_TIME_G723: u64 = 30;

/// The clock of most telephone audio, used when none is stated.
pub(crate) const TELEPHONE_CLOCK: u32 = 8_000;

impl Section<'_> {
    /// The clock of the first format, in ticks a second, when it is known.
    pub(crate) fn clock_rate(&self) -> Option<u32> {
        let first = self.formats.split_ascii_whitespace().next()?;
        let rate = names(self).get(first)?.split('/').nth(1)?.parse().ok();
        rate.filter(|rate| *rate > 0)
    }

    /// The first format as `PCMU/8000`, when it is known.
    pub(crate) fn codec(&self) -> Option<String> {
        let first = self.formats.split_ascii_whitespace().next()?;
        names(self).remove(first)
    }

    /// The packet time that it states.
    pub(crate) fn stated_packet_time(&self) -> Option<u64> {
        let said = self.lines.iter().filter_map(|line| line.attribute());
        let mut said = said.filter(|(name, _)| *name == "ptime");
        said.next()?.1.trim().parse().ok()
    }

    /// Its packet time in milliseconds.
    fn packet_time(&self) -> u64 {
        let is_g723 = || self.codec().is_some_and(|codec| codec.starts_with("G723/"));
        self.stated_packet_time().unwrap_or_else(|| match is_g723() {
            true => PACKET_TIME_G723,
            false => PACKET_TIME,
        })
    }
}

impl CodecPolicy {
    /// The payload types of `section` to remove, in the order of its format list. They are never
    /// all of them: a section without formats is invalid.
    ///
    /// `single` leaves the first remaining codec, and the formats that go with any: telephone
    /// events and comfort noise.
    pub fn unwanted<'a>(&self, section: &Section<'a>, single: bool) -> Vec<&'a str> {
        if !section.is_rtp() || !single && self.strip.is_empty() && self.mask.is_empty() {
            return Vec::new();
        }
        let names = names(section);
        let name = |format: &str| names.get(format).map(String::as_str).unwrap_or_default();
        let formats: Vec<&str> = section.formats.split_ascii_whitespace().take(FORMATS_MAX).collect();
        let (mut unwanted, stay): (Vec<&str>, Vec<&str>) =
            formats.iter().copied().partition(|format| self.takes_out(name(format)));
        if single {
            let codecs = stay.into_iter().filter(|format| !is_supplement(name(format)));
            unwanted.extend(codecs.skip(1));
        }
        let mut orphans = orphans(&formats, &unwanted, &names);
        orphans.retain(|format| !self.spares(name(format)));
        if unwanted.len() + orphans.len() < formats.len() {
            unwanted.extend(orphans);
        }
        if unwanted.len() == formats.len() {
            Vec::new()
        } else {
            unwanted
        }
    }

    /// The payload types of `section` that stay only because they are offered. They follow the
    /// others in this order.
    pub fn order<'a>(&self, section: &Section<'a>) -> Vec<&'a str> {
        if !section.is_rtp() || self.offer.is_empty() {
            return Vec::new();
        }
        let names = names(section);
        let name = |format: &str| names.get(format).map(String::as_str).unwrap_or_default();
        let place = |name: &str| {
            self.offer
                .iter()
                .position(|wanted| matches(std::slice::from_ref(wanted), name))
        };
        let formats = section.formats.split_ascii_whitespace().take(FORMATS_MAX);
        let mut offered: Vec<(usize, &str)> = formats
            .filter(|format| self.is_named(name(format)) && !matches(&self.except, name(format)))
            .filter_map(|format| Some((place(name(format))?, format)))
            .collect();
        offered.sort_by_key(|(place, _)| *place);
        offered.into_iter().map(|(_, format)| format).collect()
    }

    fn takes_out(&self, name: &str) -> bool {
        self.is_named(name) && !self.spares(name)
    }

    /// Whether it stays although it is named.
    fn spares(&self, name: &str) -> bool {
        matches(&self.except, name) || matches(&self.offer, name)
    }

    /// Whether it is named to be taken out.
    fn is_named(&self, name: &str) -> bool {
        let mask: &[String] = if self.transcode.is_empty() { &self.mask } else { &[] };
        let is_all = |wanted: &&String| wanted.eq_ignore_ascii_case("all") || wanted.eq_ignore_ascii_case("full");
        let lists = [&self.strip[..], mask];
        let named = lists.iter().any(|list| matches(list, name));
        let all = lists.iter().any(|list| list.iter().any(|wanted| is_all(&wanted)));
        named || all && !matches(&self.transcode, name)
    }

    /// Whether every codec to transcode to is offered already, in every wanted audio section.
    pub(crate) fn is_offered(&self, sections: &[Section<'_>]) -> bool {
        sound(sections).all(|section| {
            let names = names(section);
            let has = |wanted: &String| names.values().any(|name| matches(std::slice::from_ref(wanted), name));
            self.transcode.iter().all(has)
        })
    }

    /// Whether a codec to consume is offered in a wanted audio section. One that is not makes no
    /// difference.
    pub(crate) fn is_consumed(&self, sections: &[Section<'_>]) -> bool {
        let is_all = |wanted: &String| wanted.eq_ignore_ascii_case("all") || wanted.eq_ignore_ascii_case("full");
        sound(sections).any(|section| {
            let all = self.consume.iter().any(is_all);
            all || names(section).values().any(|name| matches(&self.consume, name))
        })
    }
}

/// Whether packets of every wanted audio section have this length, in milliseconds.
pub(crate) fn has_packet_time(sections: &[Section<'_>], wanted: u64) -> bool {
    sound(sections).all(|section| section.packet_time() == wanted)
}

fn sound<'a, 's>(sections: &'a [Section<'s>]) -> impl Iterator<Item = &'a Section<'s>> {
    let is_wanted = |section: &&Section<'_>| section.port != 0 && section.is_rtp() && section.media == "audio";
    sections.iter().filter(is_wanted)
}

/// Whether it is a supplement to other audio.
fn is_supplement(name: &str) -> bool {
    ["TELEPHONE-EVENT", "CN"].contains(&name.split('/').next().unwrap_or_default())
}

/// Telephone events and comfort noise at a clock at which codecs were removed, and none is left.
fn orphans<'a>(formats: &[&'a str], unwanted: &[&str], names: &HashMap<&str, String>) -> Vec<&'a str> {
    let unwanted: HashSet<&str> = unwanted.iter().copied().collect();
    let clock = |format: &str| names.get(format).and_then(|name| name.split('/').nth(1));
    let supplements = |format: &str| names.get(format).is_some_and(|name| is_supplement(name));
    let (mut taken_out, mut left) = (HashSet::new(), HashSet::new());
    for format in formats.iter().filter(|format| !supplements(format)) {
        let clocks = if unwanted.contains(format) {
            &mut taken_out
        } else {
            &mut left
        };
        clocks.extend(clock(format));
    }
    let is_needless = |clock: &str| taken_out.contains(clock) && !left.contains(clock);
    let is_orphan =
        |format: &&str| supplements(format) && !unwanted.contains(format) && clock(format).is_some_and(is_needless);
    formats.iter().copied().filter(is_orphan).collect()
}

/// The codecs of the payload types of a section, as `OPUS/48000/2`.
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

/// Whether one of `wanted` means the codec by name: all of it, or the beginning up to a slash.
fn matches(wanted: &[String], name: &str) -> bool {
    wanted.iter().take(CODECS_MAX).any(|wanted| {
        let beginning = name.get(..wanted.len());
        let is_whole = matches!(name.as_bytes().get(wanted.len()), None | Some(b'/'));
        !name.is_empty() && is_whole && beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(wanted))
    })
}
