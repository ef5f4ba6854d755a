use wire::sdp::{Feedback, Parameters};
use wire::{MediaKind, PayloadType};

use super::*;
use crate::negotiation::codecs::{accept, offered, rare, translate};
use crate::negotiation::{AudioWish, Flow};

/// The video of an offer of Chromium 141, without retransmissions.
const CHROMIUM: &[(u8, &str, &str)] = &[
    (96, "VP8", ""),
    (
        103,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
    ),
    (
        107,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f",
    ),
    (
        109,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    ),
    (
        115,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f",
    ),
    (
        117,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f",
    ),
    (
        39,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f",
    ),
    (
        119,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f",
    ),
    (
        41,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f",
    ),
    (45, "AV1", "level-idx=5;profile=0;tier=0"),
    (98, "VP9", "profile-id=0"),
    (100, "VP9", "profile-id=2"),
    (102, "VP9", "profile-id=1"),
];
const FIREFOX: &[(u8, &str, &str)] = &[
    (120, "VP8", "max-fs=12288;max-fr=60"),
    (121, "VP9", "max-fs=12288;max-fr=60"),
    (
        126,
        "H264",
        "profile-level-id=42e01f;level-asymmetry-allowed=1;packetization-mode=1",
    ),
    (97, "H264", "profile-level-id=42e01f;level-asymmetry-allowed=1"),
    (
        105,
        "H264",
        "profile-level-id=42001f;level-asymmetry-allowed=1;packetization-mode=1",
    ),
    (103, "H264", "profile-level-id=42001f;level-asymmetry-allowed=1"),
    (99, "AV1", ""),
];
const SAFARI: &[(u8, &str, &str)] = &[
    (
        96,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c1f",
    ),
    (
        98,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    ),
    (100, "H265", "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST"),
    (102, "VP8", ""),
    (104, "VP9", "profile-id=0"),
    (106, "VP9", "profile-id=2"),
];
/// `whipclientsink` of GStreamer with `x264enc`.
const GSTREAMER: &[(u8, &str, &str)] = &[(
    96,
    "H264",
    "packetization-mode=1;profile-level-id=42c016;level-asymmetry-allowed=1",
)];
/// The default of `libx264`.
const FFMPEG: &[(u8, &str, &str)] = &[(106, "H264", "packetization-mode=1;profile-level-id=64001f")];
const OBS: &[(u8, &str, &str)] = &[(
    96,
    "H264",
    "profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1",
)];
const PION: &[(u8, &str, &str)] = &[
    (
        102,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
    ),
    (
        104,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f",
    ),
    (
        125,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    ),
    (
        123,
        "H264",
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640032",
    ),
];

fn formats(rows: &[(u8, &str, &str)]) -> Vec<Format> {
    let format = |(number, name, parameters): &(u8, &str, &str)| Format {
        payload_type: PayloadType::new(*number).expect("seven bits"),
        name: (*name).to_owned(),
        clock_rate: 90_000,
        channels: 1,
        parameters: Parameters((*parameters).to_owned()),
        feedback: Feedback::default(),
    };
    rows.iter().map(format).collect()
}

fn taken(rows: &[(u8, &str, &str)], flow: Flow) -> Vec<Format> {
    accept(&formats(rows), [Some(flow), None], AudioWish::default(), None)
}

/// The number of a receiver for the first format of a publisher.
fn first_to(publisher: &[(u8, &str, &str)], receiver: &[(u8, &str, &str)]) -> Option<u8> {
    let sent = taken(&publisher[..1], Flow::Up);
    assert_eq!(sent.len(), 1, "{publisher:?} is taken");
    let translated = translate(&sent, &taken(receiver, Flow::Down));
    translated.first().map(|(_, format)| format.payload_type.get())
}

#[test]
fn each_profile_that_is_offered_is_taken() {
    let all: Vec<_> = taken(CHROMIUM, Flow::Up)
        .iter()
        .map(|format| format.payload_type.get())
        .collect();
    assert_eq!(
        all,
        [96, 103, 109, 117, 119, 41, 45, 98, 100, 102],
        "and of H.264 one mode"
    );
    for (offer, count) in [
        (FIREFOX, 5),
        (SAFARI, 6),
        (GSTREAMER, 1),
        (FFMPEG, 1),
        (OBS, 1),
        (PION, 3),
    ] {
        assert_eq!(taken(offer, Flow::Up).len(), count, "{offer:?}");
    }
    let single = &[(97, "H264", "profile-level-id=42e01f")];
    assert_eq!(
        taken(single, Flow::Up).len(),
        1,
        "the mode of single NAL units, where there is no other"
    );
    let interleaved = &[(97, "H264", "packetization-mode=2;profile-level-id=42e01f")];
    assert!(taken(interleaved, Flow::Up).is_empty());
}

#[test]
fn high_profile_goes_to_those_who_offer_it() {
    assert_eq!(first_to(FFMPEG, CHROMIUM), Some(119));
    assert_eq!(
        first_to(FFMPEG, SAFARI),
        Some(96),
        "Constrained High is High by another name"
    );
    assert_eq!(first_to(FFMPEG, PION), Some(123), "the level is another");
    assert_eq!(first_to(FFMPEG, FIREFOX), None);
}

#[test]
fn constrained_baseline_has_several_names() {
    for (publisher, receiver, expected) in [
        (GSTREAMER, CHROMIUM, 103),
        (GSTREAMER, FIREFOX, 126),
        (OBS, CHROMIUM, 109),
        (OBS, PION, 125),
        (OBS, SAFARI, 98),
    ] {
        assert_eq!(
            first_to(publisher, receiver),
            Some(expected),
            "{publisher:?} to {receiver:?}"
        );
    }
    let main_and_baseline = &[(96, "H264", "packetization-mode=1;profile-level-id=4d801f")];
    assert_eq!(first_to(main_and_baseline, FIREFOX), Some(126), "RFC 6184 table 5");
    let main = &[(96, "H264", "packetization-mode=1;profile-level-id=4d401f")];
    assert_eq!(first_to(main, FIREFOX), None);
    assert_eq!(first_to(main, CHROMIUM), Some(117));
    assert_eq!(first_to(main, SAFARI), Some(96), "a decoder of High decodes Main");
    let unreadable = &[(96, "H264", "packetization-mode=1;profile-level-id=zz")];
    assert_eq!(first_to(unreadable, CHROMIUM), None);
}

#[test]
fn modes_of_h264_are_not_mixed() {
    let single = &[(97, "H264", "packetization-mode=0;profile-level-id=42e01f")];
    let unstated = &[(97, "H264", "profile-level-id=42e01f")];
    assert_eq!(first_to(single, OBS), Some(96));
    assert_eq!(first_to(OBS, single), None);
    assert_eq!(first_to(OBS, unstated), Some(97), "GStreamer reads both");
}

#[test]
fn larger_profiles_contain_smaller_ones() {
    for (publisher, receiver, fits) in [
        ((45, "AV1", ""), (45, "AV1", "level-idx=5;profile=0;tier=0"), true),
        ((45, "AV1", "profile=0"), (45, "AV1", "profile=1"), true),
        ((45, "AV1", "profile=1"), (45, "AV1", ""), false),
        ((49, "H265", ""), (49, "H265", "profile-id=1;level-id=93"), true),
        ((49, "H265", "profile-id=1"), (49, "H265", "profile-id=2"), true),
        ((49, "H265", "profile-id=2"), (49, "H265", "profile-id=1"), false),
        ((49, "H265", "tier-flag=1"), (49, "H265", "tier-flag=0"), false),
        ((49, "H265", "tier-flag=0"), (49, "H265", "tier-flag=1"), true),
        ((98, "VP9", ""), (98, "VP9", "profile-id=0"), true),
        ((98, "VP9", "profile-id=1"), (98, "VP9", "profile-id=1"), true),
        ((98, "VP9", "profile-id=3"), (98, "VP9", "profile-id=2"), false),
    ] {
        assert_eq!(
            first_to(&[publisher], &[receiver]).is_some(),
            fits,
            "{publisher:?} to {receiver:?}"
        );
    }
}

#[test]
fn receivers_are_offered_a_rare_profile_only_if_it_is_sent() {
    let usual = offered(MediaKind::Video, false, &[]);
    for (publisher, added) in [(FFMPEG, 2), (OBS, 0), (FIREFOX, 0), (SAFARI, 2), (CHROMIUM, 4)] {
        let sent = taken(publisher, Flow::Up);
        let formats = offered(MediaKind::Video, false, &rare(sent.iter()));
        assert_eq!(formats.len(), usual.len() + 2 * added, "{publisher:?}");
        assert!(!translate(&sent, &formats).is_empty());
        let mut numbers: Vec<_> = formats.iter().map(|format| format.payload_type).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), formats.len(), "each number has one meaning");
    }
}
