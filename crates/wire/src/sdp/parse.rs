//! From text to values.

use sdp_types::{Attribute, Media, Session};

use super::{
    Candidate, Direction, Extension, Fingerprint, Format, HashFunction, IceCredentials, MediaSection, Msid,
    RidDirection, RidLine, SdpError, SectionKind, SessionDescription, Setup, Simulcast, SsrcGroup, SsrcLine,
};
use crate::{MediaKind, Mid, Rid, Ssrc};

/// The longest description, in bytes. A meeting of a hundred people with every codec of a browser needs half of it.
pub const DESCRIPTION_MAX: usize = 1 << 20;
/// Media sections in a description.
pub const SECTIONS_MAX: usize = 512;
/// Header extensions in a section.
pub const EXTENSIONS_MAX: usize = 64;
/// Candidates in a section; more are not an error but left out.
pub const CANDIDATES_MAX: usize = 64;
/// Fingerprints in a section.
pub const FINGERPRINTS_MAX: usize = 8;
/// Encoding names in a section.
pub const RIDS_MAX: usize = 16;
/// `a=rtcp-fb` lines in a section.
pub const FEEDBACK_LINES_MAX: usize = 1024;
/// `a=msid` lines in a section.
pub const MSIDS_MAX: usize = 16;
/// `a=ssrc` lines in a section.
pub const SSRC_LINES_MAX: usize = 128;
/// `a=ssrc-group` lines in a section.
pub const SSRC_GROUPS_MAX: usize = 32;

impl SessionDescription {
    /// Reads an offer or an answer.
    ///
    /// Errors: any [`SdpError`]. Attributes Weir does not know are skipped, known ones must have a readable value.
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        if text.len() > DESCRIPTION_MAX {
            return Err(SdpError::TooLong);
        }
        let session = Session::parse(text.as_bytes()).map_err(|error| SdpError::Syntax(error.to_string()))?;
        if session.medias.len() > SECTIONS_MAX {
            return Err(SdpError::TooMany("media sections"));
        }
        let mut sections: Vec<MediaSection> = Vec::with_capacity(session.medias.len());
        for (position, media) in session.medias.iter().enumerate() {
            let section = parse_section(&session, media, position)?;
            if sections.iter().any(|known| known.mid == section.mid) {
                return Err(SdpError::MidTaken(section.mid));
            }
            sections.push(section);
        }
        Ok(Self {
            session_id: session.origin.sess_id.parse().unwrap_or(0),
            version: session.origin.sess_version,
            bundle: parse_bundle(&session)?,
            ice_lite: session.has_attribute("ice-lite"),
            extmap_allow_mixed: session.has_attribute("extmap-allow-mixed")
                || session
                    .medias
                    .iter()
                    .any(|media| media.has_attribute("extmap-allow-mixed")),
            sections,
        })
    }
}

fn parse_bundle(session: &Session) -> Result<Vec<Mid>, SdpError> {
    let groups = session
        .attributes
        .iter()
        .filter(|attribute| attribute.attribute == "group");
    let mut words = groups
        .filter_map(|group| group.value.as_deref())
        .map(str::split_ascii_whitespace);
    let Some(mids) = words.find_map(|mut words| (words.next() == Some("BUNDLE")).then_some(words)) else {
        return Ok(Vec::new());
    };
    let mids: Option<Vec<_>> = mids.map(Mid::new).take(SECTIONS_MAX + 1).collect();
    mids.filter(|mids| mids.len() <= SECTIONS_MAX)
        .ok_or(SdpError::Attribute("group"))
}

fn parse_section(session: &Session, media: &Media, position: usize) -> Result<MediaSection, SdpError> {
    let mid = match value(&media.attributes, "mid") {
        Some(mid) => Mid::new(mid).ok_or(SdpError::Attribute("mid"))?,
        None => Mid::new(&position.to_string()).expect("a number below SECTIONS_MAX is a token"),
    };
    let kind = parse_kind(media);
    let mut section = MediaSection::new(kind, mid);
    section.protocol.clone_from(&media.proto);
    section.bundle_only = media.has_attribute("bundle-only");
    section.rejected = media.port == 0 && !section.bundle_only;
    if let SectionKind::Media(_) = section.kind {
        section.formats = Format::parse_all(media)?;
    }
    // What the session says comes first, so that what the section says replaces or follows it.
    for attribute in session
        .attributes
        .iter()
        .filter(|attribute| is_handed_down(media, attribute))
    {
        parse_attribute(&mut section, attribute)?;
    }
    for attribute in &media.attributes {
        parse_attribute(&mut section, attribute)?;
    }
    section.ice = parse_ice(session, media)?;
    Ok(section)
}

fn parse_kind(media: &Media) -> SectionKind {
    match media.media.as_str() {
        "audio" if media.proto.contains("RTP/") => SectionKind::Media(MediaKind::Audio),
        "video" if media.proto.contains("RTP/") => SectionKind::Media(MediaKind::Video),
        "application" if media.proto.ends_with("DTLS/SCTP") && media.fmt == "webrtc-datachannel" => SectionKind::Data,
        _ => SectionKind::Other {
            media: media.media.clone(),
            formats: media.fmt.clone(),
        },
    }
}

/// Attributes of the session that hold for sections which do not have their own (RFC 8859).
fn is_handed_down(media: &Media, attribute: &Attribute) -> bool {
    match attribute.attribute.as_str() {
        "extmap" | "setup" | "ice-options" => true,
        "fingerprint" => !media.has_attribute("fingerprint"),
        name => parse_direction(name).is_some(),
    }
}

fn parse_attribute(section: &mut MediaSection, attribute: &Attribute) -> Result<(), SdpError> {
    let name = attribute.attribute.as_str();
    let text = attribute.value.as_deref().unwrap_or_default().trim();
    match section.kind {
        SectionKind::Media(_) => parse_media_attribute(section, name, text)?,
        SectionKind::Data => parse_data_attribute(section, name, text)?,
        SectionKind::Other { .. } => {}
    }
    parse_transport_attribute(section, name, text)
}

fn parse_media_attribute(section: &mut MediaSection, name: &str, text: &str) -> Result<(), SdpError> {
    if let Some(direction) = parse_direction(name) {
        section.direction = direction;
        return Ok(());
    }
    match name {
        "rtcp-mux" => section.rtcp_mux = true,
        "rtcp-rsize" => section.rtcp_rsize = true,
        "simulcast" => section.simulcast = Some(parse_simulcast(text).ok_or(SdpError::Attribute("simulcast"))?),
        "extmap" => push(&mut section.extensions, parse_extension(text), EXTENSIONS_MAX, "extmap")?,
        "rid" => push(&mut section.rids, parse_rid(text), RIDS_MAX, "rid")?,
        "msid" => push(&mut section.msids, parse_msid(text), MSIDS_MAX, "msid")?,
        "ssrc" => push(&mut section.ssrcs, parse_ssrc(text), SSRC_LINES_MAX, "ssrc")?,
        "ssrc-group" => push(
            &mut section.ssrc_groups,
            parse_ssrc_group(text),
            SSRC_GROUPS_MAX,
            "ssrc-group",
        )?,
        _ => {}
    }
    Ok(())
}

fn parse_transport_attribute(section: &mut MediaSection, name: &str, text: &str) -> Result<(), SdpError> {
    match name {
        "end-of-candidates" => section.end_of_candidates = true,
        "ice-options" => section.ice_options = text.split_ascii_whitespace().map(str::to_owned).collect(),
        "setup" => section.setup = Some(parse_setup(text).ok_or(SdpError::Attribute("setup"))?),
        "candidate" if section.candidates.len() < CANDIDATES_MAX => section.candidates.extend(Candidate::parse(text)),
        "fingerprint" => {
            let read = parse_fingerprint(text).ok_or(SdpError::Attribute("fingerprint"))?;
            push_all(&mut section.fingerprints, read, FINGERPRINTS_MAX, "fingerprints")?;
        }
        _ => {}
    }
    Ok(())
}

fn parse_data_attribute(section: &mut MediaSection, name: &str, text: &str) -> Result<(), SdpError> {
    match name {
        "sctp-port" => section.sctp_port = Some(text.parse().map_err(|_| SdpError::Attribute("sctp-port"))?),
        "max-message-size" => {
            section.max_message_size = Some(text.parse().map_err(|_| SdpError::Attribute("max-message-size"))?);
        }
        _ => {}
    }
    Ok(())
}

fn push<T: PartialEq>(list: &mut Vec<T>, read: Option<T>, max: usize, name: &'static str) -> Result<(), SdpError> {
    push_all(list, Some(read.ok_or(SdpError::Attribute(name))?), max, name)
}

fn push_all<T: PartialEq>(
    list: &mut Vec<T>,
    read: impl IntoIterator<Item = T>,
    max: usize,
    name: &'static str,
) -> Result<(), SdpError> {
    for value in read {
        if list.contains(&value) {
            continue;
        }
        if list.len() == max {
            return Err(SdpError::TooMany(name));
        }
        list.push(value);
    }
    Ok(())
}

fn value<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.attribute == name)?;
    Some(found.value.as_deref().unwrap_or_default().trim())
}

fn parse_ice(session: &Session, media: &Media) -> Result<Option<IceCredentials>, SdpError> {
    let find = |name| value(&media.attributes, name).or_else(|| value(&session.attributes, name));
    match (find("ice-ufrag"), find("ice-pwd")) {
        (Some(ufrag), Some(password)) => {
            let fits = (4..=256).contains(&ufrag.len()) && (22..=256).contains(&password.len());
            let plain = ufrag
                .bytes()
                .chain(password.bytes())
                .all(|byte| byte.is_ascii_graphic());
            match fits && plain {
                true => Ok(Some(IceCredentials {
                    ufrag: ufrag.to_owned(),
                    password: password.to_owned(),
                })),
                false => Err(SdpError::Attribute("ice-ufrag")),
            }
        }
        _ => Ok(None),
    }
}

fn parse_direction(name: &str) -> Option<Direction> {
    [
        Direction::SendRecv,
        Direction::SendOnly,
        Direction::RecvOnly,
        Direction::Inactive,
    ]
    .into_iter()
    .find(|direction| direction.name() == name)
}

fn parse_setup(text: &str) -> Option<Setup> {
    [Setup::ActPass, Setup::Active, Setup::Passive]
        .into_iter()
        .find(|setup| setup.name() == text)
}

/// `None` when it is malformed; an empty inner option when the hash function is none of ours.
fn parse_fingerprint(text: &str) -> Option<Option<Fingerprint>> {
    let (name, digits) = text.split_once(' ')?;
    let functions = [HashFunction::Sha256, HashFunction::Sha384, HashFunction::Sha512];
    let Some(hash) = functions
        .into_iter()
        .find(|hash| hash.name().eq_ignore_ascii_case(name))
    else {
        return Some(None);
    };
    let octet = |digits: &str| {
        let plain = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
    };
    let digest: Vec<u8> = digits.trim().split(':').map(octet).collect::<Option<_>>()?;
    (digest.len() == hash.digest_len()).then_some(Some(Fingerprint { hash, digest }))
}

fn parse_extension(text: &str) -> Option<Extension> {
    let mut words = text.split_ascii_whitespace();
    let id = words.next()?;
    let id = id.split_once('/').map_or(id, |(id, _direction)| id);
    Some(Extension {
        id: id.parse().ok().filter(|id| *id > 0)?,
        uri: words.next()?.to_owned(),
    })
}

fn parse_rid(text: &str) -> Option<RidLine> {
    let mut words = text.splitn(3, ' ');
    let rid = Rid::new(words.next()?)?;
    let direction = match words.next()? {
        "send" => RidDirection::Send,
        "recv" => RidDirection::Recv,
        _ => return None,
    };
    Some(RidLine {
        rid,
        direction,
        restrictions: words.next().unwrap_or_default().trim().to_owned(),
    })
}

fn parse_simulcast(text: &str) -> Option<Simulcast> {
    let mut simulcast = Simulcast::default();
    let mut words = text.split_ascii_whitespace();
    while let Some(direction) = words.next() {
        let list: Vec<String> = words.next()?.split(';').map(str::to_owned).collect();
        if list.len() > RIDS_MAX || list.iter().any(String::is_empty) {
            return None;
        }
        match direction {
            "send" => simulcast.send = list,
            "recv" => simulcast.recv = list,
            _ => return None,
        }
    }
    Some(simulcast)
}

fn parse_msid(text: &str) -> Option<Msid> {
    let mut words = text.split_ascii_whitespace();
    Some(Msid {
        stream: words.next()?.to_owned(),
        track: words.next().map(str::to_owned),
    })
}

fn parse_ssrc(text: &str) -> Option<SsrcLine> {
    let (ssrc, rest) = text.split_once(' ')?;
    let (attribute, value) = match rest.trim().split_once(':') {
        Some((attribute, value)) => (attribute, Some(value.trim().to_owned())),
        None => (rest.trim(), None),
    };
    Some(SsrcLine {
        ssrc: Ssrc(ssrc.parse().ok()?),
        attribute: attribute.to_owned(),
        value,
    })
}

fn parse_ssrc_group(text: &str) -> Option<SsrcGroup> {
    let mut words = text.split_ascii_whitespace();
    let semantics = words.next()?.to_owned();
    let ssrcs = words
        .map(|ssrc| ssrc.parse().ok().map(Ssrc))
        .take(RIDS_MAX * 2)
        .collect::<Option<Vec<_>>>()?;
    Some(SsrcGroup { semantics, ssrcs })
}
