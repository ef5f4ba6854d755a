//! Warnings about requests that are not carried out.

use sip::ng::Wish;
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

fn wishes() -> [(Wish, Dictionary); 5] {
    let none = Dictionary::default;
    [
        (
            Wish::Transcode,
            none().with("codec", none().with("transcode", list(&["opus"]))),
        ),
        (Wish::Ptime, none().with("ptime", 40_u64)),
        (Wish::T38, none().with("T.38", list(&["decode"]))),
        (Wish::InjectDtmf, flags(&["inject DTMF"])),
        (Wish::ForceRelay, none().with("ICE", "force-relay")),
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
        tolerated: vec![Wish::Transcode],
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
