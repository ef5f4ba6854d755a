//! Changes of a call: the parts that change, and the parts that stay.

mod associations;
mod refused;

use sip::Config;
use sip::ng::value::Dictionary;
use sip::sdp::Crypto;
use southbound::relay::Keys;
use wire::sdp::{Fingerprint, HashFunction};

use crate::support::*;

const KEY: &str = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
const OTHER_KEY: &str = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd\r\n";

fn again() -> Dictionary {
    Dictionary::default().with("to-tag", "b")
}

/// A request of the called party.
fn turned() -> Dictionary {
    Dictionary::default().with("from-tag", "b").with("to-tag", "a")
}

fn with_certificate() -> Setup {
    let fingerprint = Fingerprint {
        hash: HashFunction::Sha256,
        digest: vec![0xab; 32],
    };
    Setup::with(Config {
        fingerprints: vec![fingerprint],
        ..Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)])
    })
}

fn section(protocol: &str, address: &str, port: u16, attributes: &str) -> String {
    described(address, &format!("m=audio {port} {protocol} 0\r\n{attributes}"))
}

fn browser(fragment: &str, setup: &str, digest: u8) -> String {
    let digits = vec![format!("{digest:02X}"); 32].join(":");
    let attributes = format!(
        "a=rtcp-mux\r\na=setup:{setup}\r\na=fingerprint:sha-256 {digits}\r\na=ice-ufrag:{fragment}\r\na=ice-pwd:{}\r\n",
        "p".repeat(22)
    );
    section("UDP/TLS/RTP/SAVPF", "192.0.2.1", 6004, &attributes)
}

fn attribute<'a>(sdp: &'a str, name: &str) -> &'a str {
    let prefix = format!("a={name}:");
    let mut found = sdp.lines().filter_map(|line| line.strip_prefix(prefix.as_str()));
    found.next().unwrap_or_else(|| panic!("{name} in {sdp}"))
}

#[test]
fn a_change_without_flags_keeps_each_sides_transport_and_keys() {
    let mut setup = Setup::new();
    let towards = Dictionary::default().with("transport-protocol", "RTP/AVP");
    let first = setup.describe("offer", &section("RTP/SAVP", "192.0.2.1", 6004, KEY), towards);
    let answer = setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
    let entries = setup.entries.clone();

    let offer = setup.describe("offer", &section("RTP/SAVP", "192.0.2.1", 6004, KEY), again());
    assert_eq!(offer, first, "the phone without keys gets none");
    assert_eq!(
        setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered()),
        answer
    );
    assert_eq!(setup.entries, entries);

    let offer = setup.describe("offer", &section("RTP/AVP", "192.0.2.2", 6000, ""), turned());
    assert!(offer.contains(" RTP/SAVP 0\r\n"), "{offer}");
    assert_eq!(attribute(&offer, "crypto"), attribute(&answer, "crypto"));
    let answer = setup.describe("answer", &section("RTP/SAVP", "192.0.2.1", 6004, OTHER_KEY), turned());
    assert!(
        answer.contains(" RTP/AVP 0\r\n") && !answer.contains("crypto"),
        "{answer}"
    );
}

#[test]
fn a_party_that_changes_its_protocol_is_passed_on_as_it_is() {
    let mut setup = Setup::new();
    let towards = Dictionary::default().with("transport-protocol", "RTP/AVP");
    setup.describe("offer", &section("RTP/SAVP", "192.0.2.1", 6004, KEY), towards);
    setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
    let offer = setup.describe("offer", &section("RTP/AVPF", "192.0.2.1", 6004, ""), again());
    assert!(offer.contains(" RTP/AVPF 0\r\n"), "{offer}");
    setup.describe("answer", &section("RTP/AVPF", "192.0.2.2", 6000, ""), answered());
    assert!(
        setup
            .entries
            .values()
            .all(|entry| entry.ingress_protection == Keys::Clear)
    );
}

#[test]
fn keys_that_were_sealed_anew_go_on_being() {
    let mut setup = Setup::new();
    let offered = section("RTP/SAVP", "192.0.2.1", 6004, KEY);
    let first = setup.describe("offer", &offered, flags(&["recrypt"]));
    let tag = attribute(&first, "crypto").to_owned();
    assert_ne!(tag, KEY.trim_end().strip_prefix("a=crypto:").expect("a key"));
    setup.describe(
        "answer",
        &section("RTP/SAVP", "192.0.2.2", 6000, &OTHER_KEY.replacen(":1 ", ":7 ", 1)),
        answered(),
    );
    let again = setup.describe("offer", &offered, again());
    assert_eq!(attribute(&again, "crypto"), tag);
}

/// The end at the new address may not know how often numbers have wrapped under our old key.
#[test]
fn a_party_that_moves_with_a_new_key_is_offered_another_of_ours() {
    let mut setup = Setup::new();
    let towards = Dictionary::default().with("transport-protocol", "RTP/AVP");
    setup.describe("offer", &section("RTP/SAVP", "192.0.2.1", 6004, KEY), towards);
    let plain = section("RTP/AVP", "192.0.2.2", 6000, "");
    let mut ours = |port, key, flags: Dictionary| {
        setup.describe("offer", &section("RTP/SAVP", "192.0.2.1", port, key), flags);
        let answer = setup.describe("answer", &plain, answered());
        let ours = attribute(&answer, "crypto").to_owned();
        let seals = setup
            .entries
            .values()
            .find_map(|entry| match &entry.rtp.as_ref()?.egress_protection {
                Keys::Srtp(key) => Some(key.clone()),
                _ => None,
            });
        assert_eq!(seals, Crypto::parse(&ours).map(|ours| ours.key));
        ours
    };
    let first = ours(6004, KEY, again());
    assert_eq!(ours(6004, OTHER_KEY, again()), first, "it has not moved");
    assert_eq!(ours(6006, OTHER_KEY, again()), first, "it still has the key");
    let second = ours(6008, KEY, again());
    assert_ne!(second, first);
    assert_eq!(ours(6008, KEY, again()), second, "the same again");
}

#[test]
fn a_party_that_moves_with_a_new_key_in_its_answer_gets_another_of_ours_in_the_next_offer() {
    let mut setup = Setup::new();
    let towards = Dictionary::default()
        .with("transport-protocol", "RTP/SAVP")
        .with("SDES", list(&["only-AES_CM_128_HMAC_SHA1_80"]));
    let plain = section("RTP/AVP", "192.0.2.1", 6004, "");
    let mut offer = towards.clone();
    let mut ours = |port, key| {
        let first = setup.describe("offer", &plain, offer.clone());
        offer = towards.clone().with("to-tag", "b");
        let answer = section("RTP/SAVP", "192.0.2.2", port, key);
        let said = setup.describe("answer", &answer, answered());
        assert_eq!(setup.describe("answer", &answer, answered()), said);
        let ours = attribute(&first, "crypto").to_owned();
        let seals = &setup.entries[&local(&said)]
            .rtp
            .as_ref()
            .expect("a way")
            .egress_protection;
        assert_eq!(*seals, Keys::Srtp(Crypto::parse(&ours).expect("a key").key));
        ours
    };
    let first = ours(6000, KEY);
    assert_eq!(ours(6002, OTHER_KEY), first, "the offer was made before it moved");
    let second = ours(6002, OTHER_KEY);
    assert_ne!(second, first);
    assert_eq!(ours(6002, OTHER_KEY), second);
    assert_eq!(ours(6002, KEY), second, "it has not moved");
}

#[test]
fn a_browser_keeps_its_ice_dtls_and_multiplexing() {
    let mut setup = with_certificate();
    let offer = setup.describe("offer", &section("RTP/AVP", "192.0.2.2", 6000, ""), flags(&["WebRTC"]));
    setup.describe(
        "answer",
        &browser("them", "passive", 1),
        answered().with("ICE", "remove"),
    );
    let facing = local(&offer);
    let before = setup.entries[&facing].clone();
    assert!(matches!(before.ingress_protection, Keys::Dtls { active: true, .. }));

    let changed = setup.describe(
        "offer",
        &section("RTP/AVP", "192.0.2.2", 6000, "a=sendonly\r\n"),
        again(),
    );
    for name in ["ice-ufrag", "ice-pwd", "fingerprint"] {
        assert_eq!(attribute(&changed, name), attribute(&offer, name));
    }
    assert!(
        changed.contains(" UDP/TLS/RTP/SAVPF 0\r\n") && changed.contains("a=rtcp-mux\r\n"),
        "{changed}"
    );
    let answer = setup.describe("answer", &browser("them", "passive", 1), answered());
    assert!(
        answer.contains(" RTP/AVP 0\r\n") && !answer.contains("a=ice-ufrag"),
        "{answer}"
    );
    assert_eq!(setup.entries[&facing], before);

    // The browser offers, and may be either side of a handshake that there is already.
    let offer = setup.describe("offer", &browser("them", "actpass", 1), turned());
    assert!(offer.contains(" RTP/AVP 0\r\n"), "{offer}");
    let answer = setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), turned());
    assert_eq!(attribute(&answer, "setup"), "active");
    assert_eq!(setup.entries[&facing].ingress_protection, before.ingress_protection);
}

#[test]
fn ice_is_not_offered_again_to_a_party_that_answered_without_it() {
    let mut setup = with_certificate();
    let trickled = described(
        "192.0.2.1",
        "m=audio 6004 RTP/AVP 0\r\na=ice-ufrag:them\r\na=ice-pwd:pppppppppppppppppppppp\r\n",
    );
    let first = setup.describe("offer", &trickled, Dictionary::default().with("ICE", "remove"));
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!(setup.describe("offer", &trickled, again()), first);
    let reset = setup.describe("offer", &trickled, again().with("flags", list(&["reset"])));
    assert!(reset.contains("a=ice-ufrag:"), "{reset}");
}

#[test]
fn ice_that_is_offered_may_be_rejected() {
    let mut setup = Setup::new();
    let trickled = described(
        "192.0.2.1",
        "m=audio 6004 RTP/AVP 0\r\na=ice-ufrag:them\r\na=ice-pwd:pppppppppppppppppppppp\r\n",
    );
    let offer = setup.describe("offer", &trickled, flags(&["reject ICE"]));
    assert!(offer.contains("a=candidate:"), "{offer}");
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert!(
        !answer.contains("a=ice-ufrag:") && !answer.contains("a=candidate:"),
        "{answer}"
    );
    assert_eq!(setup.entries[&local(&answer)].checks, None);
}

#[test]
fn our_fingerprint_stays_by_the_function_it_was_told_by() {
    let fingerprints = [HashFunction::Sha1, HashFunction::Sha256].map(|hash| Fingerprint {
        hash,
        digest: vec![0xab; hash.digest_len()],
    });
    let config = Config {
        fingerprints: fingerprints.to_vec(),
        ..Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)])
    };
    let mut setup = Setup::with(config);
    let plain = Dictionary::default()
        .with("transport-protocol", "RTP/AVP")
        .with("ICE", "remove");
    let function = |sdp: &str| attribute(sdp, "fingerprint").split(' ').next().map(str::to_owned);
    let old = browser("them", "active", 1)
        .replace("sha-256", "sha-1")
        .replacen(&"01:".repeat(12), "", 1);
    setup.describe("offer", &old, plain);
    let answer = setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
    assert_eq!(function(&answer).as_deref(), Some("sha-1"), "the peer knows its own");

    let towards = turned()
        .with("call-id", "other")
        .with("transport-protocol", "RTP/SAVP")
        .with("SDES", "off");
    let wish = towards.clone().with("DTLS-fingerprint", "SHA-1");
    let phone = section("RTP/AVP", "192.0.2.2", 6000, "");
    assert_eq!(
        function(&setup.describe("offer", &phone, wish)).as_deref(),
        Some("sha-1")
    );
    assert_eq!(
        function(&setup.describe("offer", &phone, towards)).as_deref(),
        Some("sha-1")
    );
}

#[test]
fn another_fingerprint_or_role_is_another_handshake() {
    let mut setup = with_certificate();
    let plain = Dictionary::default()
        .with("transport-protocol", "RTP/AVP")
        .with("ICE", "remove");
    setup.describe("offer", &browser("them", "active", 1), plain);
    let answer = setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
    let ingress_protection = |setup: &Setup| match &setup.entries[&local(&answer)].ingress_protection {
        Keys::Dtls {
            fingerprint, active, ..
        } => (fingerprint.digest[0], *active),
        other => panic!("{other:?}"),
    };
    assert_eq!(ingress_protection(&setup), (1, false));
    for (role, digest, expected) in [
        ("actpass", 1, (1, false)),
        ("passive", 1, (1, true)),
        ("active", 2, (2, false)),
    ] {
        setup.describe("offer", &browser("them", role, digest), again());
        setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
        assert_eq!(ingress_protection(&setup), expected, "{role}");
    }
}

#[test]
fn new_credentials_begin_ice_anew_and_the_same_do_not() {
    let mut setup = with_certificate();
    let plain = Dictionary::default()
        .with("transport-protocol", "RTP/AVP")
        .with("ICE", "remove");
    setup.describe("offer", &browser("them", "active", 1), plain);
    let phone = section("RTP/AVP", "192.0.2.2", 6000, "");
    let first = setup.describe("answer", &phone, answered());
    setup.describe("offer", &browser("them", "active", 1), again());
    let same = setup.describe("answer", &phone, answered());
    assert_eq!(same, first);
    setup.describe("offer", &browser("THEM", "active", 1), again());
    let other = setup.describe("answer", &phone, answered());
    for name in ["ice-ufrag", "ice-pwd"] {
        assert_ne!(attribute(&other, name), attribute(&first, name));
    }
    let (ours, theirs) = setup.entries[&local(&first)].checks.clone().expect("ICE");
    assert_eq!(
        (ours.ufrag.as_str(), theirs.map(|ice| ice.ufrag)),
        (attribute(&other, "ice-ufrag"), Some("THEM".to_owned()))
    );
}

#[test]
fn a_party_on_another_family_or_interface_gets_ports_there() {
    let mut setup = Setup::with(Config::new(vec![
        interface("lan", "10.0.0.1", 5000..=5099),
        interface("lan", "2001:db8::1", 5000..=5099),
        interface("wan", "198.51.100.1", 5000..=5099),
    ]));
    let first = setup.call();
    assert_eq!([local(&first[0]).ip(), local(&first[1]).ip()], [ip("10.0.0.1"); 2]);

    let v6 = phone("192.0.2.1", 6004).replace("IP4 192.0.2.1", "IP6 2001:db8::9");
    let offer = setup.describe("offer", &v6, again());
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_eq!(
        (local(&answer).ip(), local(&offer)),
        (ip("2001:db8::1"), local(&first[1]))
    );
    assert_eq!((setup.relay.port_pairs(), setup.entries.len()), (2, 4));

    let moved = again().with("direction", list(&["lan", "wan"]));
    let offer = setup.change(&v6, moved);
    assert_eq!(local(&offer).ip(), ip("198.51.100.1"));
    let offer = setup.change(&v6, again());
    assert_eq!(local(&offer).ip(), ip("198.51.100.1"), "and stays there");
    let offer = setup.change(&v6, again().with("to-interface", "lan").with("address-family", "IP6"));
    assert_eq!(local(&offer).ip(), ip("2001:db8::1"));
    assert_eq!(setup.relay.port_pairs(), 2, "abandoned ports are free");
}

#[test]
fn multiplexing_that_was_divided_stays_so() {
    let mut setup = Setup::new();
    let mux = phone("192.0.2.1", 6004) + "a=rtcp-mux\r\n";
    setup.describe("offer", &mux, Dictionary::default().with("rtcp-mux", list(&["demux"])));
    let first = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let offer = setup.describe("offer", &mux, again());
    assert!(!offer.contains("rtcp-mux"), "{offer}");
    assert_eq!(setup.describe("answer", &phone("192.0.2.2", 6000), answered()), first);
    let offer = setup.describe("offer", &phone("192.0.2.2", 6000), turned());
    assert!(offer.contains("a=rtcp-mux\r\n"), "{offer}");
}
