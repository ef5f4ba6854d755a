//! Descriptions of real endpoints are understood, and written descriptions are read back unchanged.

use proptest::prelude::*;

use super::*;
use crate::{Codec, PayloadType};

mod odd;

const V1_INITIAL: &str = include_str!("fixtures/chromium-v1-initial.sdp");
const V1_PUBLISH: &str = include_str!("fixtures/chromium-v1-publish.sdp");
const V0_PUBLISH: &str = include_str!("fixtures/chromium-v0-publish.sdp");
const V0_GATHERED: &str = include_str!("fixtures/chromium-v0-publish-gathered.sdp");
const AIORTC: &str = include_str!("fixtures/aiortc.sdp");
/// Firefox 153: the fingerprint for the whole session, extensions for one direction, SSRCs beside
/// names.
const FIREFOX: &str = include_str!("fixtures/firefox.sdp");

fn parse(text: &str) -> SessionDescription {
    SessionDescription::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn descriptions_of_browsers_survive_a_round_trip() {
    for text in [V1_INITIAL, V1_PUBLISH, V0_PUBLISH, V0_GATHERED, AIORTC, FIREFOX] {
        let read = parse(text);
        assert_eq!(parse(&read.to_string()), read);
    }
}

#[test]
fn a_publishing_chromium_is_understood() {
    let offer = parse(V1_PUBLISH);
    assert_eq!(offer.bundle.len(), 9);
    let camera = offer.sections.iter().find(|section| !section.rids.is_empty()).unwrap();
    assert_eq!(camera.kind, SectionKind::Media(MediaKind::Video));
    assert_eq!(
        (camera.direction, camera.setup, camera.rtcp_mux),
        (Direction::SendOnly, Some(Setup::ActPass), true)
    );
    assert_eq!(
        camera.rids.iter().map(|line| line.rid.as_str()).collect::<Vec<_>>(),
        ["q", "h", "f"]
    );
    assert_eq!(camera.simulcast.as_ref().unwrap().send, ["q", "h", "f"]);
    assert_eq!(
        camera.msids[0].track.as_deref(),
        Some("7729d62b-03e2-49b4-af91-9a5f1215de1b")
    );
    let vp8 = &camera.formats[0];
    assert_eq!((vp8.codec(), vp8.payload_type.get()), (Some(Codec::Vp8), 96));
    assert!(vp8.has_feedback("nack pli") && vp8.has_feedback("transport-cc"));
    assert_eq!(camera.formats[1].retransmits(), PayloadType::new(96));
    assert!(
        camera
            .extensions
            .iter()
            .any(|extension| extension.id == 10 && extension.uri.ends_with("rtp-stream-id"))
    );
    let data = offer.sections.last().unwrap();
    assert_eq!(
        (&data.kind, data.sctp_port, data.max_message_size),
        (&SectionKind::Data, Some(5000), Some(262_144))
    );
}

#[test]
fn a_publishing_firefox_is_understood() {
    let offer = parse(FIREFOX);
    assert_eq!(offer.bundle.len(), 9);
    assert!(offer.sections.iter().all(|section| !section.fingerprints.is_empty()));
    let camera = offer.sections.iter().find(|section| !section.rids.is_empty()).unwrap();
    assert_eq!(camera.direction, Direction::SendOnly);
    assert_eq!(camera.simulcast.as_ref().unwrap().send, ["q", "h", "f"]);
    assert_eq!(camera.media_ssrcs().len(), 3, "beside the names");
    assert_eq!(camera.formats[0].codec(), Some(Codec::Vp8));
    assert!(camera.formats.iter().any(|format| format.retransmits().is_some()));
}

#[test]
fn ssrcs_and_their_repairs_are_told_apart() {
    let offer = parse(V0_PUBLISH);
    let camera = offer
        .sections
        .iter()
        .find(|section| section.kind == SectionKind::Media(MediaKind::Video))
        .unwrap();
    let media = camera.media_ssrcs();
    assert_eq!(media.len(), 1);
    assert!(camera.repair_of(media[0]).is_some());
    assert_eq!(camera.ssrc_groups[0].semantics, "FID");
}

#[test]
fn candidates_with_an_address_are_read_and_names_are_not() {
    let text = V0_GATHERED.replace(
        "a=mid:0",
        "a=mid:0\r\na=candidate:1 1 udp 2113937151 192.0.2.7 5000 typ host generation 0\r\n\
         a=candidate:2 1 udp 2113937150 f00.local 5000 typ host\r\na=candidate:3 1 tcp 15 192.0.2.7 9 typ host tcptype active",
    );
    let found: Vec<_> = parse(&text).sections[0]
        .candidates
        .iter()
        .map(|candidate| candidate.address.to_string())
        .collect();
    assert!(found.contains(&"192.0.2.7:5000".to_owned()), "{found:?}");
    assert!(found.iter().all(|address| !address.ends_with(":9")), "{found:?}");
}

#[test]
fn passive_tcp_candidates_are_written_as_they_are_read() {
    let address = "192.0.2.7:7881".parse().unwrap();
    let line = "a=candidate:tcp1 1 tcp 1520435199 192.0.2.7 7881 typ host tcptype passive";
    let text = V0_GATHERED.replace("a=mid:0", &format!("a=mid:0\r\n{line}"));
    let description = parse(&text);
    let found = &description.sections[0].candidates;
    assert!(found.contains(&Candidate::tcp_host(address, 0)), "{found:?}");
    assert!(description.to_string().contains(&format!("{line}\r\n")));
    let udp = Candidate::host(address, 1_000);
    assert!(
        udp.priority > Candidate::tcp_host(address, 0).priority,
        "UDP is tried first"
    );
    assert!(Candidate::tcp_host(address, 0).priority > Candidate::tcp_host(address, 1).priority);
}

#[test]
fn the_session_speaks_for_sections_that_say_nothing() {
    let text = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
        a=setup:active\r\na=sendonly\r\na=ice-lite\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 8\r\na=recvonly\r\na=setup:passive\r\n";
    let description = parse(text);
    let [first, second] = &description.sections[..] else {
        panic!("two sections")
    };
    assert!(description.ice_lite);
    assert_eq!(
        (first.direction, first.setup),
        (Direction::SendOnly, Some(Setup::Active))
    );
    assert_eq!(
        (second.direction, second.setup),
        (Direction::RecvOnly, Some(Setup::Passive))
    );
    assert_eq!(first.ice.as_ref().unwrap().ufrag, "abcd");
    assert_eq!((first.mid.as_str(), second.mid.as_str()), ("0", "1"));
    assert_eq!(second.formats[0].codec(), Some(Codec::Pcma));
}

#[test]
fn line_ends_cannot_be_smuggled_into_a_description() {
    let mut description = parse(V0_PUBLISH);
    description.sections[0].msids = vec![Msid {
        stream: "a\r\na=setup:active".to_owned(),
        track: None,
    }];
    let text = description.to_string();
    assert!(!text.contains("\r\na=setup:active"), "{text}");
}

proptest! {
    #[test]
    fn mangled_descriptions_never_panic_and_parse_stably(
        which in 0usize..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..3), 0..20),
    ) {
        let mut bytes = [V1_PUBLISH, V0_PUBLISH, AIORTC, FIREFOX][which].as_bytes().to_vec();
        for (position, byte, how) in edits {
            // A truncation may have left no bytes to edit.
            if bytes.is_empty() {
                break;
            }
            let position = position.index(bytes.len());
            match how {
                0 => bytes[position] = byte & 0x7f,
                1 => _ = bytes.remove(position),
                _ => bytes.truncate(position.max(bytes.len() / 2)),
            }
        }
        if let Ok(text) = std::str::from_utf8(&bytes) && let Ok(read) = SessionDescription::parse(text) {
            let again = SessionDescription::parse(&read.to_string());
            prop_assert_eq!(again, Ok(read));
        }
    }

    #[test]
    fn generated_sections_survive_a_round_trip(
        id in any::<u64>(), version in any::<u64>(), lite in any::<bool>(),
        sections in prop::collection::vec(section(), 0..6),
    ) {
        let mut sections = sections;
        for (position, section) in sections.iter_mut().enumerate() {
            section.mid = Mid::new(&position.to_string()).unwrap();
        }
        let description = SessionDescription {
            session_id: id,
            version,
            bundle: sections.iter().map(|section| section.mid).collect(),
            ice_lite: lite,
            extmap_allow_mixed: !lite,
            sections,
        };
        prop_assert_eq!(SessionDescription::parse(&description.to_string()), Ok(description));
    }
}

fn section() -> impl Strategy<Value = MediaSection> {
    let formats = prop::collection::btree_map(96u8..128, ("[A-Z][A-Z0-9]{1,6}", "([a-z]{1,6}=[0-9]{1,3}){0,1}"), 1..6);
    let ssrcs = prop::collection::btree_set(any::<u32>(), 0..4);
    let digest = prop::collection::vec(any::<u8>(), 32);
    (
        any::<bool>(),
        0usize..4,
        formats,
        ssrcs,
        digest,
        any::<u16>(),
        "[a-z0-9]{4,9}",
    )
        .prop_map(|(video, direction, formats, ssrcs, digest, port, word)| {
            let kind = if video { MediaKind::Video } else { MediaKind::Audio };
            let mut section = MediaSection::new(SectionKind::Media(kind), Mid::new("x").unwrap());
            section.direction = [
                Direction::SendRecv,
                Direction::SendOnly,
                Direction::RecvOnly,
                Direction::Inactive,
            ][direction];
            section.ice = Some(IceCredentials {
                ufrag: word.clone(),
                password: word.repeat(6),
            });
            section.fingerprints = vec![Fingerprint {
                hash: HashFunction::Sha256,
                digest,
            }];
            section.candidates = vec![Candidate::host(([192, 0, 2, 1], port).into(), 3)];
            section.formats = formats
                .into_iter()
                .map(|(number, (name, parameters))| generated(number, name, parameters))
                .collect();
            section.extensions = vec![Extension {
                id: 1 + (port % 255) as u8,
                uri: format!("urn:{word}").into(),
            }];
            section.ssrcs = ssrcs
                .iter()
                .map(|ssrc| SsrcLine {
                    ssrc: Ssrc(*ssrc),
                    attribute: "cname".to_owned(),
                    value: Some(word.clone()),
                })
                .collect();
            section.msids = vec![Msid {
                stream: word.clone(),
                track: video.then_some(word),
            }];
            section
        })
}

fn generated(number: u8, name: String, parameters: String) -> Format {
    Format {
        payload_type: PayloadType::new(number).unwrap(),
        name,
        clock_rate: 90_000,
        channels: 1 + number % 2,
        parameters: Parameters(parameters),
        feedback: ["nack", "nack pli"].into_iter().collect(),
    }
}
