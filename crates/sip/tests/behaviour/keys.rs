//! Protection on each side.

use sip::ng::value::Dictionary;
use sip::sdp::Crypto;
use sip::{Config, Counter};
use southbound::relay::{Entry, Keys};
use wire::sdp::{Fingerprint, HashFunction};
use wire::srtp::SrtpProfile;

use crate::support::*;

const KEY_OF_A: &str = "7 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
const OTHER_KEY: &str = "inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd";

fn with_certificate() -> Setup {
    let fingerprint = Fingerprint {
        hash: HashFunction::Sha256,
        digest: vec![0xab; 32],
    };
    let config = Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)]);
    Setup::with(Config {
        fingerprints: vec![fingerprint],
        ..config
    })
}

fn towards(protocol: &str) -> Dictionary {
    Dictionary::default().with("transport-protocol", protocol)
}

fn section(protocol: &str, port: u16, attributes: &str) -> String {
    described("192.0.2.1", &format!("m=audio {port} {protocol} 0\r\n{attributes}"))
}

fn cryptos(sdp: &str) -> Vec<Crypto> {
    let lines = sdp.lines().filter_map(|line| line.strip_prefix("a=crypto:"));
    lines.map(|line| Crypto::parse(line).expect("a known suite")).collect()
}

fn key(line: &str) -> Keys {
    Keys::Srtp(Crypto::parse(line).expect("a known suite").key)
}

fn entry(setup: &Setup, sdp: &str) -> Entry {
    setup.entries[&local(sdp)].clone()
}

fn egress_protection(entry: &Entry) -> Keys {
    entry.rtp.as_ref().expect("a way").egress_protection.clone()
}

#[test]
fn keys_that_both_understand_pass_through_unopened() {
    let mut setup = Setup::new();
    let offered = section(
        "RTP/SAVP",
        6004,
        &format!("a=crypto:{KEY_OF_A}\r\na=crypto:8 F8_128_HMAC_SHA1_80 inline:x\r\n"),
    );
    let offer = setup.describe("offer", &offered, Dictionary::default());
    assert!(
        offer.contains(&format!("a=crypto:{KEY_OF_A}\r\na=crypto:8 F8_128")),
        "{offer}"
    );
    let answered_with = section(
        "RTP/SAVP",
        6000,
        &format!("a=crypto:7 AES_CM_128_HMAC_SHA1_80 {OTHER_KEY}\r\n"),
    );
    let answer = setup.describe("answer", &answered_with, answered());
    assert!(answer.contains(OTHER_KEY), "{answer}");
    assert_eq!(
        (
            entry(&setup, &answer).ingress_protection,
            egress_protection(&entry(&setup, &offer))
        ),
        (Keys::Clear, Keys::Clear)
    );
}

#[test]
fn a_phone_with_keys_talks_to_one_without() {
    let mut setup = Setup::new();
    let offered = section("RTP/SAVP", 6004, &format!("a=crypto:{KEY_OF_A}\r\n"));
    let offer = setup.describe("offer", &offered, towards("RTP/AVP"));
    assert!(
        offer.contains(" RTP/AVP 0\r\n") && cryptos(&offer).is_empty(),
        "{offer}"
    );
    let answer = setup.describe("answer", &section("RTP/AVP", 6000, ""), answered());
    let [ours] = cryptos(&answer).try_into().expect("one key");
    assert!(answer.contains(" RTP/SAVP 0\r\n") && ours.tag == 7, "{answer}");
    let (from_a, from_b) = (entry(&setup, &answer), entry(&setup, &offer));
    assert_eq!(
        (from_a.ingress_protection.clone(), egress_protection(&from_a)),
        (key(KEY_OF_A), Keys::Clear)
    );
    assert_eq!(
        (from_b.ingress_protection.clone(), egress_protection(&from_b)),
        (Keys::Clear, Keys::Srtp(ours.key))
    );

    let again = setup.describe("offer", &offered, towards("RTP/AVP").with("to-tag", "b"));
    let second = setup.describe("answer", &section("RTP/AVP", 6000, ""), answered());
    assert_eq!(
        (again, second),
        (offer, answer),
        "packets that are already encrypted can still be decrypted"
    );
}

#[test]
fn a_phone_without_keys_talks_to_one_with() {
    let mut setup = Setup::new();
    let offer = setup.describe(
        "offer",
        &section("RTP/AVP", 6004, ""),
        towards("RTP/SAVP").with("SDES", list(&["no-AEAD_AES_256_GCM"])),
    );
    let ours = cryptos(&offer);
    let suites: Vec<SrtpProfile> = ours.iter().map(|ours| ours.key.profile()).collect();
    assert!(
        !suites.contains(&SrtpProfile::AeadAes256Gcm) && suites.len() == 9,
        "{suites:?}"
    );
    let chosen = "a=crypto:1 AEAD_AES_128_GCM inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw==\r\n";
    let answer = setup.describe("answer", &section("RTP/SAVP", 6000, chosen), answered());
    assert!(
        answer.contains(" RTP/AVP 0\r\n") && cryptos(&answer).is_empty(),
        "{answer}"
    );
    let from_b = entry(&setup, &offer);
    assert_eq!(
        from_b.ingress_protection,
        key(chosen.trim().strip_prefix("a=crypto:").expect("a key"))
    );
    assert_eq!(
        egress_protection(&entry(&setup, &answer)),
        Keys::Srtp(ours[0].key.clone())
    );
}

#[test]
fn an_answer_that_chooses_nothing_that_was_offered_is_refused() {
    let mut setup = Setup::new();
    setup.describe("offer", &section("RTP/AVP", 6004, ""), towards("RTP/SAVP"));
    let chosen = section(
        "RTP/SAVP",
        6000,
        &format!("a=crypto:9 AES_CM_128_HMAC_SHA1_80 {OTHER_KEY}\r\n"),
    );
    let reply = setup.ask(request("answer", Some(&chosen), answered()));
    assert_eq!(
        (reason(&reply).as_str(), setup.count(Counter::KeysUnusable)),
        ("No usable SRTP keys", 1)
    );
    assert!(
        setup.entries.is_empty(),
        "nothing goes out in clear that was to be protected"
    );
}

#[test]
fn a_phone_talks_to_a_browser() {
    let mut setup = with_certificate();
    let offer = setup.describe("offer", &section("RTP/AVP", 6004, ""), flags(&["WebRTC"]));
    let expected = format!(
        "a=setup:actpass\r\na=fingerprint:sha-256 {}AB\r\na=ice-ufrag:",
        "AB:".repeat(31)
    );
    assert!(
        offer.contains(" UDP/TLS/RTP/SAVPF 0\r\n") && offer.contains(&expected),
        "{offer}"
    );
    assert!(
        offer.contains("a=ice-lite\r\n") && offer.contains("a=rtcp-mux\r\n") && offer.contains("a=mid:1\r\n"),
        "{offer}"
    );
    assert!(
        !offer.contains("a=rtcp:") && offer.matches("a=candidate").count() == 1,
        "{offer}"
    );

    let browser = format!(
        "a=rtcp-mux\r\na=setup:active\r\na=fingerprint:sha-256 {}01\r\na=ice-ufrag:them\r\na=ice-pwd:{}\r\na=candidate:1 1 udp 1 192.0.2.1 6000 typ host\r\n",
        "01:".repeat(31),
        "p".repeat(22)
    );
    let answer = setup.describe(
        "answer",
        &section("UDP/TLS/RTP/SAVPF", 6000, &browser),
        answered().with("ICE", "remove"),
    );
    assert!(
        answer.contains(" RTP/AVP 0\r\n")
            && !answer.contains("ice")
            && !answer.contains("fingerprint")
            && !answer.contains("candidate"),
        "{answer}"
    );
    let from_browser = entry(&setup, &offer);
    let dtls = Keys::Dtls {
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![1; 32],
        },
        active: false,
        association: 0,
    };
    assert_eq!(
        (&from_browser.ingress_protection, egress_protection(&from_browser)),
        (&dtls, Keys::Clear)
    );
    assert_eq!(
        (egress_protection(&entry(&setup, &answer)), setup.entries.len()),
        (dtls, 3)
    );
    let (ours, theirs) = from_browser.checks.expect("connectivity checks");
    assert!(offer.contains(&ours.ufrag) && theirs.is_some_and(|theirs| theirs.ufrag == "them"));
}

#[test]
fn a_browser_talks_to_a_phone_with_keys() {
    let mut setup = with_certificate();
    let browser = format!(
        "a=rtcp-mux\r\na=setup:actpass\r\na=fingerprint:sha-256 {}01\r\na=ice-ufrag:them\r\na=ice-pwd:{}\r\n",
        "01:".repeat(31),
        "p".repeat(22)
    );
    let wishes = towards("RTP/SAVP")
        .with("ICE", "remove")
        .with("rtcp-mux", list(&["demux"]));
    let offer = setup.describe("offer", &section("UDP/TLS/RTP/SAVPF", 6004, &browser), wishes);
    assert!(
        cryptos(&offer).len() == 10 && offer.contains("a=setup:actpass\r\n") && !offer.contains("ice-ufrag"),
        "{offer}"
    );
    let phone = section(
        "RTP/SAVP",
        6000,
        &format!("a=crypto:7 AES_CM_128_HMAC_SHA1_80 {OTHER_KEY}\r\n"),
    );
    let answer = setup.describe("answer", &phone, answered());
    assert!(
        answer.contains("a=setup:passive\r\na=fingerprint")
            && answer.contains("a=ice-pwd:")
            && answer.contains("a=rtcp-mux\r\n"),
        "{answer}"
    );
    let from_browser = entry(&setup, &answer);
    assert!(matches!(
        from_browser.ingress_protection,
        Keys::Dtls { active: false, .. }
    ));
    assert_eq!(
        egress_protection(&from_browser),
        Keys::Srtp(cryptos(&offer)[6].key.clone())
    );
}

#[test]
fn a_phone_with_keys_talks_to_a_browser() {
    let mut setup = with_certificate();
    let offered = section("RTP/SAVP", 6004, &format!("a=crypto:{KEY_OF_A}\r\n"));
    let offer = setup.describe("offer", &offered, flags(&["WebRTC"]));
    assert!(
        offer.contains(" UDP/TLS/RTP/SAVPF 0\r\n")
            && cryptos(&offer).is_empty()
            && offer.contains("a=setup:actpass\r\n"),
        "{offer}"
    );
    let browser = format!(
        "a=rtcp-mux\r\na=setup:active\r\na=fingerprint:sha-1 {}01\r\na=ice-ufrag:them\r\na=ice-pwd:{}\r\n",
        "01:".repeat(19),
        "p".repeat(22)
    );
    let answer = setup.describe("answer", &section("UDP/TLS/RTP/SAVPF", 6000, &browser), answered());
    let [ours] = cryptos(&answer).try_into().expect("one key");
    assert!(
        answer.contains(" RTP/SAVP 0\r\n") && !answer.contains("fingerprint"),
        "{answer}"
    );
    let (from_a, from_b) = (entry(&setup, &answer), entry(&setup, &offer));
    assert_eq!(
        (from_a.ingress_protection.clone(), egress_protection(&from_b)),
        (key(KEY_OF_A), Keys::Srtp(ours.key))
    );
    let Keys::Dtls {
        fingerprint, active, ..
    } = &from_b.ingress_protection
    else {
        panic!("a handshake")
    };
    assert_eq!((fingerprint.hash, *active), (HashFunction::Sha1, false));
    assert_eq!(egress_protection(&from_a), from_b.ingress_protection);
}

#[test]
fn without_a_certificate_there_is_no_browser() {
    let mut setup = Setup::new();
    let reply = setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), flags(&["WebRTC"])));
    assert_eq!(reason(&reply), "No usable SRTP keys");
    assert_eq!(
        (setup.relay.calls(), setup.relay.port_pairs()),
        (0, 0),
        "a dialogue that was begun ends with the refusal"
    );
}

#[test]
fn keys_are_printed_nowhere() {
    let mut setup = Setup::new();
    setup.describe(
        "offer",
        &section("RTP/SAVP", 6004, &format!("a=crypto:{KEY_OF_A}\r\n")),
        towards("RTP/AVP"),
    );
    setup.describe("answer", &section("RTP/AVP", 6000, ""), answered());
    assert!(format!("{:?}", setup.entries).contains("MasterKey(SRTP_AES128_CM_HMAC_SHA1_80)"));
}

#[test]
fn keys_that_no_description_names_pass() {
    let with_mikey = |port| section("RTP/SAVP", port, "a=key-mgmt:mikey AQAFgM0XflABAAAAAAAAAAAAAAsAyO\r\n");
    for flags in [
        Dictionary::default(),
        Dictionary::default().with("SDES", list(&["nonew"])),
    ] {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &with_mikey(6004), flags);
        let answer = setup.describe("answer", &with_mikey(6000), answered());
        for sdp in [&offer, &answer] {
            assert!(
                sdp.contains(" RTP/SAVP 0\r\n") && sdp.contains("a=key-mgmt:mikey "),
                "{sdp}"
            );
            assert!(cryptos(sdp).is_empty(), "{sdp}");
            let entry = entry(&setup, sdp);
            assert_eq!((&entry.ingress_protection, entry.clock_rate), (&Keys::Clear, None));
            assert_eq!(egress_protection(&entry), Keys::Clear);
        }
    }
    let mut setup = Setup::new();
    let reply = setup.ask(request("offer", Some(&with_mikey(6004)), towards("RTP/AVP")));
    assert_eq!(reason(&reply), "No usable SRTP keys");
}
