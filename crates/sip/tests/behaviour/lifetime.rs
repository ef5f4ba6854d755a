//! How calls end, and which give way to others.

use std::time::Duration;

use sip::ng::value::{Dictionary, Value};
use sip::{Config, Counter, Input};
use southbound::relay::{RelayNotice, Report, Traffic};

use crate::support::*;

fn traffic(setup: &mut Setup, address: std::net::SocketAddr, packets: u64) {
    let traffic = Traffic {
        packets,
        bytes: packets * 172,
        errors: 1,
        ..Traffic::default()
    };
    let idle = Some(Duration::ZERO);
    setup.tell(Input::Notice(RelayNotice::Traffic {
        at: address,
        traffic,
        idle,
    }));
}

#[test]
fn a_deleted_call_forwards_nothing_and_is_kept_for_late_questions() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    traffic(&mut setup, local(&answer), 100);
    let deleted = setup.ask(request("delete", None, Dictionary::default()));
    assert_eq!(
        dictionary(&deleted, &["totals", "RTP"]).value("packets"),
        Some(&Value::Integer(100))
    );
    assert!(setup.entries.is_empty() && setup.relay.port_pairs() == 2);
    traffic(&mut setup, local(&answer), 101);
    let asked = setup.ask(request("query", None, Dictionary::default()));
    assert_eq!(
        dictionary(&asked, &["totals", "RTP"]).value("packets"),
        Some(&Value::Integer(101)),
        "the packets that were counted last came later"
    );
    setup.pass(Duration::from_secs(30));
    assert_eq!(
        (
            setup.relay.calls(),
            setup.relay.port_pairs(),
            setup.count(Counter::CallsEnded)
        ),
        (0, 0, 1)
    );
    assert_eq!(
        reason(&setup.ask(request("query", None, Dictionary::default()))),
        "Unknown call-id"
    );
}

#[test]
fn a_late_answer_brings_a_deleted_call_back_with_the_same_ports() {
    let mut setup = Setup::new();
    let before = setup.call();
    setup.ask(request("delete", None, Dictionary::default()));
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!((answer, setup.entries.len()), (before[0].clone(), 4));
}

#[test]
fn a_new_call_under_the_name_of_a_deleted_one_waits_for_its_answer() {
    let mut setup = Setup::new();
    setup.call();
    setup.ask(request("delete", None, Dictionary::default()));
    setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    assert!(setup.entries.is_empty());
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!((setup.entries.len(), setup.relay.port_pairs()), (4, 2));
}

#[test]
fn a_delay_of_nothing_ends_a_call_at_once() {
    let mut setup = Setup::new();
    setup.call();
    setup.ask(request(
        "delete",
        None,
        Dictionary::default().with("delete-delay", 0_u64),
    ));
    assert_eq!(
        (setup.relay.calls(), setup.relay.port_pairs(), setup.open.len()),
        (0, 0, 0)
    );
}

#[test]
fn deleting_an_unknown_call_is_a_warning_or_an_error_as_requested() {
    let mut setup = Setup::new();
    setup.call();
    for names in [
        Dictionary::default().with("call-id", "x"),
        Dictionary::default().with("from-tag", "x"),
    ] {
        let reply = setup.ask(request("delete", None, names.clone()));
        assert_eq!(
            (reply.text("result"), reply.text("warning").is_some()),
            (Some(&b"ok"[..]), true)
        );
        let reply = setup.ask(request("delete", None, names.with("flags", list(&["fatal"]))));
        assert_eq!(reason(&reply), "Call-ID not found or tags didn't match");
    }
    let other = flags(&["to-tag"]).with("to-tag", "x");
    assert!(
        setup.ask(request("delete", None, other)).text("warning").is_some(),
        "the other tag is minded where that is asked for"
    );
    assert_eq!(setup.entries.len(), 4, "the call goes on");
}

#[test]
fn a_call_that_lost_its_bye_ends_when_its_media_does() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    for second in 1..=10_u64 {
        setup.pass(Duration::from_secs(30));
        traffic(&mut setup, local(&answer), second * 50);
    }
    assert_eq!(setup.relay.calls(), 1);
    setup.pass(Duration::from_secs(59));
    assert_eq!(setup.relay.calls(), 1);
    setup.pass(Duration::from_secs(1));
    assert_eq!((setup.relay.calls(), setup.count(Counter::CallsMediaTimeout)), (0, 1));
    assert!(setup.entries.is_empty() && setup.open.is_empty());
}

#[test]
fn a_call_on_hold_and_one_that_rings_have_more_time() {
    let mut setup = Setup::new();
    setup.call();
    setup.change(
        &(phone("192.0.2.1", 6004) + "a=sendonly\r\n"),
        Dictionary::default().with("to-tag", "b"),
    );
    setup.describe(
        "offer",
        &phone("192.0.2.1", 6004),
        Dictionary::default().with("call-id", "rings"),
    );
    setup.pass(Duration::from_secs(3599));
    assert_eq!(setup.relay.calls(), 2);
    setup.pass(Duration::from_secs(1));
    assert_eq!((setup.relay.calls(), setup.open.len()), (0, 0));
    assert_eq!(
        (
            setup.count(Counter::CallsSilentTimeout),
            setup.count(Counter::CallsOfferTimeout)
        ),
        (1, 1)
    );
}

#[test]
fn reports_about_ports_that_are_not_in_use_are_counted() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    setup.ask(request(
        "delete",
        None,
        Dictionary::default().with("delete-delay", 0_u64),
    ));
    traffic(&mut setup, local(&answer), 7);
    setup.source(local(&answer), "192.0.2.1:1");
    assert_eq!(setup.count(Counter::ReportStale), 2);
}

#[test]
fn a_query_tells_how_good_a_call_was() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    for loss in [0.0, 0.01, 0.2] {
        let report = Report {
            loss,
            jitter: Duration::from_millis(5),
            round_trip_leg: Some(Duration::from_millis(20)),
            round_trip: Some(Duration::from_millis(90)),
        };
        setup.tell(Input::Notice(RelayNotice::Quality {
            at: local(&answer),
            ssrc: 4711,
            report,
        }));
    }
    let reply = setup.ask(request("query", None, Dictionary::default()));
    let of = |which: &str, key: &str| {
        dictionary(&reply, &["SSRC", "4711", which])
            .value(key)
            .and_then(Value::integer)
    };
    assert_eq!(
        (
            of("highest MOS", "MOS"),
            of("lowest MOS", "packet loss"),
            of("average MOS", "samples")
        ),
        (Some(44), Some(20), Some(3))
    );
    assert_eq!(
        (of("average MOS", "jitter"), of("average MOS", "round-trip time")),
        (Some(5), Some(90_000))
    );
    assert!(of("lowest MOS", "MOS") < of("average MOS", "MOS") && of("lowest MOS", "reported at").is_some());
}

#[test]
fn a_relay_that_drains_refuses_new_calls_and_counts_those_that_end_with_it() {
    let mut setup = Setup::new();
    setup.call();
    let encrypted = Dictionary::default()
        .with("call-id", "d")
        .with("transport-protocol", "RTP/SAVP");
    setup.describe("offer", &phone("192.0.2.1", 6008), encrypted);
    setup.relay.drain();
    let other = Dictionary::default().with("call-id", "other");
    let refused = setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), other));
    assert_eq!(reason(&refused), "Parallel session limit reached");
    setup.describe("offer", &phone("192.0.2.1", 6000), Dictionary::default());
    assert_eq!(
        (setup.relay.calls(), setup.relay.ending_calls()),
        (2, 1),
        "a clear call continues in the next process"
    );
    let encrypted = Dictionary::default().with("call-id", "d");
    setup.ask(request("delete", None, encrypted));
    assert_eq!(
        (setup.relay.calls(), setup.relay.ending_calls()),
        (2, 0),
        "it is kept for late questions"
    );
}

#[test]
fn a_branch_ends_without_the_others() {
    let mut setup = Setup::new();
    let branch = |name: &str| Dictionary::default().with("via-branch", name);
    let sdp = phone("192.0.2.1", 6004);
    let facing: Vec<_> = ["b1", "b2"]
        .map(|name| local(&setup.describe("offer", &sdp, branch(name))))
        .into();
    let delete = |more: Dictionary| {
        more.with("command", "delete")
            .with("call-id", "c")
            .with("delete-delay", 0_u64)
    };
    assert!(setup.ask(delete(branch("b3"))).text("warning").is_some());
    assert!(facing.iter().all(|at| setup.entries.contains_key(at)));
    assert!(setup.ask(delete(branch("b1"))).text("warning").is_none());
    assert_eq!(
        facing
            .iter()
            .map(|at| setup.entries.contains_key(at))
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert!(
        setup
            .ask(delete(branch("b2").with("from-tag", "a")))
            .text("warning")
            .is_none()
    );
    assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0));
}

#[test]
fn a_query_names_the_codec_once_there_are_packets() {
    let mut setup = Setup::new();
    let codecs = |address: &str, formats: &str| described(address, &format!("m=audio 6004 RTP/AVP {formats}\r\n"));
    setup.describe("offer", &codecs("192.0.2.1", "0 8"), Dictionary::default());
    let answer = setup.describe("answer", &codecs("192.0.2.2", "8"), answered());
    let codec = |setup: &mut Setup, tag: &str| {
        let reply = setup.ask(request("query", None, Dictionary::default()));
        let Some(Value::List(medias)) = dictionary(&reply, &["tags", tag]).value("medias") else {
            panic!("no sections")
        };
        let Some(Value::Dictionary(section)) = medias.first() else {
            panic!("no section")
        };
        section.text("codec").map(<[u8]>::to_vec)
    };
    assert_eq!(codec(&mut setup, "a"), None);
    traffic(&mut setup, local(&answer), 3);
    assert_eq!(codec(&mut setup, "a").as_deref(), Some(&b"PCMA/8000"[..]));
    assert_eq!(codec(&mut setup, "b"), None);
}

/// The SSRC of the first section's RTP in the answer to a query.
fn ssrc(reply: &Dictionary, tag: &str) -> Option<i64> {
    let list = |value: Option<&Value>| match value {
        Some(Value::List(list)) => list.first().cloned(),
        _ => None,
    };
    let Some(Value::Dictionary(section)) = list(dictionary(reply, &["tags", tag]).value("medias")) else {
        panic!("no section")
    };
    let Some(Value::Dictionary(stream)) = list(section.value("streams")) else {
        panic!("no stream")
    };
    stream.value("SSRC").and_then(Value::integer)
}

#[test]
fn a_query_names_the_stream_of_the_last_packet_without_any_report() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call().map(|sdp| local(&sdp));
    let query = |setup: &mut Setup| setup.ask(request("query", None, Dictionary::default()));
    assert_eq!(ssrc(&query(&mut setup), "a"), None);
    for (packets, last) in [(5, 4711), (9, 4712)] {
        let counted = Traffic {
            packets,
            bytes: packets * 172,
            ssrc: Some(last),
            ..Traffic::default()
        };
        setup.relays(answer, counted);
        let reply = query(&mut setup);
        assert_eq!(ssrc(&reply, "a"), Some(i64::from(last)));
        assert_eq!(ssrc(&reply, "b"), None);
        let scores = dictionary(&reply, &["SSRC", &last.to_string()]);
        assert_eq!(*scores, Dictionary::default(), "nobody has reported on it");
    }
}

#[test]
fn unanswered_calls_of_an_address_give_way_to_those_of_others() {
    let named = |number: u16| Dictionary::default().with("call-id", format!("call-{number}"));
    let offer = |from: &str, number: u16| request("offer", Some(&phone(from, 7000)), named(number));
    let ports = Config::new(vec![interface("a", "127.0.0.1", 5000..=5011)]);
    let calls = Config {
        calls_max: 3,
        ..Config::new(vec![interface("a", "127.0.0.1", 5000..=5099)])
    };
    for config in [ports, calls] {
        let mut setup = Setup::with(config);
        let is_done = |reply: &Dictionary| reply.text("result") == Some(b"ok");
        for number in 0..3 {
            assert!(is_done(&setup.ask(offer("192.0.2.66", number))));
        }
        assert!(!is_done(&setup.ask(offer("192.0.2.1", 3))), "they may be answered yet");
        setup.pass(sip::limits::UNANSWERED_MIN);
        assert!(!is_done(&setup.ask(offer("192.0.2.66", 3))), "its own calls stay");
        assert!(is_done(&setup.ask(offer("192.0.2.1", 3))));
        assert!(is_done(&setup.ask(offer("192.0.2.1", 4))));
        assert!(
            !is_done(&setup.ask(offer("192.0.2.1", 5))),
            "it has the most itself now"
        );
        assert_eq!((setup.count(Counter::CallsEvicted), setup.relay.calls()), (2, 3));
    }
}

#[test]
fn of_addresses_with_as_many_unanswered_calls_another_one_gives_way() {
    let named = |number: usize| Dictionary::default().with("call-id", format!("call-{number}"));
    let offer = |from: &str, number: usize| request("offer", Some(&phone(from, 7000)), named(number));
    // The order of addresses in a table differs from one table to the next.
    for _ in 0..16 {
        let mut setup = Setup::with(Config {
            calls_max: 2,
            ..Config::new(vec![interface("a", "127.0.0.1", 5000..=5099)])
        });
        for (number, from) in ["192.0.2.66", "192.0.2.67"].into_iter().enumerate() {
            setup.ask(offer(from, number));
        }
        setup.pass(sip::limits::UNANSWERED_MIN);
        let reply = setup.ask(offer("192.0.2.67", 2));
        assert_eq!(reply.text("result"), Some(&b"ok"[..]), "{}", reason(&reply));
        assert_eq!((setup.count(Counter::CallsEvicted), setup.relay.calls()), (1, 2));
    }
}
