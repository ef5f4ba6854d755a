//! Hold and resumption, in every form that descriptions have for them.

use sip::ng::value::Dictionary;

use crate::support::*;

const CREDENTIALS: &str = "a=ice-ufrag:them\r\na=ice-pwd:pppppppppppppppppppppp\r\n";

fn again() -> Dictionary {
    Dictionary::default().with("to-tag", "b")
}

fn replaced() -> Dictionary {
    again().with("replace", list(&["zero-address"]))
}

/// A description with these connection lines, of the session and of the section, and these
/// attributes of the section.
fn with(session: &str, section: &str, port: u16, attributes: &str) -> String {
    let line = |address: &str| match address {
        "" => String::new(),
        it if it.contains(':') => format!("c=IN IP6 {it}\r\n"),
        it => format!("c=IN IP4 {it}\r\n"),
    };
    let (session, section) = (line(session), line(section));
    format!(
        "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n{session}t=0 0\r\nm=audio {port} RTP/AVP 0\r\n{section}{attributes}"
    )
}

fn connections(sdp: &str) -> Vec<&str> {
    sdp.lines().filter_map(|line| line.strip_prefix("c=IN ")).collect()
}

fn direction(sdp: &str) -> &str {
    let all = ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"];
    let said: Vec<&str> = sdp.lines().filter(|line| all.contains(line)).collect();
    said.last().expect("a direction")
}

/// The destination of packets for the party that described itself, from the port it sees.
fn towards(setup: &Setup, facing: std::net::SocketAddr) -> Option<std::net::SocketAddr> {
    let hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
    hops.filter(|hop| hop.from == facing).map(|hop| hop.to).next()
}

#[test]
fn zero_addresses_without_ice_are_hold_at_any_level() {
    for (session, section) in [
        ("0.0.0.0", ""),
        ("", "0.0.0.0"),
        ("192.0.2.1", "0.0.0.0"),
        ("::", ""),
        ("", "::"),
    ] {
        for (said, snapshot) in [
            ("", "a=sendonly"),
            ("a=sendrecv\r\n", "a=sendonly"),
            ("a=sendonly\r\n", "a=sendonly"),
            ("a=recvonly\r\n", "a=inactive"),
            ("a=inactive\r\n", "a=inactive"),
        ] {
            let mut setup = Setup::new();
            let facing_a = local(&setup.call()[0]);
            let held = setup.change(&with(session, section, 6004, said), again());
            let zeros = connections(&held);
            assert!(
                !zeros.is_empty() && zeros.iter().all(|it| *it == "IP4 0.0.0.0"),
                "{held}"
            );
            assert_eq!(direction(&held), snapshot, "{held}");
            assert_eq!(towards(&setup, facing_a), None, "a party on hold gets nothing");

            let replaced = setup.describe("offer", &with(session, section, 6004, said), replaced());
            assert!(
                connections(&replaced).iter().all(|it| *it == "IP4 127.0.0.1"),
                "{replaced}"
            );
            assert_eq!(direction(&replaced), snapshot, "hold is still said: {replaced}");
            assert_eq!(towards(&setup, facing_a), None);

            let resumed = setup.change(&with("192.0.2.1", "", 6004, ""), again());
            assert_eq!(
                (connections(&resumed), direction(&resumed)),
                (vec!["IP4 127.0.0.1"], "a=sendrecv")
            );
            assert_eq!(towards(&setup, facing_a), Some(at("192.0.2.1:6004")));
        }
    }
}

#[test]
fn one_section_on_hold_says_so_itself() {
    let mut setup = Setup::new();
    let two = |audio: &str| {
        format!(
            "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 6004 RTP/AVP 0\r\n{audio}m=video 6008 RTP/AVP 34\r\n"
        )
    };
    let held = setup.describe("offer", &two("c=IN IP4 0.0.0.0\r\n"), Dictionary::default());
    assert_eq!(connections(&held), ["IP4 127.0.0.1", "IP4 0.0.0.0"], "{held}");
    let lines: Vec<&str> = held.lines().filter(|line| line.starts_with("a=send")).collect();
    assert_eq!(lines, ["a=sendonly", "a=sendrecv"]);
}

#[test]
fn zeros_with_ice_are_no_hold() {
    for (session, section) in [("0.0.0.0", ""), ("", "0.0.0.0"), ("", "::")] {
        for (port, rtcp) in [(9, "a=rtcp:9 IN IP4 0.0.0.0\r\n"), (6004, "")] {
            let mut setup = Setup::new();
            let trickled = with(
                session,
                section,
                port,
                &format!("{rtcp}{CREDENTIALS}a=ice-options:trickle\r\n"),
            );
            let offer = setup.describe("offer", &trickled, Dictionary::default());
            assert!(connections(&offer).iter().all(|it| *it == "IP4 127.0.0.1"), "{offer}");
            assert_eq!(direction(&offer), "a=sendrecv");
            let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
            assert!(answer.contains("a=candidate:"), "{answer}");
            let entry = &setup.entries[&local(&offer)];
            let hop = entry.rtp.as_ref().expect("ICE says where to");
            assert_eq!(hop.from, local(&answer));
            assert!(setup.entries[&local(&answer)].checks.is_some());

            // Held by its direction, and resumed, always without an address.
            for (said, snapshot) in [
                ("inactive", "inactive"),
                ("sendonly", "sendonly"),
                ("sendrecv", "sendrecv"),
            ] {
                let sdp = trickled.clone() + &format!("a={said}\r\n");
                let changed = setup.describe("offer", &sdp, again());
                assert_eq!(direction(&changed), format!("a={snapshot}"));
                assert!(setup.entries[&local(&offer)].rtp.is_some());
            }
        }
    }
}

#[test]
fn a_browser_without_accepted_ice_is_sent_to_at_its_source() {
    let mut setup = Setup::new();
    let offer = setup.describe(
        "offer",
        &with("0.0.0.0", "", 9, CREDENTIALS),
        Dictionary::default().with("ICE", "remove"),
    );
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered().with("ICE", "remove"));
    assert!(!answer.contains("candidate"), "{answer}");
    assert_eq!(setup.entries[&local(&offer)].rtp, None, "nobody knows where it is");
    setup.source(local(&answer), "192.0.2.1:7000");
    assert_eq!(towards(&setup, local(&answer)), Some(at("192.0.2.1:7000")));
}

#[test]
fn an_answer_may_hold_and_the_next_offer_resume() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    let held = setup.describe("answer", &with("0.0.0.0", "", 6000, ""), answered());
    assert_eq!(
        (connections(&held), direction(&held)),
        (vec!["IP4 0.0.0.0"], "a=sendonly")
    );
    let facing_b = local(&offer);
    assert_eq!(towards(&setup, facing_b), None);
    let turned = Dictionary::default().with("from-tag", "b").with("to-tag", "a");
    setup.describe("offer", &with("192.0.2.2", "", 6000, "a=sendonly\r\n"), turned.clone());
    setup.describe("answer", &with("192.0.2.1", "", 6004, "a=recvonly\r\n"), turned);
    assert_eq!(towards(&setup, facing_b), Some(at("192.0.2.2:6000")));
}

#[test]
fn a_direction_for_all_sections_is_each_ones_unless_it_has_its_own() {
    let mut setup = Setup::new();
    let session = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\na=inactive\r\n";
    let sections = "m=audio 6004 RTP/AVP 0\r\nm=video 6008 RTP/AVP 34\r\na=sendrecv\r\n";
    let offer = setup.describe("offer", &format!("{session}{sections}"), Dictionary::default());
    let sections: Vec<&str> = offer.split("m=").skip(1).map(direction).collect();
    assert_eq!(sections, ["a=inactive", "a=sendrecv"]);
}

#[test]
fn the_zero_address_has_the_family_of_its_reader() {
    let interfaces = vec![
        interface("wan", "198.51.100.1", 5000..=5099),
        interface("wan", "2001:db8::1", 5000..=5099),
    ];
    let mut setup = Setup::with(sip::Config::new(interfaces));
    let v6 = Dictionary::default().with("address family", "IP6");
    let held = setup.describe("offer", &with("0.0.0.0", "", 6004, ""), v6);
    assert_eq!(connections(&held), ["IP6 ::"], "{held}");
}

#[test]
fn an_unspecified_rtcp_address_is_ignored() {
    let mut setup = Setup::new();
    let sdp = with("192.0.2.1", "", 6004, "a=rtcp:9 IN IP4 0.0.0.0\r\n");
    let offer = setup.describe("offer", &sdp, Dictionary::default());
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let hop = setup.entries[&above(local(&offer))].rtcp.as_ref().expect("a way");
    assert_eq!(hop.to, at("192.0.2.1:6005"));
}
