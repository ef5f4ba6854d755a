//! Addresses that media is not sent to, and streams that would come back.

use sip::ng::value::Dictionary;
use sip::{Config, Counter, Destinations, Machine, Request};

use crate::support::*;

/// A relay at a public address, with a control socket on loopback and another at every address.
fn setup() -> Setup {
    let destinations = Destinations {
        services: vec![at("127.0.0.1:2223"), at("0.0.0.0:7882")],
        machine: Machine {
            addresses: vec![ip("198.51.100.1")],
            broadcasts: Vec::new(),
        },
        ..Destinations::default()
    };
    Setup::with(Config {
        destinations,
        ..Config::new(vec![interface("default", "198.51.100.1", 40_000..=40_999)])
    })
}

const REASON: &str = "Media address not permitted";

fn refused(setup: &mut Setup, command: &str, sdp: &str, more: Dictionary) {
    let before = setup.count(Counter::AddressRefused);
    let reply = setup.ask(request(command, Some(sdp), more));
    assert_eq!(reason(&reply), REASON, "{sdp}");
    assert_eq!(setup.count(Counter::AddressRefused), before + 1);
}

#[test]
fn an_address_that_only_this_machine_reaches_is_refused_wherever_it_is_stated() {
    let audio = "m=audio 6004 RTP/AVP 0\r\n";
    for sdp in [
        phone("127.0.0.1", 2223),
        phone("127.0.0.1", 6004),
        phone("169.254.169.254", 6004),
        phone("224.2.1.1", 6004),
        phone("255.255.255.255", 6004),
        phone("198.51.100.1", 7882),
        // RTCP is at the next port.
        phone("198.51.100.1", 7881),
        phone("192.0.2.1", 6004).replace("c=IN IP4 192.0.2.1", "c=IN IP6 ::ffff:127.0.0.1"),
        described("192.0.2.1", &format!("{audio}c=IN IP4 127.0.0.1\r\n")),
        described("192.0.2.1", &format!("{audio}a=rtcp:2223 IN IP4 127.0.0.1\r\n")),
        described("0.0.0.0", &format!("{audio}a=rtcp:2223 IN IP4 127.0.0.1\r\n")),
        described(
            "192.0.2.1",
            &format!("{audio}m=video 6006 RTP/AVP 34\r\nc=IN IP6 fe80::1\r\n"),
        ),
    ] {
        let mut setup = setup();
        refused(&mut setup, "offer", &sdp, Dictionary::default());
        assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0), "{sdp}");
        let offer = described("192.0.2.1", &format!("{audio}m=video 6004 RTP/AVP 34\r\n"));
        setup.describe("offer", &offer, Dictionary::default());
        refused(&mut setup, "answer", &sdp, answered());
        assert!(
            setup
                .entries
                .values()
                .all(|entry| entry.rtp.as_ref().is_none_or(|hop| hop.to == at("192.0.2.1:6004")))
        );
    }
}

#[test]
fn addresses_in_flags_and_lines_are_refused_too() {
    let mut setup = setup();
    let named = described("phone.example.net", "m=audio 2223 RTP/AVP 0\r\n");
    let from = |address: &str| Dictionary::default().with("received-from", list(&["IP4", address]));
    refused(&mut setup, "offer", &named, from("127.0.0.1"));
    // It is not where media goes, if the description has an address.
    setup.describe("offer", &phone("192.0.2.1", 6004), from("127.0.0.1"));
    let ours = Dictionary::default().with("media-address", "127.0.0.1");
    refused(&mut setup, "offer", &phone("192.0.2.1", 6004), ours);
    assert_eq!(setup.line("U d 127.0.0.1 2223 a;1"), "E37\n");
    assert_eq!(setup.line("U6 d ::ffff:127.0.0.1 2222 a;1"), "E37\n");
    assert!(!setup.line("U d 192.0.2.1 6004 a;1").starts_with('E'));
    assert_eq!(setup.line("L d 127.0.0.1 2222 a;1 b;1"), "E37\n");
}

#[test]
fn candidates_are_never_a_destination() {
    let mut setup = setup();
    let ice = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n";
    let candidates =
        "a=candidate:1 1 UDP 2130706431 127.0.0.1 2223 typ host\r\na=remote-candidates:1 127.0.0.1 2223\r\n";
    let sdp = described("192.0.2.1", &format!("m=audio 6004 RTP/AVP 0\r\n{ice}{candidates}"));
    for wish in ["optional", "force", "remove"] {
        let more = Dictionary::default().with("ICE", wish);
        setup.describe("offer", &sdp, more.clone().with("call-id", wish));
        setup.describe(
            "answer",
            &phone("192.0.2.2", 6000),
            more.with("call-id", wish).with("to-tag", "b"),
        );
        let hops = setup
            .entries
            .values()
            .flat_map(|entry| entry.rtp.iter().chain(&entry.rtcp));
        assert!(hops.into_iter().all(|hop| !hop.to.ip().is_loopback()), "{wish}");
    }
}

#[test]
fn a_refused_address_is_not_learned() {
    let mut setup = setup();
    let [facing_a, _] = setup.call();
    let before = setup.entries.clone();
    for from in [
        "127.0.0.1:2223",
        "198.51.100.1:7882",
        "[::ffff:127.0.0.1]:5000",
        "169.254.1.1:6004",
    ] {
        setup.source(local(&facing_a), from);
        assert_eq!(setup.entries, before, "{from}");
    }
    assert_eq!(setup.count(Counter::SourceRefused), 4);
}

#[test]
fn a_call_may_pass_through_the_relay_twice() {
    let mut setup = setup();
    let first = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    let second = Dictionary::default().with("call-id", "second");
    let offer = setup.describe("offer", &first, second.clone());
    assert_ne!(local(&first), local(&offer));
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), second.with("to-tag", "b"));
    setup.describe("answer", &answer, answered());
    assert_eq!((setup.entries.len(), setup.count(Counter::HopRefused)), (8, 0));
    assert!(
        setup
            .entries
            .values()
            .all(|entry| entry.rtp.is_some() || entry.rtcp.is_some())
    );
}

#[test]
fn a_stream_does_not_come_back_to_its_port() {
    // A party names the port that faces it, or the one that faces the other.
    for nth in [0, 1] {
        let mut setup = setup();
        let ours = setup.call().map(|sdp| local(&sdp));
        let again = Dictionary::default().with("to-tag", "b");
        setup.describe("offer", &phone("198.51.100.1", ours[nth].port()), again);
        setup.describe("answer", &phone("198.51.100.1", ours[1 - nth].port()), answered());
        assert!(returning(&setup).is_empty(), "{nth}: {:?}", returning(&setup));
        assert!(setup.count(Counter::HopRefused) > 0);
    }
    // Two calls name each other.
    let mut setup = setup();
    let other = || Dictionary::default().with("call-id", "other").with("to-tag", "b");
    setup.call();
    setup.describe(
        "offer",
        &phone("192.0.2.1", 6014),
        Dictionary::default().with("call-id", "other"),
    );
    let facing =
        |setup: &mut Setup, more: Dictionary| local(&setup.describe("answer", &phone("192.0.2.2", 6000), more));
    let [one, two] = [facing(&mut setup, answered()), facing(&mut setup, other())];
    setup.describe("answer", &phone("198.51.100.1", two.port()), answered());
    setup.describe("answer", &phone("198.51.100.1", one.port()), other());
    assert!(returning(&setup).is_empty(), "{:?}", returning(&setup));
    assert_eq!(setup.count(Counter::HopRefused), 2, "RTP and RTCP");
    // A learned address closes the circle as well.
    setup.describe("answer", &phone("192.0.2.2", 6000), other());
    setup.source(local_of(&setup, "192.0.2.2:6000"), &one.to_string());
    assert!(returning(&setup).is_empty(), "{:?}", returning(&setup));
}

/// The port from which media is sent there.
fn local_of(setup: &Setup, to: &str) -> std::net::SocketAddr {
    let mut hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
    hops.find(|hop| hop.to == at(to)).expect("it is sent to").from
}

/// The ports to which a packet comes back.
fn returning(setup: &Setup) -> Vec<std::net::SocketAddr> {
    let next = |at| {
        let entry = setup.entries.get(&at)?;
        Some(entry.rtp.as_ref().or(entry.rtcp.as_ref())?.to)
    };
    let ports = setup.entries.keys().copied();
    let comes_back = |at: &std::net::SocketAddr| {
        std::iter::successors(next(*at), |to| next(*to))
            .take(20)
            .any(|to| to == *at)
    };
    ports.filter(comes_back).collect()
}

#[test]
fn control_does_not_come_from_media() {
    let mut setup = setup();
    let [facing_a, _] = setup.call();
    for media in [
        local(&facing_a),
        above(local(&facing_a)),
        at("127.0.0.1:2223"),
        at("198.51.100.1:7882"),
    ] {
        assert!(setup.relay.is_media(media), "{media}");
    }
    for proxy in ["127.0.0.1:41000", "198.51.100.1:39999", "192.0.2.9:7882"] {
        assert!(!setup.relay.is_media(at(proxy)), "{proxy}");
    }
    assert_eq!(setup.count(Counter::ControlFromMedia), 4);
}

#[test]
fn a_cookie_is_text() {
    let mut setup = setup();
    for cookie in [
        &b"\x80\x00AB\x01\x02\x03\x04IJKL"[..],
        b"1\0",
        b"\xc3\xa9",
        b"a\tb",
        b"\x7f",
    ] {
        let message = [cookie, b" d7:command4:pinge"].concat();
        assert_eq!(
            setup.say(Request::Ng {
                from: None,
                message: &message
            }),
            None
        );
        let message = [cookie, b" V"].concat();
        assert_eq!(
            setup.say(Request::Rtpproxy {
                from: None,
                message: &message
            }),
            None
        );
    }
    assert_eq!(setup.count(Counter::CookieRefused), 10);
    let message = b"8f3c-0_15278_0~! d7:command4:pinge";
    assert!(setup.say(Request::Ng { from: None, message }).is_some());
}

#[test]
fn an_earlier_process_may_have_had_other_rules() {
    let mut before = Setup::with(Config::new(vec![interface("default", "198.51.100.1", 40_000..=40_999)]));
    before.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    before.describe("answer", &phone("198.51.100.1", 7882), answered());
    let records = before.records();
    let mut setup = setup();
    setup.resume(&records);
    assert_eq!(setup.count(Counter::CallsResumed), 1);
    let hops = setup.entries.values().flat_map(|entry| entry.rtp.iter());
    assert!(hops.into_iter().all(|hop| hop.to == at("192.0.2.1:6004")));
}
