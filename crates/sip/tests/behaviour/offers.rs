//! Offers and answers over `ng`.

use sip::ng::value::{Dictionary, Value};
use sip::{Config, Counter, Request};
use southbound::relay::{Accept, Keys};

use crate::support::*;

#[test]
fn a_call_is_relayed_both_ways_once_it_is_answered() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let (facing_a, facing_b) = (local(&answer), local(&offer));
    assert_eq!(setup.entries.len(), 4);
    for (arrives, leaves, to) in [
        (facing_a, facing_b, "192.0.2.2:6000"),
        (facing_b, facing_a, "192.0.2.1:6004"),
    ] {
        let entry = &setup.entries[&arrives];
        let hop = entry.rtp.as_ref().expect("a way");
        assert_eq!(
            (hop.from, hop.to, &hop.egress_protection, &entry.ingress_protection),
            (leaves, at(to), &Keys::Clear, &Keys::Clear)
        );
        assert!(matches!(entry.accept, Accept::Learn { rtp_only: true, .. }));
        assert_eq!(
            entry.rtcp,
            setup.entries[&above(arrives)].rtcp,
            "it comes to either port"
        );
        let hop = entry.rtcp.as_ref().expect("a way");
        assert_eq!((hop.from, hop.to), (above(leaves), above(at(to))));
    }
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let mut setup = Setup::new();
    let first = setup.call();
    let entries = setup.entries.clone();
    for _ in 0..3 {
        assert_eq!(setup.call(), first);
        assert_eq!(setup.outputs, 1, "only the reply");
    }
    assert_eq!(setup.entries, entries);
}

#[test]
fn media_follows_a_party_that_moves() {
    let mut setup = Setup::new();
    let before = setup.call();
    let moved = Dictionary::default().with("to-tag", "b");
    let offer = setup.change(&phone("192.0.2.77", 7000), moved);
    assert_eq!(local(&offer), local(&before[1]), "our ports stay");
    let hop = setup.entries[&local(&before[1])].rtp.clone().expect("a way");
    assert_eq!(hop.to, at("192.0.2.77:7000"));
}

#[test]
fn the_callee_may_offer_too() {
    let mut setup = Setup::new();
    let before = setup.call();
    let turned = Dictionary::default().with("from-tag", "b").with("to-tag", "a");
    let offer = setup.describe("offer", &phone("192.0.2.2", 6000), turned.clone());
    let answer = setup.describe("answer", &phone("192.0.2.1", 6004), turned);
    assert_eq!([local(&offer), local(&answer)], [local(&before[0]), local(&before[1])]);
    assert_eq!(setup.relay.port_pairs(), 2);
}

#[test]
fn hold_in_the_old_way_and_in_the_new_one() {
    let mut setup = Setup::new();
    let [answer, offer] = setup.call();
    let to_b = Dictionary::default().with("to-tag", "b");
    let held = setup.change(&phone("0.0.0.0", 6004), to_b.clone());
    assert!(held.contains("c=IN IP4 0.0.0.0\r\n"), "{held}");
    assert_eq!(setup.entries[&local(&offer)].rtp, None, "a party on hold gets nothing");
    assert!(setup.entries[&local(&answer)].rtp.is_some());
    let replaced = Dictionary::default()
        .with("to-tag", "b")
        .with("replace", list(&["zero-address"]));
    assert!(
        setup
            .describe("offer", &phone("0.0.0.0", 6004), replaced)
            .contains("c=IN IP4 127.0.0.1\r\n")
    );

    let inactive = phone("192.0.2.1", 6004) + "a=inactive\r\n";
    let held = setup.describe("offer", &inactive, to_b.clone());
    assert!(
        held.contains("a=inactive\r\n") && !held.contains("a=sendrecv"),
        "{held}"
    );
    let resumed = setup.change(&phone("192.0.2.1", 6004), to_b);
    assert_eq!(resumed, offer);
    assert!(setup.entries[&local(&offer)].rtp.is_some());
}

#[test]
fn a_section_that_is_not_wanted_has_no_ports() {
    let mut setup = Setup::new();
    let two = described("192.0.2.1", "m=audio 6004 RTP/AVP 0\r\nm=video 6008 RTP/AVP 34\r\n");
    let offer = setup.describe("offer", &two, Dictionary::default());
    assert_eq!(setup.relay.port_pairs(), 4);
    let refused = described("192.0.2.2", "m=audio 6000 RTP/AVP 0\r\nm=video 0 RTP/AVP 34\r\n");
    let answer = setup.describe("answer", &refused, answered());
    assert!(answer.ends_with("m=video 0 RTP/AVP 34\r\n"), "{answer}");
    assert_eq!(setup.entries.len(), 4);
    let without = described("192.0.2.1", "m=audio 6004 RTP/AVP 0\r\nm=video 0 RTP/AVP 34\r\n");
    let again = setup.change(&without, Dictionary::default().with("to-tag", "b"));
    assert_eq!((local(&again), setup.relay.port_pairs()), (local(&offer), 2));
    setup.describe(
        "offer",
        &phone("192.0.2.1", 6004),
        Dictionary::default().with("to-tag", "b"),
    );
    assert_eq!(setup.relay.port_pairs(), 2, "a section that is gone needs none either");
}

#[test]
fn rtcp_shares_a_port_if_both_want_it() {
    let mut setup = Setup::new();
    let mux = |address: &str, port| phone(address, port) + "a=rtcp-mux\r\n";
    let offer = setup.describe("offer", &mux("192.0.2.1", 6004), Dictionary::default());
    assert!(
        offer.ends_with(&format!("a=rtcp:{}\r\na=rtcp-mux\r\n", local(&offer).port() + 1)),
        "{offer}"
    );
    let answer = setup.describe("answer", &mux("192.0.2.2", 6000), answered());
    assert!(
        answer.ends_with(&format!("a=rtcp:{}\r\na=rtcp-mux\r\n", local(&answer).port())),
        "{answer}"
    );
    let entry = &setup.entries[&local(&answer)];
    assert_eq!(setup.entries.len(), 2);
    assert_eq!(
        entry.rtcp.as_ref().map(|hop| (hop.from, hop.to)),
        Some((local(&offer), at("192.0.2.2:6000")))
    );
}

#[test]
fn rtcp_is_split_for_a_party_that_wants_it_so() {
    let mut setup = Setup::new();
    let demux = Dictionary::default().with("rtcp-mux", list(&["demux"]));
    let offer = setup.describe("offer", &(phone("192.0.2.1", 6004) + "a=rtcp-mux\r\n"), demux);
    assert!(!offer.contains("rtcp-mux"), "{offer}");
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert!(answer.contains("a=rtcp-mux\r\n"), "{answer}");
    let (facing_a, facing_b) = (local(&answer), local(&offer));
    assert_eq!(setup.entries.len(), 3);
    assert_eq!(
        setup.entries[&facing_a].rtcp.as_ref().map(|hop| hop.to),
        Some(at("192.0.2.2:6001"))
    );
    assert_eq!(
        setup.entries[&above(facing_b)]
            .rtcp
            .as_ref()
            .map(|hop| (hop.from, hop.to)),
        Some((facing_a, at("192.0.2.1:6004")))
    );
}

#[test]
fn each_party_gets_the_interface_it_is_on() {
    let interfaces = vec![
        interface("lan", "10.0.0.1", 5000..=5099),
        interface("wan", "198.51.100.1", 5000..=5099),
    ];
    let mut setup = Setup::with(Config::new(interfaces));
    for (names, facing_b) in [
        (["lan", "wan"], "198.51.100.1"),
        (["external", "internal"], "10.0.0.1"),
        (["wan", "dmz"], "10.0.0.1"),
    ] {
        let direction = Dictionary::default().with("direction", list(&names));
        let offer = setup.describe("offer", &phone("192.0.2.1", 6004), direction);
        assert_eq!(local(&offer).ip(), ip(facing_b), "{names:?}");
        setup.ask(request(
            "delete",
            None,
            Dictionary::default().with("delete delay", 0_u64),
        ));
    }
    assert_eq!(setup.count(Counter::InterfaceUnknown), 1);
}

#[test]
fn one_party_may_have_ipv4_and_the_other_ipv6() {
    let interfaces = vec![
        interface("wan", "198.51.100.1", 5000..=5099),
        interface("wan", "2001:db8::1", 5000..=5099),
    ];
    let mut setup = Setup::with(Config::new(interfaces));
    let v6 = Dictionary::default()
        .with("address family", "IP6")
        .with("replace", list(&["origin"]));
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), v6);
    assert!(
        offer.contains("IN IP6 2001:db8::1\r\ns=") && offer.contains("c=IN IP6 2001:db8::1\r\n"),
        "{offer}"
    );
    let other = phone("192.0.2.1", 6000).replace("IP4 192.0.2.1", "IP6 2001:db8::2");
    let answer = setup.describe("answer", &other, answered());
    assert_eq!((local(&answer).ip(), setup.entries.len()), (ip("198.51.100.1"), 4));
}

#[test]
fn ports_that_run_out_are_said_to() {
    let mut setup = Setup::with(Config::new(vec![interface("default", "127.0.0.1", 5000..=5007)]));
    let call = |name: &str| {
        request(
            "offer",
            Some(&phone("192.0.2.1", 6004)),
            Dictionary::default().with("call-id", name),
        )
    };
    assert_eq!(setup.ask(call("1")).text("result"), Some(&b"ok"[..]));
    assert_eq!(setup.ask(call("2")).text("result"), Some(&b"ok"[..]));
    let third = setup.ask(call("3"));
    assert_eq!((reason(&third).as_str(), setup.relay.calls()), ("Ran out of ports", 2));
    assert_eq!(setup.count(Counter::PortsExhausted), 1);

    setup.ask(request("delete", None, Dictionary::default().with("call-id", "1")));
    assert_eq!(setup.relay.calls(), 2, "a deleted call is kept for a while");
    assert_eq!(
        setup.ask(call("3")).text("result"),
        Some(&b"ok"[..]),
        "but not when its ports are needed"
    );
    assert_eq!((setup.count(Counter::PortsReclaimed), setup.relay.calls()), (1, 2));
}

#[test]
fn too_many_calls_are_refused_so_that_another_relay_is_tried() {
    let mut setup = Setup::with(Config {
        calls_max: 1,
        ..Config::new(vec![interface("a", "127.0.0.1", 5000..=5099)])
    });
    setup.call();
    let more = Dictionary::default().with("call-id", "other");
    let old = setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), more.clone()));
    assert_eq!(reason(&old), "Parallel session limit reached");
    let new = setup.ask(request(
        "offer",
        Some(&phone("192.0.2.1", 6004)),
        more.with("supports", list(&["load limit"])),
    ));
    assert_eq!(new.text("result"), Some(&b"load limit"[..]));
}

#[test]
fn branches_of_a_call_do_not_share_ports() {
    let mut setup = Setup::new();
    let branch = |name: &str| Dictionary::default().with("via-branch", name);
    let offers = ["1", "2"].map(|name| setup.describe("offer", &phone("192.0.2.1", 6004), branch(name)));
    assert_ne!(local(&offers[0]), local(&offers[1]));
    let answer = |tag: &str, name: &str| branch(name).with("to-tag", tag);
    setup.describe("answer", &phone("192.0.2.2", 6000), answer("b", "1"));
    setup.describe("answer", &phone("192.0.2.3", 6000), answer("c", "2"));
    assert_eq!((setup.relay.port_pairs(), setup.entries.len()), (4, 8));
    setup.ask(request("delete", None, branch("1")));
    assert_eq!(setup.entries.len(), 4, "the other branch goes on");
    setup.ask(request("delete", None, Dictionary::default().with("from-tag", "c")));
    assert!(setup.entries.is_empty(), "until its party goes");
    assert_eq!(setup.count(Counter::CallsEnded), 1);
}

#[test]
fn the_last_of_several_answers_to_one_offer_has_the_call() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    let answers = [("b", "192.0.2.2"), ("c", "192.0.2.3")];
    for (tag, address) in answers {
        setup.describe(
            "answer",
            &phone(address, 6000),
            Dictionary::default().with("to-tag", tag),
        );
    }
    assert_eq!(setup.relay.port_pairs(), 2);
    let facing_a = setup
        .entries
        .values()
        .find(|entry| entry.rtp.as_ref().is_some_and(|hop| hop.from == local(&offer)));
    assert_eq!(
        facing_a.and_then(|entry| entry.rtp.as_ref()).map(|hop| hop.to),
        Some(at("192.0.2.3:6000"))
    );
}

#[test]
fn the_source_of_the_sip_message_may_replace_the_address() {
    let mut setup = Setup::new();
    let nat = flags(&["SIP-source-address"]).with("received-from", list(&["IP4", "203.0.113.9"]));
    setup.describe("offer", &phone("192.168.1.5", 6004), nat);
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let towards_a = setup
        .entries
        .values()
        .filter_map(|entry| entry.rtp.as_ref())
        .find(|hop| hop.from == local(&answer));
    assert_eq!(towards_a.map(|hop| hop.to), Some(at("203.0.113.9:6004")));
}

#[test]
fn json_is_answered_in_json() {
    let mut setup = Setup::new();
    let message = br#"7 {"command":"offer","call-id":"c","from-tag":"a","sdp":"v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 6004 RTP/AVP 0\r\n"}"#;
    let reply = setup.say(Request::Ng { from: None, message }).expect("an answer");
    let reply = String::from_utf8(reply).expect("text");
    assert!(
        reply.starts_with(r#"7 {"sdp":"v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 4"#)
            && reply.ends_with(r#""result":"ok"}"#),
        "{reply}"
    );
}

#[test]
fn the_session_stays_the_same_for_its_reader() {
    let mut setup = Setup::new();
    let replace = |more: Dictionary| more.with("replace", list(&["origin", "username", "session-name", "SDP-version"]));
    let first = setup.describe("offer", &phone("192.0.2.1", 6004), replace(Dictionary::default()));
    let other = phone("192.0.2.1", 6004).replace("user1", "user2").replace("s=-", "s=x");
    let second = setup.describe("offer", &other, replace(Dictionary::default()));
    assert_eq!(first, second);
    let held = setup.describe("offer", &(other + "a=sendonly\r\n"), replace(Dictionary::default()));
    assert!(
        held.contains("o=user1 53655765 2353687638 IN IP4 127.0.0.1\r\ns=-\r\n"),
        "{held}"
    );
}

#[test]
fn a_description_passes_once_if_requested() {
    let mut setup = Setup::new();
    let once = setup.describe("offer", &phone("192.0.2.1", 6004), flags(&["loop-protect"]));
    assert_eq!(
        setup.describe("offer", &once, flags(&["loop-protect"]).with("from-tag", "z")),
        once
    );
    assert_eq!(setup.relay.port_pairs(), 2);
}

#[test]
fn unknown_flags_are_ignored_with_a_warning_and_unsupported_ones_refused() {
    let mut setup = Setup::new();
    let reply = setup.ask(request(
        "offer",
        Some(&phone("192.0.2.1", 6004)),
        flags(&["frobnicate"]),
    ));
    let warning = &b"Unknown flags were ignored: frobnicate"[..];
    assert_eq!(reply.text("warning"), Some(warning));
    let transcode = Dictionary::default().with("transcode", list(&["PCMA"]));
    let reply = setup.ask(request(
        "offer",
        Some(&phone("192.0.2.1", 6004)),
        Dictionary::default().with("codec", transcode),
    ));
    assert_eq!(reason(&reply), "Transcoding is not supported");
    assert_eq!(
        reason(&setup.ask(request("play media", None, Dictionary::default()))),
        "unsupported"
    );
    assert_eq!(
        reason(&setup.ask(request("frobnicate", None, Dictionary::default()))),
        "Unrecognized command"
    );
    assert_eq!(
        (
            setup.count(Counter::FlagUnknown),
            setup.count(Counter::NgUnsupported),
            setup.count(Counter::NgUnknownCommand)
        ),
        (1, 2, 1)
    );
}

#[test]
fn calls_are_listed_and_counted() {
    let mut setup = Setup::new();
    setup.call();
    let listed = setup.ask(Dictionary::default().with("command", "list"));
    assert_eq!(listed.value("calls"), Some(&list(&["c"])));
    let none = setup.ask(Dictionary::default().with("command", "list").with("limit", "0"));
    assert_eq!(none.value("calls"), Some(&list(&[])));
    let statistics = setup.ask(Dictionary::default().with("command", "statistics"));
    let Some(Value::Dictionary(statistics)) = statistics.value("statistics") else {
        panic!("statistics")
    };
    let Some(Value::Dictionary(current)) = statistics.value("currentstatistics") else {
        panic!("current ones")
    };
    assert_eq!(current.value("sessionstotal"), Some(&Value::Integer(1)));
}

#[test]
fn a_name_is_made_up_for_a_section_of_an_offer_and_not_of_an_answer() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), flags(&["generate-mid"]));
    let names = flags(&["generate-mid"]).with("to-tag", "b");
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), names);
    assert!(offer.contains("a=mid:1\r\n"), "{offer}");
    assert!(
        !answer.contains("a=mid:"),
        "the offerer has another name for it: {answer}"
    );
}
