//! Warnings about requests that are not carried out.

use sip::Feature;
use sip::ng::value::Dictionary;
use sip::{Config, Counter};

use crate::support::*;

fn warning(reply: &Dictionary) -> String {
    assert_eq!(reply.text("result"), Some(&b"ok"[..]), "{}", reason(reply));
    String::from_utf8_lossy(reply.text("warning").unwrap_or_default()).into_owned()
}

fn offer(setup: &mut Setup, more: Dictionary) -> Dictionary {
    setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), more))
}

#[test]
fn the_reply_says_it_each_time_and_the_log_once() {
    let mut setup = Setup::new();
    let asked = flags(&["record-call", "block-DTMF"]).with("bundle", list(&["accept"]));
    for _ in 0..3 {
        let reply = offer(&mut setup, asked.clone());
        assert_eq!(warning(&reply), "Not done: record-call, block-dtmf, bundle");
    }
    assert_eq!(setup.undone, ["record-call", "block-dtmf", "bundle"]);
    assert_eq!(setup.count(Counter::FlagIgnored), 9);
    let other = asked.with("call-id", "other");
    warning(&offer(&mut setup, other));
    assert_eq!(setup.undone.len(), 6, "another call is told of");
    assert_eq!(
        warning(&offer(&mut setup, Dictionary::default().with("record call", "off"))),
        ""
    );
}

#[test]
fn a_call_is_logged_a_bounded_number_of_times() {
    let mut setup = Setup::new();
    for round in 0..100 {
        let names: Vec<String> = (0..16).map(|number| format!("unknown-{round}-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        offer(&mut setup, flags(&names));
    }
    assert_eq!(setup.undone.len(), sip::limits::WARNED_MAX);
}

fn wishes() -> [(Feature, Dictionary); 4] {
    let none = Dictionary::default;
    [
        (
            Feature::Transcode,
            none().with("codec", none().with("transcode", list(&["opus"]))),
        ),
        (Feature::Ptime, none().with("ptime", 40_u64)),
        (Feature::T38, none().with("T.38", list(&["decode"]))),
        (Feature::InjectDtmf, flags(&["inject DTMF"])),
    ]
}

#[test]
fn requests_that_need_codecs_are_refused_unless_tolerated() {
    for (wish, asked) in wishes() {
        let mut setup = Setup::new();
        assert!(
            reason(&offer(&mut setup, asked.clone())).ends_with("not supported"),
            "{wish:?}"
        );
        assert_eq!((setup.relay.calls(), setup.count(Counter::NgUnsupported)), (0, 1));

        let config = Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)]);
        let mut setup = Setup::with(Config {
            tolerated: vec![wish],
            ..config
        });
        assert_eq!(warning(&offer(&mut setup, asked)), format!("Not done: {}", wish.name()));
        for (_, other) in wishes().into_iter().filter(|(other, _)| *other != wish) {
            assert!(reason(&offer(&mut setup, other)).ends_with("not supported"));
        }
    }
}

#[test]
fn offered_codecs_need_no_transcoding_and_answers_never_do() {
    let mut setup = Setup::new();
    let transcode =
        |codecs: &[&str]| Dictionary::default().with("codec", Dictionary::default().with("transcode", list(codecs)));
    assert_eq!(warning(&offer(&mut setup, transcode(&["PCMU"]))), "");
    let more = answered()
        .with("ptime", 20_u64)
        .with("codec", Dictionary::default().with("transcode", list(&["opus"])));
    let reply = setup.ask(request("answer", Some(&phone("192.0.2.2", 6000)), more));
    assert_eq!(warning(&reply), "");
}

#[test]
fn masked_codecs_stay_if_nothing_is_transcoded() {
    let config = Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)]);
    let mut setup = Setup::with(Config {
        tolerated: vec![Feature::Transcode],
        ..config
    });
    let sdp = described(
        "192.0.2.1",
        "m=audio 6004 RTP/AVP 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\n",
    );
    let formats = |setup: &mut Setup, text: &str| {
        let offer = setup.describe("offer", &sdp, Dictionary::default().with("rtpp-flags", text));
        let line = offer.lines().find(|line| line.starts_with("m=")).expect("a section");
        line.split(' ').skip(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(formats(&mut setup, "codec=[mask=[all] transcode=[opus]]"), "0 8 101");
    assert_eq!(formats(&mut setup, "codec=[strip=[all] transcode=[opus PCMA]]"), "8");
    assert_eq!(formats(&mut setup, "codec=[strip=[PCMA] transcode=[PCMA]]"), "0 101");
    assert_eq!(formats(&mut setup, "codec=[mask=[PCMA]]"), "0 101");
}

#[test]
fn an_answer_with_one_codec_keeps_events() {
    let mut setup = Setup::new();
    let codecs = "m=audio 6000 RTP/AVP 8 0 101 13\r\na=rtpmap:101 telephone-event/8000\r\n";
    setup.describe("offer", &described("192.0.2.1", codecs), Dictionary::default());
    let single = answered().with("flags", list(&["single-codec"]));
    let answer = setup.describe("answer", &described("192.0.2.2", codecs), single);
    assert!(answer.contains(" RTP/AVP 8 101 13\r\n"), "{answer}");
}

/// Packets that have the wanted length already need no repacketising, and rtpengine states it.
#[test]
fn a_packet_time_that_is_offered_needs_no_repacketising() {
    let mut setup = Setup::new();
    let offered = |lines: &str| described("192.0.2.1", &format!("m=audio 6004 RTP/AVP 8 4\r\n{lines}"));
    let stated = offered("a=ptime:20\r\n");
    for (sdp, key, time, is_done) in [
        (&stated, "ptime", 20_u64, true),
        (&stated, "ptime-reverse", 20, true),
        (&stated, "ptime", 40, false),
        (&offered("a=ptime:30\r\n"), "ptime", 20, false),
        (&offered("a=ptime:30\r\n"), "ptime", 30, true),
        (&offered(""), "ptime", 20, true),
        (&offered("").replace("8 4", "4 8"), "ptime", 20, false),
        (&offered("").replace("audio", "video"), "ptime", 60, true),
    ] {
        let reply = setup.ask(request("offer", Some(sdp), Dictionary::default().with(key, time)));
        assert_eq!(reply.text("result") == Some(b"ok"), is_done, "{key}={time} {sdp}");
        if is_done && sdp.contains("audio") {
            let told = String::from_utf8_lossy(reply.text("sdp").expect("a description")).into_owned();
            assert_eq!(told.matches(&format!("a=ptime:{time}\r\n")).count(), 1, "{told}");
        }
    }
    let mixed = Dictionary::default()
        .with("ptime", 20_u64)
        .with("ptime-reverse", 40_u64);
    assert!(reason(&setup.ask(request("offer", Some(&stated), mixed))).ends_with("not supported"));
}

#[test]
fn a_codec_to_consume_needs_transcoding_if_it_is_offered() {
    let mut setup = Setup::new();
    let consume =
        |codec: &str| Dictionary::default().with("codec", Dictionary::default().with("consume", list(&[codec])));
    for codec in ["PCMU", "all", "full"] {
        assert!(reason(&offer(&mut setup, consume(codec))).ends_with("not supported"));
        assert!(reason(&offer(&mut setup, flags(&[&format!("codec-consume-{codec}")]))).ends_with("not supported"));
    }
    assert_eq!(warning(&offer(&mut setup, consume("G722"))), "");
}

#[test]
fn codecs_that_stay_because_they_are_offered_have_the_order_of_the_flag() {
    let mut setup = Setup::new();
    let sdp = described(
        "192.0.2.1",
        "m=audio 6004 RTP/AVP 8 0 9 101\r\na=rtpmap:101 telephone-event/8000\r\n",
    );
    for (text, expected) in [
        ("codec=[strip=[all] offer=[PCMU PCMA]]", "0 8"),
        ("codec=[strip=[all] offer=[telephone-event G722]]", "101 9"),
        ("codec=[strip=[all] except=[PCMU PCMA]]", "8 0"),
        ("codec=[strip=[PCMA] offer=[PCMA]]", "0 9 101 8"),
        ("codec=[offer=[PCMU]]", "8 0 9 101"),
        ("codec-strip-all codec-offer-PCMU codec-offer-PCMA", "0 8"),
    ] {
        let told = setup.describe("offer", &sdp, Dictionary::default().with("rtpp-flags", text));
        let line = told.lines().find(|line| line.starts_with("m=")).expect("a section");
        assert_eq!(
            line.split(' ').skip(3).collect::<Vec<_>>().join(" "),
            expected,
            "{text}"
        );
    }
}

#[test]
fn values_that_cannot_be_used_are_named() {
    let mut setup = Setup::new();
    for (key, value) in [
        ("address-family", "IP5"),
        ("media-address", "x.y"),
        ("tos", "999"),
        ("delete-delay", "-3"),
        ("transport-protocol", "RTP/XYZ"),
    ] {
        let reply = offer(&mut setup, Dictionary::default().with(key, value));
        assert_eq!(warning(&reply), format!("Unknown flags were ignored: {key}={value}"));
    }
    for family in ["IP4", "ip4", ""] {
        assert_eq!(
            warning(&offer(&mut setup, Dictionary::default().with("address-family", family))),
            ""
        );
    }
}
