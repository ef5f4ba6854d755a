//! Tests of removed codecs, and of the formats that go with them.

use sip::ng::value::Dictionary;

use crate::support::*;

/// The formats of a rewritten offer, with `flags` in one string.
fn formats(formats: &str, maps: &str, flags: &str) -> String {
    let mut setup = Setup::new();
    let maps: String = maps.split(';').map(|map| format!("a=rtpmap:{map}\r\n")).collect();
    let section = format!("m=audio 6004 RTP/AVP {formats}\r\n{maps}");
    let wish = Dictionary::default().with("rtpp-flags", flags);
    let offer = setup.describe("offer", &described("192.0.2.1", &section), wish);
    for map in offer.lines().filter_map(|line| line.strip_prefix("a=rtpmap:")) {
        let format = map.split(' ').next().expect("a format");
        assert!(offer.contains(&format!(" {format}")), "{map} is of a format: {offer}");
    }
    let line = offer.lines().find_map(|line| line.strip_prefix("m=audio "));
    let words: Vec<&str> = line.expect("a section").split(' ').skip(2).collect();
    words.join(" ")
}

#[test]
fn events_and_noise_go_with_the_last_codec_of_their_clock() {
    let maps = "96 opus/48000/2;97 telephone-event/8000;98 telephone-event/48000;99 CN/48000";
    let offered = "8 96 97 98 13 99";
    for (flags, left) in [
        ("codec-strip-PCMA", "96 98 99"),
        ("codec-mask-PCMA", "96 98 99"),
        ("codec-strip-opus", "8 97 13"),
        ("codec-strip-PCMA codec-except-telephone-event", "96 97 98 99"),
        ("codec-strip-PCMU", offered),
        ("codec-strip-telephone-event", "8 96 13 99"),
    ] {
        assert_eq!(formats(offered, maps, flags), left, "{flags}");
    }
    let both = formats("8 0 97", "97 telephone-event/8000", "codec-strip-PCMA");
    assert_eq!(both, "0 97", "another codec of the clock is left");
}

#[test]
fn events_at_a_clock_without_codecs_stay_if_none_of_its_codecs_was_removed() {
    let maps = "9 G722/8000;96 opus/48000/2;97 telephone-event/16000";
    assert_eq!(formats("9 96 97", maps, "codec-strip-opus"), "9 97");
    let only = formats("8 97", "97 telephone-event/8000", "codec-strip-PCMA");
    assert_eq!(only, "97", "a section without formats is none");
}
