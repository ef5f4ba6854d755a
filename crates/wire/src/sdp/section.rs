//! One media section, as its lines are read.

use super::bounded::Bounded;
use super::format::Lines;
use super::inherited::Inherited;
use super::values::{parse_msid, parse_rid, parse_simulcast, parse_ssrc, parse_ssrc_group, take_word};
use super::{Candidate, Flaw, LeftOut, MediaSection, SectionKind};
use crate::limits::{CANDIDATES_MAX, MSIDS_MAX, PROTOCOL_MAX, RIDS_MAX, SSRC_GROUPS_MAX, SSRC_LINES_MAX, VALUE_MAX};
use crate::{MediaKind, Mid};

/// A payload type without a format, for a line that must have one.
pub(super) const NOTHING: &str = "127";

/// A media section whose lines are being read.
pub(super) struct Section<'a> {
    /// The number of its first line.
    pub(super) number: usize,
    section: MediaSection,
    /// The formats of its first line.
    listed: &'a str,
    port: u16,
    /// `None` inside is a name that cannot be used.
    mid: Option<Option<Mid>>,
    own: Inherited<'a>,
    simulcast: Option<&'a str>,
    /// Why it cannot be used.
    flaw: Option<Flaw>,
}

impl<'a> Section<'a> {
    /// A section with this media line. An unreadable one is kept as one that can only be refused.
    pub(super) fn begin(number: usize, line: &'a str) -> Self {
        let mut rest = line;
        let fits = |word: &&str| word.len() <= PROTOCOL_MAX;
        let media = take_word(&mut rest).filter(fits);
        let port = take_word(&mut rest).and_then(|word| word.split('/').next()?.parse().ok());
        let protocol = take_word(&mut rest).filter(fits);
        let listed = Some(rest.trim_ascii()).filter(|rest| !rest.is_empty());
        let is_whole = media.is_some() && port.is_some() && protocol.is_some() && listed.is_some();
        let (media, protocol) = (media.unwrap_or("application"), protocol.unwrap_or("UDP/TLS/RTP/SAVPF"));
        let listed = listed.unwrap_or(NOTHING);
        let nameless = Mid::new("0").expect("a number is a token");
        let mut section = MediaSection::new(kind(media, protocol, listed), nameless);
        protocol.clone_into(&mut section.protocol);
        Self {
            number,
            section,
            listed,
            port: port.unwrap_or(0),
            mid: None,
            own: Inherited::default(),
            simulcast: None,
            flaw: (!is_whole).then_some(Flaw::Unreadable("m= line")),
        }
    }

    pub(super) fn attribute(
        &mut self,
        name: &'static str,
        value: &'a str,
        formats: &mut Lines<'a>,
    ) -> Result<(), Flaw> {
        let section = &mut self.section;
        match name {
            "mid" if self.mid.is_some() => return Err(Flaw::Repeated(name)),
            "mid" => self.mid = Some(Mid::new(value)),
            "bundle-only" => section.bundle_only = true,
            "end-of-candidates" => section.end_of_candidates = true,
            "candidate" => {
                if let Some(candidate) = Candidate::parse(value).ok_or(Flaw::Unreadable(name))? {
                    return section.candidates.add(Some(candidate), CANDIDATES_MAX, name);
                }
            }
            _ => match section.kind {
                SectionKind::Media(_) => return self.media_attribute(name, value, formats),
                SectionKind::Data => return self.data_attribute(name, value),
                SectionKind::Other { .. } => return self.own.attribute(name, value),
            },
        }
        Ok(())
    }

    fn media_attribute(&mut self, name: &'static str, value: &'a str, formats: &mut Lines<'a>) -> Result<(), Flaw> {
        let section = &mut self.section;
        match name {
            "rtcp-mux" => section.rtcp_mux = true,
            "rtcp-rsize" => section.rtcp_rsize = true,
            "rtpmap" => return formats.codec(value),
            "fmtp" => return formats.parameters(value),
            "rtcp-fb" => return formats.feedback(value),
            "simulcast" if self.simulcast.is_some() => return Err(Flaw::Repeated(name)),
            "simulcast" => self.simulcast = Some(value),
            "rid" => {
                let read = parse_rid(value).ok_or(Flaw::Unreadable(name))?;
                if section.rids.iter().any(|known| known.rid == read.rid) {
                    return Err(Flaw::Repeated(name));
                }
                return section.rids.add(Some(read), RIDS_MAX, name);
            }
            "msid" => return section.msids.add(parse_msid(value), MSIDS_MAX, name),
            "ssrc" => return section.ssrcs.add(parse_ssrc(value), SSRC_LINES_MAX, name),
            "ssrc-group" => return section.ssrc_groups.add(parse_ssrc_group(value), SSRC_GROUPS_MAX, name),
            _ => return self.own.attribute(name, value),
        }
        Ok(())
    }

    fn data_attribute(&mut self, name: &'static str, value: &'a str) -> Result<(), Flaw> {
        let unreadable = Flaw::Unreadable(name);
        match name {
            "sctp-port" => self.section.sctp_port = Some(value.parse().map_err(|_| unreadable)?),
            "max-message-size" => self.section.max_message_size = Some(value.parse().map_err(|_| unreadable)?),
            _ => return self.own.attribute(name, value),
        }
        Ok(())
    }

    /// The section, the name it has, if any, and why it cannot be used, if so.
    pub(super) fn finish(
        self,
        lines: &mut Lines<'a>,
        session: &Inherited<'_>,
        left_out: &mut LeftOut,
    ) -> (MediaSection, Option<Option<Mid>>, Option<Flaw>) {
        let mut section = self.section;
        section.rejected = self.port == 0 && !section.bundle_only;
        if let SectionKind::Media(_) = section.kind {
            let (formats, flaw) = std::mem::take(lines).formats(self.listed);
            section.formats = formats;
            // Faults of a refused section do not matter.
            let flaw = flaw.filter(|_| !section.rejected);
            flaw.into_iter().for_each(|flaw| left_out.line(self.number, flaw));
        }
        if let Some(said) = self.simulcast {
            let (simulcast, is_whole) = parse_simulcast(said, &section.rids);
            section.simulcast = simulcast;
            if !is_whole {
                left_out.line(self.number, Flaw::Unreadable("simulcast"));
            }
        }
        self.own.settle(session, &mut section);
        (section, self.mid, self.flaw)
    }
}

fn kind(media: &str, protocol: &str, listed: &str) -> SectionKind {
    match media {
        "audio" if protocol.contains("RTP/") => SectionKind::Media(MediaKind::Audio),
        "video" if protocol.contains("RTP/") => SectionKind::Media(MediaKind::Video),
        "application" if protocol.ends_with("DTLS/SCTP") && listed == "webrtc-datachannel" => SectionKind::Data,
        _ if listed.len() <= VALUE_MAX => other(media, listed),
        _ => other(media, NOTHING),
    }
}

fn other(media: &str, formats: &str) -> SectionKind {
    SectionKind::Other {
        media: media.to_owned(),
        formats: formats.to_owned(),
    }
}
