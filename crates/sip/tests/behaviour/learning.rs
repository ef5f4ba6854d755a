//! Learning of packets' sources.

use std::time::Duration;

use sip::Counter;
use sip::ng::value::Dictionary;
use southbound::relay::Accept;

use crate::support::*;

/// A call whose caller is behind a NAT: our address towards it, and the egress address of packets
/// to it.
fn call(setup: &mut Setup, flags: Dictionary) -> [std::net::SocketAddr; 2] {
    let offer = setup.describe("offer", &phone("192.168.1.5", 6004), flags);
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    [local(&answer), local(&offer)]
}

fn towards_caller(setup: &Setup, facing_b: std::net::SocketAddr) -> std::net::SocketAddr {
    setup.entries[&facing_b].rtp.as_ref().expect("a way").to
}

fn delayed() -> Dictionary {
    Dictionary::default().with("endpoint-learning", "delayed")
}

/// The caller describes itself again in the same call.
fn again(setup: &mut Setup, address: &str, port: u16) {
    let to = Dictionary::default().with("to-tag", "b");
    setup.change(&phone(address, port), to);
}

#[test]
fn an_address_is_learned_for_a_while_and_then_it_stays() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, delayed());
    setup.pass(Duration::from_secs(20));
    setup.source(facing_a, "203.0.113.9:31000");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
    setup.pass(Duration::from_secs(2));
    setup.source(facing_a, "203.0.113.9:31002");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31002"));
    assert!(matches!(setup.entries[&facing_a].accept, Accept::Learn { .. }));
    setup.pass(Duration::from_secs(1));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31002")));
    setup.source(facing_a, "198.51.100.66:666");
    assert_eq!(
        towards_caller(&setup, facing_b),
        at("203.0.113.9:31002"),
        "nobody takes a call over"
    );
    assert_eq!(
        (setup.count(Counter::SourceLearned), setup.count(Counter::SourceRefused)),
        (2, 1)
    );
}

#[test]
fn a_source_at_the_described_address_is_learned_at_once() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "198.51.100.66:666");
    setup.source(facing_a, "192.168.1.5:6004");
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("192.168.1.5:6004")));
    setup.source(facing_a, "198.51.100.66:666");
    assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6004"));
}

#[test]
fn a_stranger_does_not_displace_an_active_source() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    for _ in 0..200 {
        for source in ["203.0.113.9:31000", "198.51.100.66:666", "198.51.100.67:666"] {
            setup.source(facing_a, source);
            assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
        }
        setup.pass(Duration::from_millis(20));
    }
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
}

#[test]
fn media_is_likely_to_have_the_source_address_of_the_description() {
    let mut setup = Setup::new();
    let received = Dictionary::default().with("received-from", list(&["IP4", "203.0.113.9"]));
    let [facing_a, facing_b] = call(&mut setup, received);
    setup.source(facing_a, "198.51.100.66:6004");
    setup.source(facing_a, "203.0.113.9:31000");
    setup.source(facing_a, "198.51.100.66:6004");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
}

#[test]
fn a_source_that_falls_silent_gives_way_to_one_as_likely() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_millis(500));
    setup.source(facing_a, "203.0.113.9:31002");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
    setup.pass(Duration::from_secs(1));
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31002"));
    // This source is less likely than that one.
    setup.source(facing_a, "192.168.1.5:9");
    setup.source(facing_a, "203.0.113.9:31004");
    setup.pass(Duration::from_secs(4));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("192.168.1.5:9")));
}

#[test]
fn a_rival_at_the_end_of_a_window_waits_for_the_first_to_be_silent() {
    let mut setup = Setup::new();
    let [facing_a, _] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_millis(2_990));
    setup.source(facing_a, "198.51.100.66:666");
    setup.pass(Duration::from_millis(20));
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_millis(1));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
}

#[test]
fn a_repeated_description_finds_a_party_moved_by_its_nat() {
    for flags in [Dictionary::default(), delayed()] {
        let mut setup = Setup::new();
        let [facing_a, facing_b] = call(&mut setup, flags.clone());
        setup.source(facing_a, "203.0.113.9:31000");
        setup.pass(Duration::from_secs(4));
        assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
        setup.change(&phone("192.168.1.5", 6004), flags.with("to-tag", "b"));
        assert!(matches!(
            setup.entries[&facing_a].accept,
            Accept::Learn { within: None, .. }
        ));
        assert_eq!(
            towards_caller(&setup, facing_b),
            at("203.0.113.9:31000"),
            "until something comes it is where it was"
        );
        setup.source(facing_a, "203.0.113.9:31777");
        assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31777"));
        setup.pass(Duration::from_secs(3));
        assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31777")));
    }
}

#[test]
fn an_answer_opens_a_window_for_the_answerer() {
    let mut setup = Setup::new();
    let [_, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_b, "203.0.113.9:7000");
    setup.pass(Duration::from_secs(4));
    assert_eq!(setup.entries[&facing_b].accept, Accept::Only(at("203.0.113.9:7000")));
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    setup.source(facing_b, "203.0.113.9:7002");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_b].accept, Accept::Only(at("203.0.113.9:7002")));
}

#[test]
fn a_session_that_is_refreshed_is_no_way_in() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    again(&mut setup, "192.168.1.5", 6004);
    setup.source(facing_a, "198.51.100.66:666");
    for _ in 0..200 {
        setup.source(facing_a, "203.0.113.9:31000");
        assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
        setup.source(facing_a, "198.51.100.66:666");
        setup.pass(Duration::from_millis(20));
    }
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
}

#[test]
fn late_packets_from_an_abandoned_port_are_not_learned() {
    for flags in ["heuristic", "delayed", "immediate"].map(|way| Dictionary::default().with("endpoint-learning", way)) {
        let mut setup = Setup::new();
        let [facing_a, facing_b] = call(&mut setup, flags.clone());
        setup.source(facing_a, "192.168.1.5:6004");
        setup.pass(Duration::from_secs(4));
        setup.change(&phone("192.168.1.5", 6010), flags.with("to-tag", "b"));
        setup.source(facing_a, "192.168.1.5:6004");
        assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6010"));
        setup.pass(Duration::from_secs(10));
        assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6010"));
        setup.source(facing_a, "192.168.1.5:6010");
        setup.pass(Duration::from_secs(4));
        assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("192.168.1.5:6010")));
    }
}

#[test]
fn a_source_that_keeps_sending_is_kept() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    again(&mut setup, "10.0.0.5", 6004);
    let window = setup.entries[&facing_a].accept;
    setup.source(facing_a, "203.0.113.9:31000");
    assert_eq!(towards_caller(&setup, facing_b), at("10.0.0.5:6004"));
    setup.pass(Duration::from_secs(3));
    assert_ne!(setup.entries[&facing_a].accept, window, "sources are told anew");
    setup.source(facing_a, "203.0.113.9:31000");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
}

#[test]
fn a_party_keeps_its_learned_address_over_a_hold() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    again(&mut setup, "0.0.0.0", 6004);
    setup.pass(Duration::from_secs(60));
    again(&mut setup, "192.168.1.5", 6004);
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
}

#[test]
fn a_reset_forgets_the_learned_address() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    setup.change(&phone("192.168.1.5", 6004), flags(&["reset"]).with("to-tag", "b"));
    assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6004"));
}

#[test]
fn rtpproxys_words_open_a_window_too() {
    let mut setup = Setup::new();
    let port = |reply: String| -> u16 { reply.split(' ').next().unwrap().parse().unwrap() };
    setup.line("U c 192.168.1.5 6004 a;1");
    let facing_a = std::net::SocketAddr::new(ip("127.0.0.1"), port(setup.line("L c 192.0.2.2 6000 a;1 b;1")));
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
    setup.line("U c 192.168.1.5 6004 a;1 b;1");
    setup.line("L c 192.0.2.2 6000 a;1 b;1");
    setup.source(facing_a, "203.0.113.9:31777");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31777")));
}

#[test]
fn a_strict_source_is_at_the_described_address() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, flags(&["strict-source"]));
    assert_eq!(
        setup.entries[&facing_a].accept,
        Accept::Learn {
            within: Some(ip("192.168.1.5")),
            window: 0,
            rtp_only: true
        }
    );
    setup.source(facing_a, "198.51.100.66:666");
    assert_eq!(
        (setup.count(Counter::SourceRefused), towards_caller(&setup, facing_b)),
        (1, at("192.168.1.5:6004"))
    );
    setup.source(facing_a, "192.168.1.5:7777");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("192.168.1.5:7777")));
}

#[test]
fn a_strict_source_behind_a_translator_is_learned_as_any_other() {
    let mut config = Setup::new().config;
    config.interfaces[0].advertised = Some(ip("192.0.2.77"));
    let mut setup = Setup::with(config);
    let mut call = |address: &str| {
        let strict = flags(&["strict-source"]).with("call-id", address);
        setup.describe("offer", &phone(address, 6004), strict);
        let answer = answered().with("call-id", address);
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answer);
        let facing_a = std::net::SocketAddr::new(ip("127.0.0.1"), local(&answer).port());
        setup.entries[&facing_a].accept
    };
    for address in ["192.168.1.5", "10.1.2.3", "100.64.0.9"] {
        assert!(matches!(call(address), Accept::Learn { within: None, .. }), "{address}");
    }
    assert!(matches!(call("198.51.100.5"), Accept::Learn { within: Some(_), .. }));
}

#[test]
fn a_strict_source_on_hold_is_nowhere() {
    let mut setup = Setup::new();
    let [facing_a, _] = call(&mut setup, flags(&["strict-source"]));
    setup.describe(
        "offer",
        &phone("0.0.0.0", 6004),
        flags(&["strict-source"]).with("to-tag", "b"),
    );
    setup.source(facing_a, "198.51.100.66:666");
    assert_eq!(
        (setup.count(Counter::SourceLearned), setup.count(Counter::SourceRefused)),
        (0, 1)
    );
}

#[test]
fn media_is_not_sent_to_the_source_of_an_asymmetric_party() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, flags(&["asymmetric"]));
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:31000")));
    assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6004"));
}

#[test]
fn the_ways_to_learn_differ() {
    let cases = [
        ("off", "192.168.1.5:6004"),
        ("immediate", "203.0.113.9:1"),
        ("delayed", "203.0.113.9:2"),
        ("heuristic", "192.168.1.5:9"),
    ];
    for (way, expected) in cases {
        let mut setup = Setup::new();
        let [facing_a, facing_b] = call(&mut setup, Dictionary::default().with("endpoint-learning", way));
        for source in ["203.0.113.9:1", "192.168.1.5:9", "203.0.113.9:2"] {
            setup.source(facing_a, source);
        }
        setup.pass(Duration::from_secs(3));
        assert_eq!(towards_caller(&setup, facing_b), at(expected), "{way}");
        assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at(expected)), "{way}");
    }
}

#[test]
fn a_handover_is_followed_if_requested() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, flags(&["media-handover"]));
    setup.source(facing_a, "203.0.113.9:1");
    setup.pass(Duration::from_secs(10));
    setup.source(facing_a, "203.0.113.10:1");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.10:1"));
}

#[test]
fn rtcp_is_learned_for_itself() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(above(facing_a), "203.0.113.9:31001");
    assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.5:6004"));
    assert_eq!(
        setup.entries[&above(facing_b)].rtcp.as_ref().map(|hop| hop.to),
        Some(at("203.0.113.9:31001"))
    );
}
