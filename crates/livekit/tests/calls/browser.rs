//! As much of a browser as negotiation needs: sections in order, offers, answers, and the
//! complaints a browser would make.

use std::collections::BTreeMap;

use controller::PeerMode;
use wire::MediaKind;
use wire::Mid;
use wire::sdp::{Direction, Format, IceCredentials, MediaSection, Msid, SectionKind, SessionDescription, Setup};

const JOINING: &str = include_str!("fixtures/chromium-single-1-join.sdp");
const PUBLISHING: &str = include_str!("fixtures/chromium-single-2-publish.sdp");

/// One peer connection of a browser, its sections those that Chromium writes.
pub(crate) struct Browser {
    description: SessionDescription,
    generation: u32,
}

impl Browser {
    /// The connection that `livekit-client` sets up before it joins, or, with two connections, the
    /// one it publishes on.
    pub(crate) fn new(mode: PeerMode) -> Self {
        let mut description = parse(JOINING);
        if mode == PeerMode::Dual {
            description.sections.retain(|section| section.kind == SectionKind::Data);
            description.bundle = description.sections.iter().map(|section| section.mid).collect();
        }
        Self {
            description,
            generation: 0,
        }
    }

    /// Chromium's offer with `--disable-webrtc-encryption`: no data channels, which need DTLS.
    pub(crate) fn without_encryption() -> Self {
        let mut browser = Self::new(PeerMode::Single);
        let description = &mut browser.description;
        description.sections.retain(|section| section.kind != SectionKind::Data);
        description.bundle = description.sections.iter().map(|section| section.mid).collect();
        browser.drop_keys();
        browser
    }

    /// Offers no section with encryption.
    pub(crate) fn drop_keys(&mut self) {
        for section in &mut self.description.sections {
            section.protocol = "RTP/AVPF".to_owned();
            section.fingerprints.clear();
            section.setup = None;
        }
    }

    pub(crate) fn offer(&self) -> String {
        self.description.to_string()
    }

    /// Adds sections to receive on.
    pub(crate) fn listen(&mut self, audios: u32, videos: u32) {
        for (kind, count) in [(MediaKind::Audio, audios), (MediaKind::Video, videos)] {
            let template = section(&parse(JOINING), kind, Direction::RecvOnly);
            for _ in 0..count {
                self.push(template.clone());
            }
        }
    }

    /// Adds a section that sends `track`; a video comes in three encodings.
    pub(crate) fn publish(&mut self, kind: MediaKind, track: &str) -> Mid {
        let mut template = section(&parse(PUBLISHING), kind, Direction::SendOnly);
        template.msids = vec![Msid {
            stream: "-".to_owned(),
            track: Some(track.to_owned()),
        }];
        self.push(template)
    }

    /// Adds a section that sends `track`, a video in one encoding.
    pub(crate) fn publish_one_encoding(&mut self, track: &str) -> Mid {
        let mid = self.publish(MediaKind::Video, track);
        let section = self.description.sections.last_mut().expect("it was just added");
        (section.rids, section.simulcast) = (Vec::new(), None);
        mid
    }

    /// Takes a codec, with its retransmissions, out of all there is to receive on.
    pub(crate) fn forget(&mut self, name: &str) {
        let listening = |section: &&mut MediaSection| section.direction == Direction::RecvOnly;
        for section in self.description.sections.iter_mut().filter(listening) {
            let named = section.formats.iter().filter(|format| format.name == name);
            let gone: Vec<_> = named.map(|format| format.payload_type).collect();
            let is_gone = |number| gone.contains(&number);
            section
                .formats
                .retain(|format| !is_gone(format.payload_type) && !format.retransmits().is_some_and(is_gone));
        }
    }

    /// Adds a format to all there is to receive video on.
    pub(crate) fn learn(&mut self, format: &Format) {
        let video = SectionKind::Media(MediaKind::Video);
        let sections = self.description.sections.iter_mut();
        for section in sections.filter(|section| section.kind == video && section.direction == Direction::RecvOnly) {
            section.formats.push(format.clone());
        }
    }

    /// Changes what is said of a section.
    pub(crate) fn change(&mut self, mid: Mid, change: impl Fn(&mut MediaSection)) {
        let mut sections = self.description.sections.iter_mut();
        change(sections.find(|section| section.mid == mid).expect("it was added"));
    }

    pub(crate) fn unpublish(&mut self, mid: Mid) {
        let section = self
            .description
            .sections
            .iter_mut()
            .find(|section| section.mid == mid)
            .unwrap();
        section.direction = Direction::Inactive;
    }

    pub(crate) fn restart_ice(&mut self) {
        self.generation += 1;
        let ice = IceCredentials {
            ufrag: format!("new{}", self.generation),
            password: "0123456789012345678901".to_owned(),
        };
        for section in &mut self.description.sections {
            section.ice = Some(ice.clone());
        }
    }

    fn push(&mut self, mut section: MediaSection) -> Mid {
        let mid = Mid::new(&self.description.sections.len().to_string()).unwrap();
        section.mid = mid;
        section.ice = parse(JOINING).sections[0].ice.clone();
        self.description.sections.push(section);
        self.description.bundle.push(mid);
        mid
    }

    /// Complains where a browser would, and answers what the answer says.
    pub(crate) fn take_answer(&self, answer: &str) -> SessionDescription {
        let answer = parse(answer);
        let ours = self.description.sections.iter();
        assert_eq!(
            answer.sections.len(),
            ours.len(),
            "an answer has the sections of its offer"
        );
        for (offered, answered) in ours.zip(&answer.sections) {
            assert_eq!((offered.mid, &offered.kind), (answered.mid, &answered.kind));
            complain_of_section(answered);
            assert_eq!(
                (offered.fingerprints.is_empty(), &offered.protocol),
                (answered.fingerprints.is_empty(), &answered.protocol),
                "an answer is protected as its offer is"
            );
            if !answered.rejected {
                complain_of_directions(offered, answered);
                let known = |number| offered.formats.iter().any(|format| format.payload_type == number);
                assert!(
                    answered.formats.iter().all(|format| known(format.payload_type)),
                    "{answered:?}"
                );
                assert!(
                    answered
                        .extensions
                        .iter()
                        .all(|extension| offered.extensions.contains(extension))
                );
            }
            assert_ne!(answered.setup, Some(Setup::ActPass), "an answer chooses");
        }
        complain_of_bundle(&answer);
        answer
    }

    /// Answers the server's offer the way a browser does that wants everything.
    pub(crate) fn answer(offer: &str) -> String {
        let offer = parse(offer);
        complain_of_bundle(&offer);
        let mut answer = offer.clone();
        let template = parse(JOINING).sections[0].clone();
        answer.ice_lite = false;
        for section in &mut answer.sections {
            complain_of_section(section);
            assert_eq!(section.setup, Some(Setup::ActPass));
            section.direction = match section.direction {
                Direction::SendOnly => Direction::RecvOnly,
                _ => Direction::Inactive,
            };
            section.setup = Some(Setup::Active);
            section.ice.clone_from(&template.ice);
            section.fingerprints.clone_from(&template.fingerprints);
            section.candidates.clear();
            section.ssrcs.clear();
            section.ssrc_groups.clear();
            section.msids.clear();
        }
        answer.to_string()
    }
}

pub(crate) fn parse(text: &str) -> SessionDescription {
    SessionDescription::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn section(description: &SessionDescription, kind: MediaKind, direction: Direction) -> MediaSection {
    let fits = |section: &&MediaSection| section.kind == SectionKind::Media(kind) && section.direction == direction;
    description
        .sections
        .iter()
        .rfind(fits)
        .expect("the fixture has one")
        .clone()
}

fn complain_of_section(section: &MediaSection) {
    if section.rejected {
        return;
    }
    let is_clear = section.protocol == "RTP/AVPF";
    assert!(section.ice.is_some(), "{section:?}");
    assert_eq!(section.fingerprints.is_empty(), is_clear, "{section:?}");
    assert_eq!(section.setup.is_none(), is_clear, "{section:?}");
    if let SectionKind::Media(_) = section.kind {
        assert!(section.rtcp_mux && !section.formats.is_empty(), "{section:?}");
        if section.direction.sends() {
            assert_eq!(section.msids.len(), 1);
            assert!(!section.ssrcs.is_empty());
        }
    }
}

fn complain_of_directions(offered: &MediaSection, answered: &MediaSection) {
    assert!(
        !answered.direction.sends() || offered.direction.receives(),
        "{answered:?}"
    );
    assert!(
        !answered.direction.receives() || offered.direction.sends(),
        "{answered:?}"
    );
}

/// Over a bundle an id means one extension and a payload type one codec (RFC 8843), and each SSRC
/// is in one section.
fn complain_of_bundle(description: &SessionDescription) {
    let (mut extensions, mut formats, mut ssrcs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for section in description.sections.iter().filter(|section| !section.rejected) {
        assert!(description.bundle.contains(&section.mid));
        for extension in &section.extensions {
            assert_eq!(
                extensions.entry(extension.id).or_insert(&extension.uri),
                &&extension.uri
            );
        }
        for format in &section.formats {
            let codec = (&format.name, format.clock_rate, &format.parameters);
            assert_eq!(formats.entry(format.payload_type).or_insert(codec), &codec);
        }
        for line in &section.ssrcs {
            assert_eq!(ssrcs.entry(line.ssrc).or_insert(section.mid), &section.mid);
        }
    }
}
