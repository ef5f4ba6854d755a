//! Tests of a process that is killed during calls, and of the next one.

use std::time::Duration;

use sip::ng::value::Dictionary;
use sip::{Config, Counter, Input};
use southbound::relay::{Accept, RelayNotice, Traffic};

use crate::support::*;

/// A call whose parties have both been heard, and where each of them sends to.
fn learned(setup: &mut Setup) -> [std::net::SocketAddr; 2] {
    let [answer, offer] = setup.call().map(|sdp| local(&sdp));
    setup.source(answer, "192.0.2.1:6004");
    setup.source(offer, "203.0.113.9:7000");
    setup.pass(Duration::from_secs(4));
    [answer, offer]
}

fn to(tag: &str) -> Dictionary {
    Dictionary::default().with("to-tag", tag)
}

#[test]
fn a_resumed_call_keeps_its_state_and_can_be_ended() {
    let mut setup = Setup::new();
    let [answer, offer] = learned(&mut setup);
    let (open, entries) = (setup.open.clone(), setup.entries.clone());
    assert_eq!(entries[&offer].accept, Accept::Only(at("203.0.113.9:7000")));
    setup.replace();
    assert_eq!((&setup.open, &setup.entries), (&open, &entries));
    assert_eq!((setup.relay.calls(), setup.count(Counter::CallsResumed)), (1, 1));

    let reply = setup.ask(request("query", None, Dictionary::default()));
    assert_eq!(reply.text("result"), Some(&b"ok"[..]));
    // A new description changes the call there.
    let again = setup.describe("offer", &phone("192.0.2.1", 6100), to("b"));
    assert_eq!(local(&again), offer);
    let again = setup.describe("answer", &phone("192.0.2.2", 6000), to("b"));
    assert_eq!(local(&again), answer);
    assert_eq!(setup.open, open);
    let reply = setup.ask(request("delete", None, Dictionary::default()));
    assert_eq!(reply.text("result"), Some(&b"ok"[..]));
    assert!(setup.entries.is_empty());
    setup.pass(Duration::from_secs(60));
    assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0));
}

#[test]
fn its_ports_are_nobody_elses() {
    let mut setup = Setup::with(Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_007)]));
    learned(&mut setup);
    setup.replace();
    let open = setup.open.clone();
    let other = |call: &str| Dictionary::default().with("call-id", call);
    let offer = setup.describe("offer", &phone("192.0.2.7", 6004), other("d"));
    assert!(!open.contains(&local(&offer)) && setup.open.len() == 8);
    let reply = setup.ask(request("offer", Some(&phone("192.0.2.8", 6004)), other("e")));
    assert_eq!(reason(&reply), "Ran out of ports");
}

#[test]
fn a_call_that_is_offered_or_on_hold_or_over_goes_on_as_that() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    setup.replace();
    assert!(
        setup.entries.len() == 2 && setup.open.contains(&local(&offer)),
        "early media"
    );
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!(setup.entries.len(), 4);

    // On hold it may be silent for an hour.
    setup.describe("offer", &(phone("192.0.2.1", 6004) + "a=sendonly\r\n"), to("b"));
    setup.describe("answer", &(phone("192.0.2.2", 6000) + "a=recvonly\r\n"), to("b"));
    setup.replace();
    setup.pass(Duration::from_secs(3000));
    assert_eq!(setup.relay.calls(), 1);

    setup.ask(request("delete", None, Dictionary::default()));
    setup.replace();
    assert!(setup.entries.is_empty() && setup.relay.calls() == 1);
    setup.pass(Duration::from_secs(31));
    assert_eq!((setup.relay.calls(), setup.open.len()), (0, 0));
}

/// No port knows of packets from before the process was killed, so a call is given its full timeout
/// again.
#[test]
fn a_call_ends_by_itself_when_nothing_comes_afterwards() {
    let mut setup = Setup::new();
    let [answer, _] = learned(&mut setup);
    for _ in 0..10 {
        setup.pass(Duration::from_secs(50));
        let (traffic, idle) = (Traffic::default(), Some(Duration::ZERO));
        setup.tell(Input::Notice(RelayNotice::Traffic {
            at: answer,
            traffic,
            idle,
        }));
    }
    setup.replace();
    setup.pass(Duration::from_secs(59));
    assert_eq!(setup.relay.calls(), 1);
    setup.pass(Duration::from_secs(2));
    assert_eq!((setup.relay.calls(), setup.count(Counter::CallsMediaTimeout)), (0, 1));
}

#[test]
fn calls_of_rtpproxys_protocol_go_on_too() {
    let mut setup = Setup::new();
    let first = setup.line("U c 192.0.2.1 6004 a;1");
    let second = setup.line("L c 192.0.2.2 6000 a;1 b;1");
    let entries = setup.entries.clone();
    setup.replace();
    assert_eq!(setup.entries, entries);
    assert_eq!(setup.line("U c 192.0.2.1 6004 a;1"), first);
    assert_eq!(setup.line("L c 192.0.2.2 6000 a;1 b;1"), second);
    assert_eq!(setup.line("D c a b"), "0\n");
    assert!(setup.entries.is_empty());
}

#[test]
fn encrypted_calls_and_keys_are_not_recorded() {
    let mut setup = Setup::new();
    let section = "m=audio 6004 RTP/SAVP 0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
    let towards = Dictionary::default().with("transport-protocol", "RTP/AVP");
    setup.describe("offer", &described("192.0.2.1", section), towards);
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!(setup.records(), Vec::<String>::new());
    setup.replace();
    let reply = setup.ask(request("delete", None, Dictionary::default()));
    assert_eq!((setup.relay.calls(), setup.open.len()), (0, 0), "{reply:?}");
}

#[test]
fn unreadable_records_and_records_without_ports_are_left_out() {
    let mut setup = Setup::new();
    learned(&mut setup);
    let records = setup.records();
    let elsewhere = Config::new(vec![interface("default", "127.0.0.1", 30_000..=30_999)]);
    for (config, records) in [
        (elsewhere, records.clone()),
        (setup.config.clone(), vec![records[0].replace("\"call\"", "\"kall\"")]),
    ] {
        let mut next = Setup::with(config);
        next.resume(&records);
        assert_eq!(
            (next.relay.calls(), next.relay.port_pairs(), next.open.len()),
            (0, 0, 0)
        );
        assert_eq!(next.count(Counter::CallsNotResumed), 1);
    }
    // The same call twice has ports for one.
    let mut next = Setup::new();
    next.resume(&[records[0].clone(), records[0].clone()]);
    let counted = [Counter::CallsResumed, Counter::CallsNotResumed].map(|counter| next.count(counter));
    assert_eq!((next.relay.calls(), counted), (1, [1, 1]));
}

/// Another process has opened one of its ports: that side has none then, and nothing is forwarded
/// there.
#[test]
fn a_port_that_is_somebody_elses_by_then_is_given_up() {
    let mut setup = Setup::new();
    let [answer, _] = learned(&mut setup);
    let records = setup.records();
    let mut next = Setup::new();
    next.taken.insert(answer);
    next.resume(&records);
    assert!(!next.open.contains(&answer) && next.relay.calls() == 1);
    next.ask(request("delete", None, Dictionary::default()));
    next.pass(Duration::from_secs(60));
    assert_eq!((next.relay.calls(), next.open.len()), (0, 0));
}

#[test]
fn all_calls_are_recorded_again_after_a_loss_of_records() {
    let mut setup = Setup::new();
    setup.call();
    let told = setup.records();
    assert_eq!((told.len(), setup.records().len()), (1, 0));
    let other = Dictionary::default().with("call-id", "d");
    setup.describe("offer", &phone("192.0.2.7", 6004), other);
    setup.relay.forget_changes();
    assert_eq!(setup.records().len(), 0);
    let all: Vec<String> = setup
        .relay
        .take_all()
        .into_iter()
        .filter_map(|change| change.record)
        .collect();
    assert!(all.len() == 2 && all.contains(&told[0]), "{all:?}");
    assert_eq!(setup.records().len(), 0);
}

#[test]
fn a_change_that_is_not_answered_yet_is_resumed_with_what_was_agreed() {
    let mut setup = Setup::new();
    let [answer, offer] = learned(&mut setup);
    setup.describe("offer", &phone("192.0.2.1", 6100), to("b"));
    let (open, entries) = (setup.open.clone(), setup.entries.clone());
    setup.replace();
    assert_eq!((&setup.open, &setup.entries), (&open, &entries), "as it was agreed");
    setup.replace();
    assert_eq!((&setup.open, &setup.entries), (&open, &entries), "and once more");

    setup.describe("answer", &phone("192.0.2.2", 6000), to("b"));
    let hop = setup.entries[&offer].rtp.as_ref().expect("it is relayed");
    assert_eq!((hop.to, hop.from), (at("192.0.2.1:6100"), answer));
    setup.ask(request("delete", None, Dictionary::default()));
    setup.pass(Duration::from_secs(60));
    assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0));
}

#[test]
fn a_change_to_other_ports_is_resumed_too() {
    let ports = |name: &str, address: &str| interface(name, address, 40_000..=40_999);
    let interfaces = vec![ports("one", "127.0.0.1"), ports("other", "127.0.0.2")];
    let mut setup = Setup::with(Config::new(interfaces));
    let [answer, _] = learned(&mut setup);
    let elsewhere = to("b").with("direction", list(&["one", "other"]));
    let moved = setup.describe("offer", &phone("192.0.2.1", 6004), elsewhere);
    assert_eq!(local(&moved).ip(), ip("127.0.0.2"));
    let (open, entries) = (setup.open.clone(), setup.entries.clone());
    setup.replace();
    assert_eq!((&setup.open, &setup.entries), (&open, &entries));
    setup.describe("answer", &phone("192.0.2.2", 6000), to("b"));
    assert!(setup.entries.contains_key(&local(&moved)) && setup.entries.contains_key(&answer));
    assert_eq!(setup.open.len(), 4);
}

#[test]
fn a_clear_call_outlives_an_offer_of_keys() {
    let mut setup = Setup::new();
    learned(&mut setup);
    let secure = to("b").with("transport-protocol", "RTP/SAVP");
    setup.describe("offer", &phone("192.0.2.1", 6004), secure);
    let entries = setup.entries.clone();
    setup.replace();
    assert_eq!((setup.relay.calls(), &setup.entries), (1, &entries));
    setup.describe("offer", &phone("192.0.2.1", 6100), to("b"));
    setup.describe("answer", &phone("192.0.2.2", 6000), to("b"));
    assert_eq!(setup.entries.len(), 4);
}
