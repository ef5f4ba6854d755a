//! Writing: the received lines, except for those about addresses and treatment of media.

mod ice;
mod mids;
mod replaced;

use std::collections::HashSet;
use std::fmt::Write;
use std::net::IpAddr;

use wire::sdp::{Direction, IceCredentials};

use super::{Description, Line, Section};
use ice::{beside, is_ice};
use replaced::{is_dtls, is_replaced};

pub use ice::Candidate;

/// The changes to a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The address of `c=` lines.
    pub address: IpAddr,
    /// The address of the `o=` line, when that is to change.
    pub origin: Option<IpAddr>,
    /// The user name, session id and version of the `o=` line, each when it is to change.
    pub origin_fields: [Option<String>; 3],
    /// The session's name, when that is to change.
    pub session_name: Option<String>,
    /// State that we only answer connectivity checks.
    pub ice_lite: bool,
    /// The relay's name, for [`Description::is_marked`].
    pub mark: Option<String>,
    /// One for each section, or fewer: further sections are dropped.
    pub sections: Vec<SectionRewrite>,
    /// The text after `m=` of sections to append, and their names: offered ones that the
    /// description leaves out.
    pub missing: Vec<(String, Option<String>)>,
}

/// The attribute that names a relay that a description has passed.
const MARK: &str = "weir-relay";

/// The changes to a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRewrite {
    /// The port; 0 refuses the section.
    pub port: u16,
    /// The address of the section's own `c=` line, where it is not the description's: 0.0.0.0 for
    /// media on hold in the old way.
    pub address: Option<IpAddr>,
    /// The section and its address stay unchanged, and no other field here counts: it is not
    /// relayed.
    pub as_it_came: bool,
    /// Its media type, if that is to change.
    pub media: Option<String>,
    /// The transport protocol, when that is to change.
    pub protocol: Option<String>,
    /// The formats to write if there are none.
    pub format: Option<String>,
    /// Payload types that go.
    pub without: Vec<String>,
    /// Payload types that are the last ones, in this order.
    pub order: Vec<String>,
    /// The packet time to write, where none is stated.
    pub packet_time: Option<u64>,
    /// The direction to write at the end; `None` leaves its lines unchanged.
    pub direction: Option<Direction>,
    /// The port of `a=rtcp`.
    pub rtcp: Option<u16>,
    /// Include the address in `a=rtcp`.
    pub rtcp_in_full: bool,
    /// RTP and RTCP may share the port.
    pub rtcp_mux: bool,
    /// The section's name.
    pub mid: Attributes<String>,
    /// SDES and DTLS.
    pub keying: Attributes,
    /// ICE.
    pub ice: Attributes<(IceCredentials, Vec<Candidate>)>,
    /// Our candidates to add, if ICE passes.
    pub candidates: Vec<Candidate>,
    /// They are relays, in the place of the sender's relays, and `a=rtcp` stays as it is.
    pub is_relay: bool,
}

/// Treatment of the attributes of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes<T = Vec<String>> {
    /// They stay as they are.
    Keep,
    /// They are removed, and these are added.
    Replace(T),
    /// They go.
    Strip,
}

impl SectionRewrite {
    /// A section without a port, and without our other values.
    pub fn refused() -> Self {
        Self {
            port: 0,
            address: None,
            as_it_came: false,
            media: None,
            protocol: None,
            format: None,
            without: Vec::new(),
            order: Vec::new(),
            packet_time: None,
            direction: None,
            rtcp: None,
            rtcp_in_full: false,
            rtcp_mux: false,
            mid: Attributes::Keep,
            keying: Attributes::Keep,
            ice: Attributes::Strip,
            candidates: Vec::new(),
            is_relay: false,
        }
    }

    /// A section that stays unchanged.
    pub fn as_it_came() -> Self {
        Self {
            as_it_came: true,
            ..Self::refused()
        }
    }
}

impl Description<'_> {
    /// Whether it went through the relay of that name.
    pub fn is_marked(&self, name: &str) -> bool {
        self.lines.iter().any(|line| line.attribute() == Some((MARK, name)))
    }

    /// The session-level address line.
    fn connection(&self) -> Option<&Line<'_>> {
        self.lines.iter().find(|line| line.letter == b'c')
    }

    /// The description with the changes of `rewrite`.
    ///
    /// Panics: when `rewrite` has more sections.
    pub fn rewrite(&self, rewrite: &Rewrite) -> Vec<u8> {
        assert!(
            rewrite.sections.len() <= self.sections.len(),
            "the rewritten value is present"
        );
        let mut out = Writer::new(self);
        let any_ice = rewrite
            .sections
            .iter()
            .any(|section| section.ice != Attributes::Keep && !section.as_it_came);
        for line in &self.lines {
            out.session_line(line, self, rewrite, any_ice);
        }
        if rewrite.ice_lite {
            out.attribute(format_args!("ice-lite"));
        }
        rewrite
            .mark
            .iter()
            .for_each(|mark| out.attribute(format_args!("{MARK}:{mark}")));
        for (section, change) in self.sections.iter().zip(&rewrite.sections) {
            if change.as_it_came {
                out.section_as_it_came(section, self.connection());
            } else {
                out.section(section, change, rewrite.address);
                // Session-level credentials were removed, so they are added here.
                if any_ice && change.ice == Attributes::Keep && !section.says("ice-ufrag") {
                    section.ice.iter().for_each(|ice| out.credentials(ice));
                }
            }
        }
        for (media, mid) in &rewrite.missing {
            out.line(format_args!("m={media}"));
            mid.iter().for_each(|mid| out.attribute(format_args!("mid:{mid}")));
        }
        out.bytes
    }
}

struct Writer {
    bytes: Vec<u8>,
    end_of_line: &'static str,
}

impl Writer {
    fn new(description: &Description<'_>) -> Self {
        let has_return = description.lines.iter().any(|line| line.raw.ends_with(b"\r\n"));
        Self {
            bytes: Vec::new(),
            end_of_line: if has_return { "\r\n" } else { "\n" },
        }
    }

    fn session_line(&mut self, line: &Line<'_>, description: &Description<'_>, rewrite: &Rewrite, any_ice: bool) {
        match (line.letter, line.attribute()) {
            (b'o', _) => self.origin(line, rewrite),
            (b's', _) if rewrite.session_name.is_some() => {
                self.line(format_args!(
                    "s={}",
                    rewrite.session_name.as_deref().unwrap_or_default()
                ));
            }
            (b'c', _) => self.connection(rewrite.address),
            // Sections are relayed separately: our descriptions have no bundle.
            (_, Some(("group", value))) if value.starts_with("BUNDLE") => {}
            (_, Some(("group", value))) => self.group(line, value, description, rewrite),
            (_, Some(("ice-lite", _))) => {
                let passes = rewrite.sections.iter().any(|section| section.ice == Attributes::Keep);
                if !any_ice || passes && !rewrite.ice_lite {
                    self.keep(line);
                }
            }
            // A session-level attribute is repeated in each section that needs it.
            (_, Some((name, _))) if any_ice && is_ice(name) => {}
            (_, Some((name, _)))
                if is_dtls(name) && rewrite.sections.iter().any(|it| it.keying != Attributes::Keep) => {}
            _ => self.keep(line),
        }
    }

    fn origin(&mut self, line: &Line<'_>, rewrite: &Rewrite) {
        let mut fields: Vec<String> = line.value.split_ascii_whitespace().map(str::to_owned).collect();
        let unchanged = rewrite.origin.is_none() && rewrite.origin_fields.iter().all(Option::is_none);
        if fields.len() != 6 || unchanged {
            return self.keep(line);
        }
        for (field, change) in fields.iter_mut().zip(&rewrite.origin_fields) {
            if let Some(change) = change {
                field.clone_from(change);
            }
        }
        if let Some(address) = rewrite.origin {
            fields[4] = family(address).to_owned();
            fields[5] = address.to_string();
        }
        self.line(format_args!("o={}", fields.join(" ")));
    }

    fn section(&mut self, section: &Section<'_>, change: &SectionRewrite, address: IpAddr) {
        let without: HashSet<&str> = change.without.iter().map(String::as_str).collect();
        self.media_line(section, change, &without);
        let own_address = change.address.unwrap_or(address);
        let has_connection = section.lines.iter().any(|line| line.letter == b'c');
        let mut missing = change.address.filter(|_| !has_connection);
        let mut mid = match &change.mid {
            Attributes::Replace(mid) => Some(mid),
            Attributes::Keep | Attributes::Strip => None,
        };
        for line in &section.lines[1..] {
            // The order is m, i, c, and then the rest.
            if line.letter != b'i' {
                missing.take().into_iter().for_each(|address| self.connection(address));
            }
            if line.letter == b'c' {
                self.connection(own_address);
            } else if change.mid != Attributes::Keep && is_named(line, "mid") {
                mid.take()
                    .into_iter()
                    .for_each(|mid| self.attribute(format_args!("mid:{mid}")));
            } else if !is_replaced(line, section, change, &without) {
                self.keep(line);
            }
        }
        missing.into_iter().for_each(|address| self.connection(address));
        mid.into_iter()
            .for_each(|mid| self.attribute(format_args!("mid:{mid}")));
        if change.port != 0 {
            self.additions(section, change, own_address);
        }
    }

    /// A section whose media is not relayed: its address stays the sender's.
    fn section_as_it_came(&mut self, section: &Section<'_>, connection: Option<&Line<'_>>) {
        let has_connection = section.lines.iter().any(|line| line.letter == b'c');
        let mut missing = connection.filter(|_| !has_connection);
        self.keep(&section.lines[0]);
        for line in &section.lines[1..] {
            if line.letter != b'i' {
                missing.take().into_iter().for_each(|connection| self.keep(connection));
            }
            self.keep(line);
        }
        missing.into_iter().for_each(|connection| self.keep(connection));
    }

    fn media_line(&mut self, section: &Section<'_>, change: &SectionRewrite, without: &HashSet<&str>) {
        let protocol = change.protocol.as_deref().unwrap_or(section.protocol);
        let kept = section
            .formats
            .split_ascii_whitespace()
            .filter(|format| !without.contains(format) && !change.order.iter().any(|last| last == format))
            .chain(change.order.iter().map(String::as_str));
        let formats = match &change.format {
            Some(format) if section.formats.is_empty() => format.clone(),
            _ if without.is_empty() && change.order.is_empty() => section.formats.to_owned(),
            _ => kept.collect::<Vec<_>>().join(" "),
        };
        let media = change.media.as_deref().unwrap_or(section.media);
        let space = if formats.is_empty() { "" } else { " " };
        self.line(format_args!("m={media} {} {protocol}{space}{formats}", change.port));
    }

    fn additions(&mut self, section: &Section<'_>, change: &SectionRewrite, address: IpAddr) {
        if let Some(time) = change.packet_time {
            self.attribute(format_args!("ptime:{time}"));
        }
        if let Some(direction) = change.direction {
            self.attribute(format_args!("{}", direction.name()));
        }
        match change.rtcp.filter(|_| !change.is_relay) {
            Some(port) if change.rtcp_in_full => {
                self.attribute(format_args!("rtcp:{port} IN {} {address}", family(address)));
            }
            Some(port) => self.attribute(format_args!("rtcp:{port}")),
            None => {}
        }
        if change.rtcp_mux {
            self.attribute(format_args!("rtcp-mux"));
        }
        if let Attributes::Replace(lines) = &change.keying {
            lines.iter().for_each(|line| self.attribute(format_args!("{line}")));
        }
        if let Attributes::Replace((credentials, candidates)) = &change.ice {
            self.credentials(credentials);
            // The priority of a host's only address (RFC 8445 section 5.1.2.1).
            self.candidates(candidates, 1, (126 << 16) + 65_535, false);
            self.attribute(format_args!("end-of-candidates"));
        }
        if !change.candidates.is_empty() {
            let (foundation, preference) = beside(section, change.is_relay);
            self.candidates(&change.candidates, foundation, preference, change.is_relay);
        }
    }

    fn connection(&mut self, address: IpAddr) {
        self.line(format_args!("c=IN {} {address}", family(address)));
    }

    fn attribute(&mut self, text: std::fmt::Arguments<'_>) {
        self.line(format_args!("a={text}"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.begin_line();
        let mut line = String::new();
        write!(line, "{text}").expect("writing to a string cannot fail");
        self.bytes.extend(line.bytes());
        self.bytes.extend(self.end_of_line.bytes());
    }

    fn keep(&mut self, line: &Line<'_>) {
        // A blank line ends some parsers' attention, and more may follow here.
        if line.raw.trim_ascii().is_empty() {
            return;
        }
        self.begin_line();
        self.bytes.extend_from_slice(line.raw);
    }

    /// The last received line may lack its end.
    fn begin_line(&mut self) {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.bytes.extend(self.end_of_line.bytes());
        }
    }
}

fn is_named(line: &Line<'_>, name: &str) -> bool {
    line.attribute().is_some_and(|(own, _)| own == name)
}

const fn family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IP4",
        IpAddr::V6(_) => "IP6",
    }
}
