//! One odd line or section of a description costs that line or section; the session goes on with
//! the rest.

use controller::Counter;
use controller::PeerMode::Dual;
use livekit_protocol::TrackSource;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use wire::MediaKind;

use crate::browser::parse;
use crate::world::{World, claims, described};

const OFFER: &str = include_str!("../fixtures/two-tracks.sdp");

/// The outcome of an offer of a microphone `a1` and a camera `v1` that both were announced.
struct Outcome {
    /// The sections of the answer that are not refused, by kind.
    answered: Vec<MediaKind>,
    /// The published tracks, with their sections.
    published: Vec<(MediaKind, String)>,
    /// Descriptions of which lines and sections were left out.
    left_out: (usize, usize),
}

fn offer(text: &str) -> Outcome {
    let mut world = World::new();
    let ada = world.join_unconnected(&claims("ada"), Dual);
    world.announce(&ada, MediaKind::Video, TrackSource::Camera, "v1");
    world.announce(&ada, MediaKind::Audio, TrackSource::Microphone, "a1");
    world.publications();
    world.say(ada.connection, Said::Offer(described("offer", text.to_owned(), 1)));
    let answer = world.expect(ada.connection, "answer", |message| match message {
        Message::Answer(answer) => Some(parse(&answer.sdp)),
        _ => None,
    });
    assert_eq!(
        answer.sections.len(),
        text.matches("m=").count(),
        "every section is answered"
    );
    assert!(!world.closed.contains_key(&ada.connection));
    assert_eq!(world.count(Counter::BadDescription), 0);
    let kind = |section: &wire::sdp::MediaSection| match section.kind {
        wire::sdp::SectionKind::Media(kind) => Some(kind),
        _ => None,
    };
    let live = answer.sections.iter().filter(|section| !section.rejected);
    let mid = |mid: Option<wire::Mid>| mid.map(|mid| mid.to_string()).unwrap_or_default();
    Outcome {
        answered: live.filter_map(kind).collect(),
        published: world.publications().iter().map(|it| (it.kind, mid(it.mid))).collect(),
        left_out: (
            world.count(Counter::LinesLeftOut),
            world.count(Counter::SectionsLeftOut),
        ),
    }
}

fn both(outcome: &Outcome, mids: [&str; 2], left_out: (usize, usize), text: &str) {
    let kinds = [MediaKind::Audio, MediaKind::Video];
    assert_eq!(outcome.answered, kinds, "{text}");
    let expected: Vec<_> = kinds.into_iter().zip(mids.map(str::to_owned)).collect();
    assert_eq!(outcome.published, expected, "{text}");
    assert_eq!(outcome.left_out, left_out, "{text}");
}

#[test]
fn an_odd_line_costs_the_line() {
    both(&offer(OFFER), ["0", "1"], (0, 0), "as it is");
    let in_video = |line: &str| OFFER.replace("a=mid:1\n", &format!("a=mid:1\n{line}\n"));
    let in_audio = |line: &str| OFFER.replace("a=mid:0\n", &format!("a=mid:0\n{line}\n"));
    for line in [
        "a=ssrc:1234",
        "a=rtpmap:255 VP8/90000",
        "a=rid:/ send",
        "a=simulcast:send q;h",
        "a=extmap:0 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=candidate:1 1 udp 1 192.0.2.1 99999 typ host",
        "a=fingerprint:sha-256 AB",
        "a=fmtp:200 apt=1",
        "a=rtcp-fb",
        "garbage",
    ] {
        both(&offer(&in_audio(line)), ["0", "1"], (1, 0), line);
        both(&offer(&in_video(line)), ["0", "1"], (1, 0), line);
    }
    for (from, to) in [
        ("a=setup:actpass\na=mid:1", "a=setup:holdconn\na=mid:1"),
        ("a=setup:actpass", "a=setup:holdconn"),
        ("SAVPF 96", "SAVPF 96 255"),
        ("SAVPF 96", "SAVPF 96 96"),
        ("BUNDLE 0 1", "BUNDLE 7 0 1"),
        // The second section has what the first lacks, on the transport they share.
        (
            "a=ice-ufrag:abcd\na=ice-pwd:abcdefghijklmnopqrstuvwx\na=setup:actpass\na=mid:0",
            "a=ice-ufrag:ab\na=mid:0",
        ),
    ] {
        assert!(OFFER.contains(from), "{from}");
        both(&offer(&OFFER.replace(from, to)), ["0", "1"], (1, 0), to);
    }
}

#[test]
fn a_long_name_is_a_name() {
    for len in [17, 20, 64] {
        let long = "abcdefghijklmnopqrstuvwxyz-0123456789".repeat(2)[..len].to_owned();
        let text = OFFER.replace("BUNDLE 0", &format!("BUNDLE {long}"));
        let text = text.replace("a=mid:0", &format!("a=mid:{long}"));
        both(&offer(&text), [&long, "1"], (0, 0), &text);
    }
}

#[test]
fn an_odd_section_costs_the_section() {
    for (from, to, sections) in [
        ("a=mid:0", format!("a=mid:{}", "x".repeat(65)), 1),
        ("a=mid:0", "a=mid:a b".to_owned(), 1),
        ("m=audio 9 ", "m=audio nine ".to_owned(), 1),
        ("m=audio 9 ", "m=audio 0 ".to_owned(), 0),
        ("m=audio 9 UDP/TLS/RTP/SAVPF 111", "m=audio".to_owned(), 1),
        ("SAVPF 111", "SAVPF 255".to_owned(), 0),
        (
            "m=audio 9 UDP/TLS/RTP/SAVPF 111",
            "m=text 9 UDP/TLS/RTP/SAVPF 98".to_owned(),
            0,
        ),
    ] {
        let outcome = offer(&OFFER.replace(from, &to));
        assert_eq!(outcome.answered, [MediaKind::Video], "{to}");
        assert_eq!(outcome.published, [(MediaKind::Video, "1".to_owned())], "{to}");
        assert_eq!(outcome.left_out.1, sections, "{to}");
    }
    // In a section that is refused anyway nothing is odd.
    let refused = OFFER.replace("m=video 9 UDP/TLS/RTP/SAVPF 96", "m=video 0 UDP/TLS/RTP/SAVPF 255");
    let outcome = offer(&refused.replace("BUNDLE 0 1", "BUNDLE 0"));
    assert_eq!(outcome.answered, [MediaKind::Audio]);
    assert_eq!(outcome.left_out, (0, 0));
}

#[test]
fn a_microphone_without_opus_is_published_as_it_is() {
    for line in ["a=rtpmap:0 PCMU/8000", "a=rtpmap:8 PCMA/8000", ""] {
        let number = if line.contains("PCMA") { 8 } else { 0 };
        let text = OFFER.replace("SAVPF 111", &format!("SAVPF {number}"));
        let text = text.replace(
            "a=rtpmap:111 opus/48000/2\n",
            &format!("{line}\n").replace("\n\n", "\n"),
        );
        both(&offer(text.trim()), ["0", "1"], (0, 0), line);
    }
}

#[test]
fn a_microphone_of_an_unknown_codec_costs_its_section() {
    let outcome = offer(&OFFER.replace("opus/48000/2", "G722/8000"));
    assert_eq!(outcome.answered, [MediaKind::Video]);
    assert_eq!(outcome.published, [(MediaKind::Video, "1".to_owned())]);
}
