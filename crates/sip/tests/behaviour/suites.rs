//! SDES in every form: suites, parameters, and what proxies say of them.

use sip::ng::value::Dictionary;
use sip::plan::Keys;
use sip::sdp::Crypto;
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
    let len = match suite {
        "AEAD_AES_128_GCM" => 28,
        "AEAD_AES_256_GCM" => 44,
        it if it.contains("256") => 46,
        it if it.contains("192") => 38,
        _ => 30,
    };
    let key = "A".repeat((len * 4 + 2) / 3);
    format!("{tag} {suite} inline:{key}{rest}")
}

const ALL: [&str; 8] = [
    "AES_CM_128_HMAC_SHA1_80",
    "AES_CM_128_HMAC_SHA1_32",
    "AEAD_AES_256_GCM",
    "AEAD_AES_128_GCM",
    "AES_256_CM_HMAC_SHA1_80",
    "AES_256_CM_HMAC_SHA1_32",
    "AES_192_CM_HMAC_SHA1_80",
    "AES_192_CM_HMAC_SHA1_32",
];

#[test]
fn every_suite_is_opened_for_a_phone_without_keys() {
    for suite in ALL {
        let mut setup = Setup::new();
        let theirs = line(1, suite, "");
        let offer = setup.describe("offer", &section("RTP/SAVP", &[&theirs]), towards("RTP/AVP"));
        let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
        assert_eq!(suites(&answer), [suite]);
        let from_a = &setup.entries[&local(&answer)];
        assert_eq!(from_a.opens, Keys::Srtp(Crypto::parse(&theirs).expect("a key").key));
        let ours = Crypto::parse(cryptos(&answer)[0]).expect("a key").key;
        let hop = setup.entries[&local(&offer)].rtp.as_ref().expect("a way");
        assert_eq!(hop.seals, Keys::Srtp(ours), "{suite}");
    }
}

#[test]
fn every_suite_is_offered_and_taken() {
    for (tag, suite) in (1..).zip(ALL) {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &section("RTP/AVP", &[]), towards("RTP/SAVP"));
        assert_eq!(suites(&offer), ALL);
        let theirs = line(tag, suite, "");
        setup.describe("answer", &section("RTP/SAVP", &[&theirs]), answered());
        let opens = &setup.entries[&local(&offer)].opens;
        assert_eq!(
            *opens,
            Keys::Srtp(Crypto::parse(&theirs).expect("a key").key),
            "{suite}"
        );
    }
}

#[test]
fn what_both_ends_leave_out_is_answered_and_what_cannot_be_done_is_passed_over() {
    let mut setup = Setup::new();
    let lines = [
        line(1, ALL[0], " KDR=1"),
        line(2, ALL[2], " UNENCRYPTED_SRTP"),
        line(3, ALL[0], "|2^20|5:2 UNENCRYPTED_SRTCP WSH=64"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    setup.describe("offer", &section("RTP/SAVP", &lines), towards("RTP/AVP"));
    let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
    let [ours] = cryptos(&answer).try_into().expect("one key");
    assert!(
        ours.starts_with("3 AES_CM_128_HMAC_SHA1_80 inline:") && ours.ends_with(" UNENCRYPTED_SRTCP"),
        "{ours}"
    );
    let Keys::Srtp(opens) = &setup.entries[&local(&answer)].opens else {
        panic!("a key")
    };
    let parameters = opens.parameters();
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
fn an_answer_must_agree_on_what_is_left_out() {
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
        Some(&section("RTP/SAVP", &[&line(1, ALL[0], "")])),
        answered(),
    ));
    assert_eq!(reason(&reply), "No usable SRTP keys");
    let agreed = line(1, ALL[0], "|2^31|1:4 UNENCRYPTED_SRTP");
    setup.describe("answer", &section("RTP/SAVP", &[&agreed]), answered());
}

#[test]
fn wishes_choose_and_order_what_is_offered() {
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
    assert_eq!(suites(&some), [ALL[1], ALL[4]]);
    let ordered = offered(&[
        "order:AES_192_CM_HMAC_SHA1_80;AEAD_AES_128_GCM;NO_SUCH;",
        "no-AES_CM_128_HMAC_SHA1_32",
    ]);
    assert_eq!(suites(&ordered)[..3], [ALL[6], ALL[3], ALL[0]]);
    let tags: Vec<&str> = cryptos(&ordered).iter().map(|line| &line[..1]).collect();
    assert_eq!(tags[..3], ["6", "3", "1"], "an order changes no numbers");
}

#[test]
fn wishes_choose_among_keys_that_pass_and_lines_nobody_can_open_pass_too() {
    let lines = [
        line(1, ALL[0], "|2^20"),
        "2 F8_128_HMAC_SHA1_80 inline:x".to_owned(),
        line(3, ALL[1], ""),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let passed = |words: &[&str]| {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &section("RTP/SAVP", &lines), sdes(words));
        (setup, offer)
    };
    assert_eq!(cryptos(&passed(&[]).1), lines);
    assert_eq!(cryptos(&passed(&["no-AES_CM_128_HMAC_SHA1_80"]).1), lines[1..]);
    assert_eq!(
        cryptos(&passed(&["order:AES_CM_128_HMAC_SHA1_32"]).1),
        [lines[2], lines[0], lines[1]]
    );
    // Nothing of it may go on, so it is opened here, and the wish is offered.
    let (mut setup, offer) = passed(&["only-AEAD_AES_128_GCM"]);
    assert_eq!(suites(&offer), [ALL[3]]);
    let answer = setup.describe("answer", &section("RTP/SAVP", &[&line(1, ALL[3], "")]), answered());
    assert_eq!(suites(&answer), [ALL[0]]);
}

#[test]
fn the_offerers_suite_may_be_chosen() {
    let mut setup = Setup::new();
    let lines = [line(1, ALL[0], ""), line(2, ALL[4], "")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let wish = towards("RTP/AVP").with("SDES", list(&["offerer_pref:AES_256_CM_HMAC_SHA1_80"]));
    setup.describe("offer", &section("RTP/SAVP", &lines), wish);
    let answer = setup.describe("answer", &section("RTP/AVP", &[]), answered());
    assert_eq!(suites(&answer), [ALL[4]]);
}
