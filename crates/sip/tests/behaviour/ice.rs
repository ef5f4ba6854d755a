//! ICE of the two parties, with our addresses beside theirs.

use sip::ng::value::Dictionary;
use southbound::relay::{Accept, Keys};

use crate::support::*;

const CREDENTIALS: &str = "a=ice-ufrag:them\r\na=ice-pwd:pppppppppppppppppppppp\r\n";
const CANDIDATES: &str = "a=candidate:1 1 UDP 2130706431 192.0.2.3 2002 typ host\r\n\
    a=candidate:3 1 UDP 2097152255 192.0.2.4 2002 typ host\r\n\
    a=candidate:2 1 UDP 16777215 198.51.100.9 3000 typ relay raddr 0.0.0.0 rport 0\r\n";

fn optional() -> Dictionary {
    Dictionary::default().with("ICE", "optional")
}

fn with_ice(address: &str, port: u16) -> String {
    phone(address, port) + CREDENTIALS + CANDIDATES
}

fn lines<'a>(sdp: &'a str, beginning: &str) -> Vec<&'a str> {
    let lines = sdp.lines();
    lines.filter(|line| line.starts_with(beginning)).collect()
}

/// Our candidates, which follow the three of the phone.
fn ours(sdp: &str) -> [String; 2] {
    let at = local(sdp);
    [
        format!("a=candidate:4 1 UDP 2097151999 {} {} typ host", at.ip(), at.port()),
        format!("a=candidate:4 2 UDP 2097151998 {} {} typ host", at.ip(), at.port() + 1),
    ]
}

#[test]
fn optional_ice_keeps_candidates_and_appends_ours() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &with_ice("192.0.2.1", 6004), optional());
    // The flags of the answer need not repeat it.
    let answer = setup.describe("answer", &with_ice("192.0.2.2", 6000), answered());
    for sdp in [&offer, &answer] {
        assert!(sdp.contains(CREDENTIALS) && sdp.contains(CANDIDATES), "{sdp}");
        assert_eq!(lines(sdp, "a=candidate:")[3..], ours(sdp));
        assert!(!sdp.contains("ice-lite") && !sdp.contains("end-of-candidates"), "{sdp}");
        let entry = &setup.entries[&local(sdp)];
        assert_eq!(
            (&entry.checks, &entry.ingress_protection),
            (&None, &Keys::Clear),
            "checks pass"
        );
        assert!(entry.rtp.is_some());
    }
    let again = Dictionary::default().with("to-tag", "b");
    assert_eq!(
        setup.describe("offer", &with_ice("192.0.2.1", 6004), again.clone()),
        offer
    );
    setup.replace();
    assert_eq!(setup.describe("offer", &with_ice("192.0.2.1", 6004), again), offer);
}

#[test]
fn optional_ice_is_ours_if_there_is_none() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), optional());
    assert_eq!(lines(&offer, "a=candidate:1 ").len(), 2, "{offer}");
    assert!(offer.contains("a=ice-lite\r\n"), "{offer}");
    let answer = setup.describe("answer", &with_ice("192.0.2.2", 6000), answered());
    assert_eq!(lines(&answer, "a=ice"), [""; 0]);
    assert!(setup.entries[&local(&offer)].checks.is_some());
}

#[test]
fn an_answer_without_ice_ends_it_for_both() {
    for (b, wish) in [
        (phone("192.0.2.2", 6000), answered().with("ICE", "optional")),
        (phone("192.0.2.2", 6000), answered().with("ICE", "force")),
        (with_ice("192.0.2.2", 6000), answered().with("ICE", "remove")),
    ] {
        let mut setup = Setup::new();
        setup.describe("offer", &with_ice("192.0.2.1", 6004), optional());
        let answer = setup.describe("answer", &b, wish);
        assert!(!answer.contains("ice-") && !answer.contains("candidate"), "{answer}");
        assert_eq!(setup.entries[&local(&answer)].checks, None);
    }
}

#[test]
fn a_party_with_ice_to_us_keeps_it() {
    let mut setup = Setup::new();
    let forced = Dictionary::default().with("ICE", "force");
    setup.describe("offer", &with_ice("192.0.2.1", 6004), forced);
    let wish = answered().with("ICE", "optional");
    let answer = setup.describe("answer", &with_ice("192.0.2.2", 6000), wish);
    // The party that answered has heard of our credentials alone, so checks between the two parties
    // would fail.
    assert!(
        !answer.contains(CREDENTIALS) && !answer.contains(CANDIDATES),
        "{answer}"
    );
    let again = Dictionary::default().with("to-tag", "b").with("ICE", "optional");
    let offer = setup.describe("offer", &with_ice("192.0.2.1", 6004), again);
    assert!(
        !offer.contains(CREDENTIALS) && offer.contains("a=ice-lite\r\n"),
        "{offer}"
    );
}

#[test]
fn ice_does_not_pass_if_media_must_stay_on_the_relay() {
    let mut setup = Setup::new();
    let wish = optional().with("transport-protocol", "RTP/SAVP");
    let offer = setup.describe("offer", &with_ice("192.0.2.1", 6004), wish);
    assert!(!offer.contains(CREDENTIALS) && !offer.contains(CANDIDATES), "{offer}");
    assert_eq!(lines(&offer, "a=candidate:1 ").len(), 2);

    // Keys that pass do so without any of ours.
    let mut setup = Setup::new();
    let key = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:Qk0TvVeyfqfjFd/YebnyyklqSEhJntpVKV1KAhHa";
    let sdp = with_ice("192.0.2.1", 6004).replace("RTP/AVP", "RTP/SAVP") + key + "\r\n";
    let offer = setup.describe("offer", &sdp, optional());
    assert!(offer.contains(CREDENTIALS) && offer.contains(CANDIDATES), "{offer}");
    assert_eq!(lines(&offer, "a=crypto:"), [key]);
}

#[test]
fn ice_that_is_said_for_all_sections_passes_in_each() {
    let section = |port: u16| format!("m=audio {port} RTP/AVP 0\r\n{CANDIDATES}");
    let sdp = described("192.0.2.1", &(section(6004) + &section(6006)));
    let sdp = sdp.replace("t=0 0\r\n", &format!("t=0 0\r\na=ice-lite\r\n{CREDENTIALS}"));
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &sdp, optional());
    assert!(
        offer.contains(&format!("a=ice-lite\r\n{CREDENTIALS}m=audio ")),
        "{offer}"
    );
    assert_eq!(offer.matches(CREDENTIALS).count(), 1);

    let refused = sdp.replace("m=audio 6006", "m=audio 0");
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &refused, optional());
    let (session, sections) = offer.split_once("m=audio").expect("a section");
    assert!(
        session.contains("a=ice-lite\r\n") && !session.contains("a=ice-ufrag"),
        "{offer}"
    );
    let first = sections.split("m=audio 0").next().expect("a section");
    assert!(first.contains(CREDENTIALS) && first.contains(CANDIDATES), "{offer}");
}

#[test]
fn force_relay_keeps_addresses_and_puts_ours_in_place_of_relays() {
    let mut setup = Setup::new();
    let wish = Dictionary::default().with("ICE", "force-relay");
    let sdp = with_ice("192.0.2.1", 6004) + "a=rtcp:7001\r\n";
    let offer = setup.describe("offer", &sdp, wish.clone());
    assert_eq!(lines(&offer, "c="), ["c=IN IP4 192.0.2.1"]);
    assert_eq!(lines(&offer, "m="), ["m=audio 6004 RTP/AVP 0"]);
    assert_eq!(lines(&offer, "a=rtcp:"), ["a=rtcp:7001"]);
    assert!(offer.contains(CREDENTIALS), "{offer}");
    let [host, other, rtp, rtcp] = lines(&offer, "a=candidate:")[..] else {
        panic!("two of theirs and two of ours: {offer}")
    };
    assert_eq!([host, other], [lines(CANDIDATES, "a=")[0], lines(CANDIDATES, "a=")[1]]);
    let ours: Vec<_> = setup.open.iter().map(|at| at.port()).collect();
    for (line, component, priority) in [(rtp, 1, 16_777_215), (rtcp, 2, 16_777_214)] {
        let port: u16 = line
            .split(' ')
            .nth(5)
            .and_then(|port| port.parse().ok())
            .expect("a port");
        assert!(ours.contains(&port), "{line}");
        let at = format!("127.0.0.1 {port} typ relay raddr 127.0.0.1 rport {port}");
        assert_eq!(line, format!("a=candidate:4 {component} UDP {priority} {at}"));
    }
    let answer = setup.describe(
        "answer",
        &with_ice("192.0.2.2", 6000),
        answered().with("ICE", "force-relay"),
    );
    assert_eq!(lines(&answer, "m="), ["m=audio 6000 RTP/AVP 0"]);
    assert!(
        setup
            .entries
            .values()
            .all(|entry| entry.checks.is_none() && entry.rtcp.is_some()),
        "checks and media pass"
    );

    // There is nothing to be beside without ICE.
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), wish);
    assert_eq!(local(&offer).ip(), ip("127.0.0.1"));
    assert!(offer.contains("a=ice-lite\r\n"), "{offer}");
}

#[test]
fn nobody_checks_if_the_party_is_lite_too() {
    for (lite, checks) in [("", true), ("a=ice-lite\r\n", false)] {
        let mut setup = Setup::new();
        let sdp = with_ice("192.0.2.1", 6004).replace("t=0 0\r\n", &format!("t=0 0\r\n{lite}"));
        setup.describe("offer", &sdp, Dictionary::default().with("ICE", "remove"));
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
        assert!(answer.contains("a=ice-ufrag:"), "{answer}");
        let entry = &setup.entries[&local(&answer)];
        assert_eq!(entry.checks.is_some(), checks);
        assert!(matches!(entry.accept, Accept::Learn { .. }));
        setup.source(local(&answer), "192.0.2.1:6004");
        assert_eq!(
            setup.entries[&local(&answer)].accept,
            Accept::Only(at("192.0.2.1:6004"))
        );
    }
}
