//! Where packets come from.

use std::time::Duration;

use sip::Counter;
use sip::ng::value::Dictionary;
use sip::plan::Accept;

use crate::support::*;

/// A call whose caller is behind a translator: our address towards it, and the one that packets to it leave from the other way.
fn call(setup: &mut Setup, flags: Dictionary) -> [std::net::SocketAddr; 2] {
    let offer = setup.describe("offer", &phone("192.168.1.5", 6004), flags);
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    [local(&answer), local(&offer)]
}

fn towards_caller(setup: &Setup, facing_b: std::net::SocketAddr) -> std::net::SocketAddr {
    setup.entries[&facing_b].rtp.as_ref().expect("a way").to
}

#[test]
fn an_address_is_learned_for_a_while_and_then_it_stays() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.pass(Duration::from_secs(20));
    setup.source(facing_a, "203.0.113.9:31000");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31000"));
    setup.pass(Duration::from_secs(2));
    setup.source(facing_a, "203.0.113.9:31002");
    assert_eq!(towards_caller(&setup, facing_b), at("203.0.113.9:31002"));
    assert!(matches!(
        setup.entries[&facing_a].accept,
        Accept::Learn { until: Some(_), .. }
    ));
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
fn only_the_control_plane_moves_who_is_known() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, Dictionary::default());
    setup.source(facing_a, "203.0.113.9:31000");
    setup.pass(Duration::from_secs(4));
    call(&mut setup, Dictionary::default());
    assert_eq!(
        setup.entries[&facing_a].accept,
        Accept::Only(at("203.0.113.9:31000")),
        "the same again is no news"
    );
    setup.describe(
        "offer",
        &phone("192.168.1.6", 6004),
        Dictionary::default().with("to-tag", "b"),
    );
    assert_eq!(
        setup.entries[&facing_a].accept,
        Accept::Learn {
            within: None,
            until: None
        }
    );
    assert_eq!(towards_caller(&setup, facing_b), at("192.168.1.6:6004"));
}

#[test]
fn a_strict_source_is_where_it_said() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup, flags(&["strict-source"]));
    assert_eq!(
        setup.entries[&facing_a].accept,
        Accept::Learn {
            within: Some(ip("192.168.1.5")),
            until: None
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
fn one_who_sends_from_elsewhere_is_not_sent_to_there() {
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
fn a_handover_is_followed_where_that_is_asked_for() {
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
