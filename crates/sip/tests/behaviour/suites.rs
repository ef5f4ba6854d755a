//! Tests of SDES: suites, parameters, and proxies' flags for them.

use sip::ng::value::Dictionary;
use sip::sdp::Crypto;
use southbound::relay::Keys;
use wire::srtp::Mki;

use crate::support::*;

fn towards(protocol: &str) -> Dictionary {
    Dictionary::default().with("transport-protocol", protocol)
}

fn sdes(words: &[&str]) -> Dictionary {
    Dictionary::default().with("SDES", list(words))
}

fn section(protocol: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("a=crypto:{line}\r\n")).collect();
    described("192.0.2.1", &format!("m=audio 6004 {protocol} 0\r\n{lines}"))
}

fn cryptos(sdp: &str) -> Vec<&str> {
    sdp.lines().filter_map(|line| line.strip_prefix("a=crypto:")).collect()
}

fn suites(sdp: &str) -> Vec<&str> {
    let words = cryptos(sdp).into_iter();
    words.map(|line| line.split(' ').nth(1).expect("a suite")).collect()
}

/// A line with a key for the suite.
fn line(tag: u8, suite: &str, rest: &str) -> String {
    let len: usize = match suite {
        "AEAD_AES_128_GCM" => 28,
        "AEAD_AES_256_GCM" => 44,
        it if it.contains("256") => 46,
        it if it.contains("192") => 38,
        _ => 30,
    };
    let key = "A".repeat((len * 4).div_ceil(3));
    format!("{tag} {suite} inline:{key}{rest}")
}

/// The suites that are offered unless the proxy names others.
const OFFERED: [&str; 10] = [
    "AEAD_AES_256_GCM",
    "AEAD_AES_128_GCM",
    "AES_256_CM_HMAC_SHA1_80",
    "AES_256_CM_HMAC_SHA1_32",
    "AES_192_CM_HMAC_SHA1_80",
    "AES_192_CM_HMAC_SHA1_32",
    CM_80,
    CM_32,
    F8_80,
    F8_32,
];
const NULL: [&str; 2] = ["NULL_HMAC_SHA1_80", "NULL_HMAC_SHA1_32"];
const F8_80: &str = "F8_128_HMAC_SHA1_80";
const F8_32: &str = "F8_128_HMAC_SHA1_32";
const CM_80: &str = "AES_CM_128_HMAC_SHA1_80";
const CM_32: &str = "AES_CM_128_HMAC_SHA1_32";
const CM_256_80: &str = "AES_256_CM_HMAC_SHA1_80";
const GCM_256: &str = "AEAD_AES_256_GCM";
const GCM_128: &str = "AEAD_AES_128_GCM";

#[test]
fn every_suite_is_opened_for_a_phone_without_keys() {
    for suite in OFFERED.into_iter().chain(NULL) {
        let mut setup = Setup::new();
        let theirs = line(1, suite, "");
        let offer = setup.describe("offer", &section("RTP/SAVP", &[&theirs]), towards("RTP/AVP"));
        let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
        assert_eq!(suites(&answer), [suite]);
        let from_a = &setup.entries[&local(&answer)];
        assert_eq!(
            from_a.ingress_protection,
            Keys::Srtp(Crypto::parse(&theirs).expect("a key").key)
        );
        let ours = Crypto::parse(cryptos(&answer)[0]).expect("a key").key;
        let hop = setup.entries[&local(&offer)].rtp.as_ref().expect("a way");
        assert_eq!(hop.egress_protection, Keys::Srtp(ours), "{suite}");
    }
}

#[test]
fn every_suite_is_offered_and_taken() {
    for (tag, suite) in (1..).zip(OFFERED) {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &section("RTP/AVP", &[]), towards("RTP/SAVP"));
        assert_eq!(suites(&offer), OFFERED);
        let theirs = line(tag, suite, "");
        setup.describe("answer", &section("RTP/SAVP", &[&theirs]), answered());
        let ingress_protection = &setup.entries[&local(&offer)].ingress_protection;
        assert_eq!(
            *ingress_protection,
            Keys::Srtp(Crypto::parse(&theirs).expect("a key").key),
            "{suite}"
        );
    }
}

#[test]
fn a_suite_without_encryption_is_offered_and_preferred_only_by_its_name() {
    let offered = |words: &[&str]| {
        let mut wish = towards("RTP/SAVP");
        sdes(words)
            .iter()
            .for_each(|(key, value)| wish.push(key, value.clone()));
        Setup::new().describe("offer", &section("RTP/AVP", &[]), wish)
    };
    assert_eq!(suites(&offered(&["only-NULL_HMAC_SHA1_32"])), [NULL[1]]);
    assert_eq!(suites(&offered(&["order:NULL_HMAC_SHA1_80"]))[..2], [NULL[0], GCM_256]);
    let answered_to = |words: &[&str]| {
        let mut setup = Setup::new();
        let lines = [line(1, NULL[0], ""), line(2, CM_80, "")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut wish = towards("RTP/AVP");
        sdes(words)
            .iter()
            .for_each(|(key, value)| wish.push(key, value.clone()));
        setup.describe("offer", &section("RTP/SAVP", &lines), wish);
        let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
        suites(&answer).join(" ")
    };
    assert_eq!(answered_to(&[]), CM_80);
    assert_eq!(answered_to(&["offerer_pref:NULL_HMAC_SHA1_80"]), NULL[0]);
}

#[test]
fn keys_of_ours_have_numbers_that_no_line_of_the_offer_has() {
    let unreadable = "9 F8_128_HMAC_SHA1_80 inline:x";
    let lines = [line(1, CM_80, ""), unreadable.to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let offer = Setup::new().describe("offer", &section("RTP/SAVP", &lines), Dictionary::default());
    let tags: Vec<&str> = cryptos(&offer)
        .iter()
        .map(|line| line.split(' ').next().expect("a number"))
        .collect();
    assert_eq!(tags[..4], ["1", "9", "10", "11"]);
}

#[test]
fn shared_omissions_are_answered_and_unsupported_parameters_skipped() {
    let mut setup = Setup::new();
    let lines = [
        line(1, CM_80, " KDR=1"),
        line(2, GCM_256, " UNENCRYPTED_SRTP"),
        line(3, CM_80, "|2^20|5:2 UNENCRYPTED_SRTCP WSH=64"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    setup.describe("offer", &section("RTP/SAVP", &lines), towards("RTP/AVP"));
    let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
    let [ours] = cryptos(&answer).try_into().expect("one key");
    assert!(
        ours.starts_with("3 AES_CM_128_HMAC_SHA1_80 inline:") && ours.ends_with(" UNENCRYPTED_SRTCP"),
        "{ours}"
    );
    let Keys::Srtp(ingress_protection) = &setup.entries[&local(&answer)].ingress_protection else {
        panic!("a key")
    };
    let parameters = ingress_protection.parameters();
    assert_eq!((parameters.mki, parameters.unencrypted_rtcp), (Mki::new(5, 2), true));

    let mut setup = Setup::new();
    let reply = setup.ask(request(
        "offer",
        Some(&section("RTP/SAVP", &lines[..2])),
        towards("RTP/AVP"),
    ));
    assert_eq!(reason(&reply), "No usable SRTP keys");
}

#[test]
fn an_answer_must_agree_on_the_omissions() {
    let wish = towards("RTP/SAVP").with(
        "SDES",
        list(&["unencrypted_srtp", "only-AES_CM_128_HMAC_SHA1_80", "lifetime"]),
    );
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &section("RTP/AVP", &[]), wish.clone());
    let [ours] = cryptos(&offer).try_into().expect("one key");
    assert!(ours.ends_with("|2^31 UNENCRYPTED_SRTP"), "{ours}");
    let reply = setup.ask(request(
        "answer",
        Some(&section("RTP/SAVP", &[&line(1, CM_80, "")])),
        answered(),
    ));
    assert_eq!(reason(&reply), "No usable SRTP keys");
    let agreed = line(1, CM_80, "|2^31|1:4 UNENCRYPTED_SRTP");
    setup.describe("answer", &section("RTP/SAVP", &[&agreed]), answered());
}

#[test]
fn flags_choose_and_order_the_offered_suites() {
    let offered = |words: &[&str]| {
        let mut setup = Setup::new();
        let mut wish = towards("RTP/SAVP");
        sdes(words)
            .iter()
            .for_each(|(key, value)| wish.push(key, value.clone()));
        setup.describe("offer", &section("RTP/AVP", &[]), wish)
    };
    let some = offered(&[
        "only-AES_256_CM_HMAC_SHA1_80",
        "only-aes_cm_128_hmac_sha1_32",
        "no-AES_256_CM_HMAC_SHA1_80",
    ]);
    assert_eq!(suites(&some), [CM_256_80, CM_32]);
    let ordered = offered(&[
        "order:AES_192_CM_HMAC_SHA1_80;AEAD_AES_128_GCM;NO_SUCH;",
        "no-AES_CM_128_HMAC_SHA1_32",
    ]);
    assert_eq!(suites(&ordered)[..3], ["AES_192_CM_HMAC_SHA1_80", GCM_128, GCM_256]);
    let tags: Vec<&str> = cryptos(&ordered).iter().map(|line| &line[..1]).collect();
    assert_eq!(tags[..3], ["5", "2", "1"], "an order changes no numbers");
}

#[test]
fn wishes_choose_among_keys_that_pass_and_lines_nobody_can_open_pass_too() {
    let lines = [
        line(1, CM_80, "|2^20"),
        "2 F8_128_HMAC_SHA1_80 inline:x".to_owned(),
        line(3, CM_32, ""),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    // The key of suite F8 is none, so there is one of ours for it.
    let no_cm = [&OFFERED[..6], &OFFERED[8..]].concat();
    let passed = |words: &[&str]| {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &section("RTP/SAVP", &lines), sdes(words));
        (setup, offer)
    };
    assert_eq!(cryptos(&passed(&["nonew"]).1), lines);
    let (_, offer) = passed(&[]);
    assert_eq!((&cryptos(&offer)[..3], &suites(&offer)[3..]), (&lines[..], &no_cm[..]));
    let (_, offer) = passed(&["no-AES_CM_128_HMAC_SHA1_80", "no-AEAD_AES_256_GCM"]);
    assert_eq!(
        (&cryptos(&offer)[..2], &suites(&offer)[2..]),
        (&lines[1..], &no_cm[1..])
    );
    let (_, offer) = passed(&["order:AES_CM_128_HMAC_SHA1_32;AEAD_AES_128_GCM"]);
    assert_eq!(cryptos(&offer)[0], lines[2]);
    assert_eq!(suites(&offer)[1], GCM_128);
    // No key may pass, so the media is decrypted here, and the wanted suite is offered.
    let (mut setup, offer) = passed(&["only-AEAD_AES_128_GCM"]);
    assert_eq!(suites(&offer), [GCM_128]);
    let answer = setup.describe("answer", &section("RTP/SAVP", &[&line(1, GCM_128, "")]), answered());
    assert_eq!(suites(&answer), [CM_80]);
}

#[test]
fn an_answer_chooses_between_keys_that_pass_and_keys_of_ours() {
    let offered = section("RTP/SAVP", &[&line(4, CM_32, "")]);
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &offered, Dictionary::default());
    let again = setup.describe("offer", &offered, Dictionary::default());
    assert_eq!(again, offer, "an offer again has the same keys");
    let ours = cryptos(&offer)[1].to_owned();
    assert!(ours.starts_with("5 AEAD_AES_256_GCM inline:"), "{offer}");

    // A key that passes: no media is decrypted.
    let passing = line(4, CM_32, "");
    let answer = setup.describe("answer", &section("RTP/SAVP", &[&passing]), answered());
    assert_eq!(cryptos(&answer), [passing]);
    assert!(
        setup
            .entries
            .values()
            .all(|entry| entry.ingress_protection == Keys::Clear)
    );

    // A key of ours, chosen by the second answer: both sides are decrypted and encrypted.
    let theirs = line(5, GCM_256, "");
    let answer = setup.describe("answer", &section("RTP/SAVP", &[&theirs]), answered());
    assert_eq!(suites(&answer), [CM_32]);
    let ingress_protection = |sdp: &str| setup.entries[&local(sdp)].ingress_protection.clone();
    let key = |line: &str| Keys::Srtp(Crypto::parse(line).expect("a key").key);
    assert_eq!(
        (ingress_protection(&answer), ingress_protection(&offer)),
        (key(&line(4, CM_32, "")), key(&theirs))
    );
    let hop = setup.entries[&local(&answer)].rtp.as_ref().expect("a way");
    assert_eq!(hop.egress_protection, key(&ours));
}

#[test]
fn an_offer_with_passed_keys_does_not_interrupt_relayed_media() {
    let mut setup = Setup::new();
    let offered = section("RTP/SAVP", &[&line(1, CM_80, "")]);
    setup.describe("offer", &offered, Dictionary::default());
    setup.describe("answer", &section("RTP/SAVP", &[&line(1, CM_80, "")]), answered());
    let entries = setup.entries.clone();
    setup.describe("offer", &offered, Dictionary::default().with("to-tag", "b"));
    assert_eq!(setup.entries, entries);
}

#[test]
fn a_suite_that_is_not_offered_is_accepted_only_as_the_last_choice() {
    let lines = [line(1, CM_80, ""), line(2, CM_32, "")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for (wish, expected) in [("no-AES_CM_128_HMAC_SHA1_80", CM_32), ("only-AEAD_AES_128_GCM", CM_80)] {
        let mut setup = Setup::new();
        let wish = towards("RTP/AVP").with("SDES", list(&[wish]));
        setup.describe("offer", &section("RTP/SAVP", &lines), wish);
        let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
        assert_eq!(suites(&answer), [expected]);
    }
}

#[test]
fn the_offerers_suite_may_be_chosen() {
    let mut setup = Setup::new();
    let lines = [line(1, CM_80, ""), line(2, CM_256_80, "")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let wish = towards("RTP/AVP").with("SDES", list(&["offerer_pref:AES_256_CM_HMAC_SHA1_80"]));
    setup.describe("offer", &section("RTP/SAVP", &lines), wish);
    let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
    assert_eq!(suites(&answer), [CM_256_80]);
}

#[test]
fn of_keys_and_a_fingerprint_the_answer_may_have_the_keys() {
    let digest = |hash: wire::sdp::HashFunction| wire::sdp::Fingerprint {
        hash,
        digest: vec![0xab; hash.digest_len()],
    };
    let config = sip::Config {
        fingerprints: vec![digest(wire::sdp::HashFunction::Sha256)],
        ..sip::Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)])
    };
    let both = section("RTP/SAVP", &[&line(3, CM_80, "")])
        + &format!(
            "a=setup:actpass\r\na=fingerprint:{}\r\n",
            digest(wire::sdp::HashFunction::Sha256)
        );
    let answer = |offer: Dictionary, answer: Dictionary| {
        let mut setup = Setup::with(config.clone());
        let wish = offer.with("transport-protocol", "RTP/AVP");
        setup.describe("offer", &both, wish);
        let answer = setup.describe("answer", &section("RTP/AVP", &[]), answer.with("to-tag", "b"));
        (!cryptos(&answer).is_empty(), answer.contains("a=fingerprint:"))
    };
    let none = Dictionary::default;
    assert_eq!(answer(none(), none()), (false, true));
    assert_eq!(answer(none(), none().with("DTLS", "off")), (true, false));
    assert_eq!(answer(none().with("DTLS", "off"), none()), (true, false));
    assert_eq!(answer(sdes(&["prefer"]), none()), (true, false));
}

#[test]
fn secure_offers_leave_keys_or_a_handshake_to_the_answer() {
    let fingerprint = wire::sdp::Fingerprint {
        hash: wire::sdp::HashFunction::Sha256,
        digest: vec![0xab; 32],
    };
    let config = sip::Config {
        fingerprints: vec![fingerprint.clone()],
        ..sip::Config::new(vec![interface("default", "127.0.0.1", 40_000..=40_999)])
    };
    let dtls = section("RTP/SAVP", &[]) + &format!("a=setup:passive\r\na=fingerprint:{fingerprint}\r\n");
    let keys = section("RTP/SAVP", &[&line(7, CM_80, "")]);
    for (wish, answer, keyed_by_handshake) in [
        (Dictionary::default(), &keys, false),
        (Dictionary::default(), &dtls, true),
        (sdes(&["off"]), &dtls, true),
        (Dictionary::default().with("DTLS", "off"), &keys, false),
    ] {
        let mut setup = Setup::with(config.clone());
        let offers_keys = wish.value("SDES").is_none();
        let offers_dtls = wish.value("DTLS").is_none();
        let wish = wish.with("transport-protocol", "RTP/SAVP");
        let offer = setup.describe("offer", &section("RTP/AVP", &[]), wish);
        assert_eq!(
            (
                !cryptos(&offer).is_empty(),
                offer.contains("a=setup:actpass\r\na=fingerprint:sha-256 ")
            ),
            (offers_keys, offers_dtls),
            "{offer}"
        );
        setup.describe("answer", answer, answered());
        let ingress_protection = &setup.entries[&local(&offer)].ingress_protection;
        assert_eq!(
            matches!(ingress_protection, Keys::Dtls { active: true, .. }),
            keyed_by_handshake
        );
        assert_eq!(matches!(ingress_protection, Keys::Srtp(_)), !keyed_by_handshake);
    }
}
