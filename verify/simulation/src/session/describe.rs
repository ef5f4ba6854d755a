//! Session descriptions as a browser writes them: Chromium's own sections, with the names and keys
//! of a simulated client.

use std::sync::LazyLock;

use wire::sdp::{
    Direction, Fingerprint, Format, IceCredentials, MediaSection, Msid, SectionKind, SessionDescription, Setup,
    SsrcGroup, SsrcLine,
};
use wire::{Codec, MediaKind, Mid, Ssrc};

/// One media section of the client's own, and its purpose.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) media: MediaSection,
    pub(crate) usage: Usage,
}

/// The purpose of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// It carries the client's source of this number.
    Send(u32),
    /// The server may send on it.
    Receive,
    /// Data channels.
    Data,
    /// Its track has ended.
    Over,
}

/// Sections of real offers, as Chromium wrote them for livekit-client.
struct Templates {
    receive_audio: MediaSection,
    receive_video: MediaSection,
    send_audio: MediaSection,
    send_simulcast: MediaSection,
    send_video: MediaSection,
    data: MediaSection,
}

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| {
    let single = parse(include_str!(
        "../../../../crates/wire/src/sdp/fixtures/chromium-v1-publish.sdp"
    ));
    let dual = parse(include_str!(
        "../../../../crates/wire/src/sdp/fixtures/chromium-v0-publish.sdp"
    ));
    let find = |from: &SessionDescription, kind: SectionKind, direction| {
        let found = from
            .sections
            .iter()
            .find(|section| section.kind == kind && section.direction == direction);
        found.expect("the fixture has such a section").clone()
    };
    let (audio, video) = (
        SectionKind::Media(MediaKind::Audio),
        SectionKind::Media(MediaKind::Video),
    );
    Templates {
        receive_audio: find(&single, audio.clone(), Direction::RecvOnly),
        receive_video: find(&single, video.clone(), Direction::RecvOnly),
        send_audio: find(&single, audio, Direction::SendOnly),
        send_simulcast: find(&single, video.clone(), Direction::SendOnly),
        send_video: find(&dual, video, Direction::SendOnly),
        data: find(&single, SectionKind::Data, Direction::SendRecv),
    }
});

fn parse(text: &str) -> SessionDescription {
    let mut description = SessionDescription::parse(text).expect("a browser wrote it");
    for section in &mut description.sections {
        // The simulated client has few codecs: most of a browser's are of no use in a thousand
        // histories.
        let known: Vec<_> = section
            .formats
            .iter()
            .filter(|format| is_known(format))
            .map(|format| format.payload_type)
            .collect();
        section.formats.retain(|format| {
            known.contains(&format.payload_type) || format.retransmits().is_some_and(|of| known.contains(&of))
        });
        section.ssrcs.clear();
        section.ssrc_groups.clear();
        section.candidates.clear();
    }
    description
}

fn is_known(format: &Format) -> bool {
    match format.codec() {
        Some(Codec::Opus | Codec::Vp8) => true,
        Some(Codec::H264) => {
            let is = |name, value: &str| format.parameters.value(name) == Some(value);
            is("packetization-mode", "1") && is("profile-level-id", "42e01f")
        }
        _ => false,
    }
}

pub(crate) fn receiving(kind: MediaKind, mid: usize) -> Section {
    let template = match kind {
        MediaKind::Audio => &TEMPLATES.receive_audio,
        MediaKind::Video => &TEMPLATES.receive_video,
    };
    section(template, mid, Usage::Receive)
}

pub(crate) fn data(mid: usize) -> Section {
    section(&TEMPLATES.data, mid, Usage::Data)
}

/// A section for a source; `ssrcs` are media and repair of its only encoding, and empty when its
/// encodings have names.
pub(crate) fn sending(kind: MediaKind, mid: usize, source: u32, track: &str, ssrcs: &[Ssrc]) -> Section {
    let template = match (kind, ssrcs) {
        (MediaKind::Audio, _) => &TEMPLATES.send_audio,
        (MediaKind::Video, []) => &TEMPLATES.send_simulcast,
        (MediaKind::Video, _) => &TEMPLATES.send_video,
    };
    let mut section = section(template, mid, Usage::Send(source));
    section.media.msids = vec![Msid {
        stream: "-".to_owned(),
        track: Some(track.to_owned()),
    }];
    let line = |ssrc: &Ssrc| SsrcLine {
        ssrc: *ssrc,
        attribute: "cname".to_owned(),
        value: Some("simulated".to_owned()),
    };
    section.media.ssrcs = ssrcs.iter().map(line).collect();
    if ssrcs.len() == 2 {
        section.media.ssrc_groups = vec![SsrcGroup {
            semantics: "FID".to_owned(),
            ssrcs: ssrcs.to_vec(),
        }];
    }
    section
}

fn section(template: &MediaSection, mid: usize, usage: Usage) -> Section {
    let mut media = template.clone();
    media.mid = Mid::new(&mid.to_string()).expect("a number is a token");
    Section { media, usage }
}

/// The answer to a section of the server's offer, of a client that takes all it knows.
pub(crate) fn answered(offered: &MediaSection) -> MediaSection {
    let mut media = MediaSection::new(offered.kind.clone(), offered.mid);
    media.protocol.clone_from(&offered.protocol);
    media.rejected = offered.rejected;
    if offered.kind == SectionKind::Data {
        (media.sctp_port, media.max_message_size) = (Some(5000), Some(262_144));
        return media;
    }
    media.direction = if offered.direction.sends() {
        Direction::RecvOnly
    } else {
        Direction::Inactive
    };
    (media.rtcp_mux, media.rtcp_rsize) = (true, true);
    let known: Vec<_> = offered
        .formats
        .iter()
        .filter(|format| is_known(format))
        .map(|format| format.payload_type)
        .collect();
    let taken = |format: &&Format| {
        known.contains(&format.payload_type) || format.retransmits().is_some_and(|of| known.contains(&of))
    };
    media.formats = offered.formats.iter().filter(taken).cloned().collect();
    media.extensions.clone_from(&offered.extensions);
    media
}

/// A whole description over one transport.
pub(crate) fn describe(
    version: u64,
    sections: Vec<MediaSection>,
    ice: &IceCredentials,
    fingerprint: &Fingerprint,
    setup: Setup,
) -> String {
    let mut sections = sections;
    for section in sections.iter_mut().filter(|section| !section.rejected) {
        section.ice = Some(ice.clone());
        section.fingerprints = vec![fingerprint.clone()];
        section.setup = Some(setup);
        section.ice_options = vec!["trickle".to_owned()];
    }
    let bundle = sections
        .iter()
        .filter(|section| !section.rejected)
        .map(|section| section.mid)
        .collect();
    SessionDescription {
        session_id: 1,
        version,
        bundle,
        ice_lite: false,
        extmap_allow_mixed: true,
        sections,
    }
    .to_string()
}
