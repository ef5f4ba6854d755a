//! Calls over rtpproxy's protocol.

use std::time::Duration;

use sip::{Config, Counter, Input};
use southbound::relay::{Accept, RelayNotice, Traffic};

use crate::support::*;

fn port(reply: &str) -> std::net::SocketAddr {
    let mut words = reply.split_ascii_whitespace();
    let port = words.next().expect("a port").parse().expect("a number");
    std::net::SocketAddr::new(ip(words.next().expect("an address")), port)
}

/// Our addresses towards the caller and towards the callee.
fn call(setup: &mut Setup) -> [std::net::SocketAddr; 2] {
    let facing_b = port(&setup.line("Uc0 c 192.0.2.1 6004 a;1"));
    let facing_a = port(&setup.line("Lc0 c 192.0.2.2 6000 a;1 b;1"));
    [facing_a, facing_b]
}

#[test]
fn a_call_is_relayed_and_all_is_said_again_without_change() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup);
    assert_eq!(setup.entries.len(), 4);
    let hop = setup.entries[&facing_a].rtp.as_ref().expect("a way");
    assert_eq!((hop.from, hop.to), (facing_b, at("192.0.2.2:6000")));
    assert_eq!(call(&mut setup), [facing_a, facing_b]);
    assert_eq!(
        port(&setup.line("U c 192.0.2.2 6000 b;1 a;1")),
        facing_a,
        "the one who was called offers"
    );
    assert_eq!(port(&setup.line("L c 192.0.2.1 6004 b;1 a;1")), facing_b);
    assert_eq!((setup.relay.port_pairs(), setup.relay.calls()), (2, 1));
}

#[test]
fn sections_and_branches_have_ports_of_their_own() {
    let mut setup = Setup::new();
    let audio = port(&setup.line("U c;b1 192.0.2.1 6004 a;1"));
    let video = port(&setup.line("U c;b1 192.0.2.1 6008 a;2"));
    let other = port(&setup.line("U c;b2 192.0.2.1 6004 a;1"));
    assert!(audio != video && audio != other && video != other);
    assert_eq!((setup.relay.port_pairs(), setup.relay.calls()), (6, 1));
}

#[test]
fn hold_is_an_address_or_a_port_of_zeros() {
    for held in ["U c 0.0.0.0 6004 a;1 b;1", "U c 192.0.2.1 0 a;1 b;1"] {
        let mut setup = Setup::new();
        let [_, facing_b] = call(&mut setup);
        assert_eq!(port(&setup.line(held)), facing_b);
        setup.line("L c 192.0.2.2 6000 a;1 b;1");
        assert_eq!(setup.entries[&facing_b].rtp, None, "{held}");
        setup.line("U c 192.0.2.1 6004 a;1 b;1");
        setup.line("L c 192.0.2.2 6000 a;1 b;1");
        assert!(setup.entries[&facing_b].rtp.is_some(), "{held}");
    }
}

#[test]
fn both_networks_are_chosen_by_letters() {
    let interfaces = vec![
        interface("lan", "10.0.0.1", 5000..=5099),
        interface("wan", "198.51.100.1", 5000..=5099),
    ];
    let mut setup = Setup::with(Config::new(interfaces));
    assert_eq!(port(&setup.line("UIE c 192.0.2.1 6004 a;1")).ip(), ip("198.51.100.1"));
    assert_eq!(port(&setup.line("L c 192.0.2.2 6000 a;1 b;1")).ip(), ip("10.0.0.1"));
    assert_eq!(port(&setup.line("UEI d 192.0.2.1 6004 a;1")).ip(), ip("10.0.0.1"));
    assert_eq!(
        port(&setup.line("Ul198.51.100.1 e 192.0.2.1 6004 a;1")).ip(),
        ip("198.51.100.1")
    );
    assert_eq!(setup.line("Ul203.0.113.1 f 192.0.2.1 6004 a;1"), "E31\n");
}

#[test]
fn ipv6_is_marked_in_the_reply() {
    let mut setup = Setup::with(Config::new(vec![
        interface("a", "127.0.0.1", 5000..=5099),
        interface("a", "::1", 5000..=5099),
    ]));
    assert!(setup.line("U6 c 2001:db8::1 6004 a;1").ends_with(" ::1 6\n"));
}

#[test]
fn unknown_calls_have_the_protocols_own_replies() {
    let mut setup = Setup::new();
    assert_eq!(setup.line("L x 192.0.2.2 6000 a;1 b;1"), "0\n");
    assert_eq!(setup.line("D x a b"), "E50\n");
    assert_eq!(setup.line("Q x a b"), "E50\n");
    assert_eq!(setup.line("P x y session a b"), "E0\n");
    assert_eq!(
        (setup.count(Counter::CallUnknown), setup.count(Counter::RtpproxyRefused)),
        (3, 1)
    );
}

#[test]
fn ports_that_run_out_have_an_error_code() {
    let mut setup = Setup::with(Config::new(vec![interface("a", "127.0.0.1", 5000..=5003)]));
    call(&mut setup);
    assert_eq!(setup.line("U other 192.0.2.1 6004 a;1"), "E71\n");
    assert_eq!((setup.relay.calls(), setup.count(Counter::PortsExhausted)), (1, 1));
}

#[test]
fn a_call_ends_once_however_often_it_is_said() {
    let mut setup = Setup::new();
    call(&mut setup);
    assert_eq!(
        (setup.line("D c a b"), setup.line("D c a b")),
        ("0\n".to_owned(), "0\n".to_owned())
    );
    assert!(setup.entries.is_empty());
    setup.pass(Duration::from_secs(30));
    assert_eq!(
        (setup.line("D c a b").as_str(), setup.count(Counter::CallsEnded)),
        ("E50\n", 1)
    );
}

#[test]
fn a_weak_reason_keeps_a_call_until_it_goes_too() {
    let mut setup = Setup::new();
    call(&mut setup);
    setup.line("Uw c 192.0.2.1 6004 a;1 b;1");
    assert_eq!(setup.line("D c a b"), "0\n");
    assert_eq!(setup.entries.len(), 4);
    assert_eq!(setup.line("Dw c a b"), "0\n");
    assert!(setup.entries.is_empty());
}

#[test]
fn a_timeout_is_notified_if_requested() {
    let mut setup = Setup::new();
    setup.line("U c 192.0.2.1 6004 a;1 unix:/run/proxy.sock 17");
    setup.line("L c 192.0.2.2 6000 a;1 b;1");
    setup.pass(Duration::from_secs(60));
    assert_eq!(setup.notified, [("unix:/run/proxy.sock".to_owned(), "17".to_owned())]);
    assert_eq!(setup.relay.calls(), 0);
}

#[test]
fn queries_tell_time_and_packets() {
    let mut setup = Setup::new();
    let [facing_a, facing_b] = call(&mut setup);
    for (address, packets, errors) in [(facing_a, 50, 1), (facing_b, 40, 2)] {
        let traffic = Traffic {
            packets,
            bytes: packets * 172,
            errors,
            ..Traffic::default()
        };
        let idle = Some(Duration::ZERO);
        setup.tell(Input::Notice(RelayNotice::Traffic {
            at: address,
            traffic,
            idle,
        }));
    }
    setup.pass(Duration::from_secs(10));
    assert_eq!(setup.line("Q c a;1 b;1"), "50 51 42 90 3\n");
    assert_eq!(setup.line("Qv c a;1 b;1 nrelayed ttl"), "nrelayed=90 ttl=50\n");
    assert_eq!(setup.line("Q c a;1 b;1 colour"), "E62\n");
    let info =
        "sessions created: 1\nactive sessions: 1\nactive streams: 2\npackets received: 93\npackets transmitted: 90\n";
    assert_eq!(setup.line("I"), info);
}

#[test]
fn all_calls_end_together_if_requested() {
    let mut setup = Setup::new();
    call(&mut setup);
    setup.line("U other 192.0.2.1 6004 a;1");
    assert_eq!(setup.line("X"), "0\n");
    assert_eq!(
        (setup.relay.calls(), setup.relay.port_pairs(), setup.entries.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_new_port_is_given_if_requested() {
    let mut setup = Setup::new();
    let [_, facing_b] = call(&mut setup);
    let fresh = port(&setup.line("Un c 192.0.2.1 6004 a;1 b;1"));
    assert_ne!(fresh, facing_b);
    assert!(setup.entries.contains_key(&facing_b), "until it is answered");
    setup.line("L c 192.0.2.2 6000 a;1 b;1");
    assert_eq!(
        (setup.relay.port_pairs(), setup.entries.contains_key(&fresh)),
        (2, true)
    );
}

#[test]
fn one_call_may_be_spoken_of_in_both_protocols() {
    let mut setup = Setup::new();
    let [facing_a, _] = call(&mut setup);
    setup.source(facing_a, "203.0.113.9:1");
    setup.pass(Duration::from_secs(3));
    assert_eq!(setup.entries[&facing_a].accept, Accept::Only(at("203.0.113.9:1")));
    let asked = setup.ask(request("query", None, Default::default()));
    assert_eq!(asked.text("result"), Some(&b"ok"[..]));
}
