//! Tests of keys with a protocol without protection, which an answer may accept or decline (RFC
//! 8643).

use std::net::SocketAddr;

use sip::ng::value::Dictionary;
use sip::sdp::Crypto;
use southbound::relay::Keys;

use crate::support::*;

const CM_80: &str = "AES_CM_128_HMAC_SHA1_80 inline:Qk0TvVeyfqfjFd/YebnyyklqSEhJntpVKV1KAhHa";
const CM_32: &str = "AES_CM_128_HMAC_SHA1_32 inline:Kl3GFJ5Gqz5x07xYkoyHODkVkSpiplZnXsQIw+Q7";
const FINGERPRINT: &str = "a=setup:actpass\r\na=fingerprint:sha-256 \
    00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F\r\n";

fn phone_with(address: &str, port: u16, crypto: &str) -> String {
    phone(address, port) + &format!("a=crypto:{crypto}\r\n")
}

fn cryptos(sdp: &str) -> Vec<&str> {
    sdp.lines().filter_map(|line| line.strip_prefix("a=crypto:")).collect()
}

fn key(line: &str) -> Keys {
    Keys::Srtp(Crypto::parse(line).expect("a key").key)
}

/// An offer with one key: the relay, and the other party's description.
fn offered(wish: Dictionary) -> (Setup, String) {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone_with("192.0.2.1", 6004, &format!("1 {CM_80}")), wish);
    (setup, offer)
}

#[test]
fn an_offer_has_our_keys_behind_its_own_and_keeps_its_protocol() {
    let (_, offer) = offered(Dictionary::default());
    let cryptos = cryptos(&offer);
    assert!(offer.contains(" RTP/AVP 0\r\n"), "{offer}");
    assert_eq!((cryptos[0], cryptos.len()), (format!("1 {CM_80}").as_str(), 10));
    assert!(
        cryptos[7].starts_with("8 AES_CM_128_HMAC_SHA1_32 inline:"),
        "{cryptos:?}"
    );
    let (_, offer) = offered(Dictionary::default().with("SDES", list(&["nonew"])));
    assert_eq!(self::cryptos(&offer), [format!("1 {CM_80}")]);
}

#[test]
fn an_answer_with_the_same_suite_passes() {
    let (mut setup, offer) = offered(Dictionary::default());
    let theirs = format!("1 {}", CM_80.replace('Q', "R"));
    let answer = setup.describe("answer", &phone_with("192.0.2.2", 6000, &theirs), answered());
    assert_eq!(cryptos(&answer), [theirs]);
    for at in [local(&offer), local(&answer)] {
        assert_eq!(setup.entries[&at].ingress_protection, Keys::Clear);
        assert_eq!(setup.entries[&above(at)].clock_rate, None, "reports cannot be read");
    }
}

#[test]
fn an_answer_with_a_suite_of_ours_is_opened_and_sealed_for_both() {
    let (mut setup, offer) = offered(Dictionary::default());
    let ours = cryptos(&offer)[7].to_owned();
    let b = phone_with("192.0.2.2", 6000, &format!("8 {CM_32}"));
    let answer = setup.describe("answer", &b, answered());
    let [to_a] = cryptos(&answer).try_into().expect("one key");
    assert!(to_a.starts_with("1 AES_CM_128_HMAC_SHA1_80 inline:"), "{to_a}");
    assert!(answer.contains(" RTP/AVP 0\r\n"), "{answer}");
    let from_a = setup.entries[&local(&answer)].clone();
    let from_b = setup.entries[&local(&offer)].clone();
    assert_eq!(from_a.ingress_protection, key(&format!("1 {CM_80}")));
    assert_eq!(from_a.rtp.as_ref().expect("a way").egress_protection, key(&ours));
    assert_eq!(from_b.ingress_protection, key(&format!("8 {CM_32}")));
    assert_eq!(from_b.rtp.as_ref().expect("a way").egress_protection, key(to_a));

    // A session refresh changes nothing, not even until it is answered.
    let again = Dictionary::default().with("to-tag", "b");
    setup.describe("offer", &phone_with("192.0.2.1", 6004, &format!("1 {CM_80}")), again);
    assert_eq!(setup.entries[&local(&answer)], from_a);
    assert_eq!(setup.describe("answer", &b, answered()), answer);
    assert_eq!(setup.entries[&local(&offer)], from_b);
}

#[test]
fn an_answer_without_keys_leaves_both_unprotected() {
    for wish in [Dictionary::default(), flags(&["recrypt"])] {
        let (mut setup, offer) = offered(wish);
        assert!(cryptos(&offer).len() >= 10, "{offer}");
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), answered());
        assert_eq!(cryptos(&answer), [""; 0]);
        for at in [local(&offer), local(&answer)] {
            assert_eq!(setup.entries[&at].ingress_protection, Keys::Clear);
            assert_eq!(setup.entries[&above(at)].clock_rate, Some(8000));
        }
    }
}

#[test]
fn keys_end_here_if_the_other_party_must_have_none_or_others() {
    for (wish, protocol) in [
        (Dictionary::default().with("transport-protocol", "RTP/SAVP"), "RTP/SAVP"),
        (
            flags(&["recrypt"]).with("SDES", list(&["only-AES_CM_128_HMAC_SHA1_32"])),
            "RTP/AVP",
        ),
    ] {
        let (mut setup, offer) = offered(wish);
        let ours = cryptos(&offer)
            .into_iter()
            .find(|line| line.contains(" AES_CM_128_HMAC_SHA1_32 "));
        let tag = ours.and_then(|line| line.split(' ').next()).expect("a number");
        let b = phone_with("192.0.2.2", 6000, &format!("{tag} {CM_32}")).replace("RTP/AVP", protocol);
        let answer = setup.describe("answer", &b, answered());
        let [to_a] = cryptos(&answer).try_into().expect("one key");
        assert!(to_a.starts_with("1 AES_CM_128_HMAC_SHA1_80 inline:"), "{to_a}");
        assert_eq!(
            setup.entries[&local(&answer)].ingress_protection,
            key(&format!("1 {CM_80}"))
        );
        assert_eq!(
            setup.entries[&local(&offer)].ingress_protection,
            key(&format!("{tag} {CM_32}"))
        );
    }
}

#[test]
fn an_offer_is_not_refused_for_options_that_its_answer_may_drop() {
    // Keys that only the two parties can use pass to one that must have some.
    let unusable = [
        ("a=crypto:1 F8_128_HMAC_SHA1_80 inline:x\r\n".to_owned(), false),
        (format!("a=crypto:1 {CM_80} KDR=1\r\n"), true),
        (FINGERPRINT.to_owned(), false),
    ];
    for (lines, passes) in unusable {
        for protocol in ["RTP/AVP", "RTP/SAVP"] {
            let mut setup = Setup::new();
            let wish = Dictionary::default().with("transport-protocol", protocol);
            let sdp = phone("192.0.2.1", 6004) + &lines;
            let offer = setup.describe("offer", &sdp, wish);
            assert!(offer.contains(&format!(" {protocol} 0\r\n")), "{offer}");
            assert_eq!(offer.contains(&lines), passes || protocol == "RTP/AVP", "{offer}");
        }
    }
}

fn osrtp(word: &str) -> Dictionary {
    Dictionary::default().with("OSRTP", list(&[word]))
}

/// A call of a party without keys, whose other party took one that was added to the offer.
fn added() -> (Setup, SocketAddr, SocketAddr, String) {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), osrtp("offer"));
    assert!(offer.contains(" RTP/AVP 0\r\n"), "{offer}");
    let ours = cryptos(&offer)
        .into_iter()
        .find(|line| line.contains(" AES_CM_128_HMAC_SHA1_32 "));
    let ours = ours.expect("all suites are offered").to_owned();
    let tag = ours.split(' ').next().expect("a number");
    let b = phone_with("192.0.2.2", 6000, &format!("{tag} {CM_32}"));
    let answer = setup.describe("answer", &b, answered());
    assert_eq!(cryptos(&answer), [""; 0]);
    (setup, local(&answer), local(&offer), ours)
}

#[test]
fn keys_that_the_proxy_adds_to_an_offer_protect_the_party_that_takes_one() {
    let (mut setup, facing_a, facing_b, ours) = added();
    let tag = ours.split(' ').next().expect("a number").to_owned();
    let protects = |setup: &Setup| {
        let [from_a, from_b] = [facing_a, facing_b].map(|at| setup.entries[&at].clone());
        assert_eq!(from_a.ingress_protection, Keys::Clear);
        assert_eq!(from_a.rtp.expect("a way").egress_protection, key(&ours));
        assert_eq!(from_b.ingress_protection, key(&format!("{tag} {CM_32}")));
        assert_eq!(from_b.rtp.expect("a way").egress_protection, Keys::Clear);
    };
    protects(&setup);

    // A later change of either party keeps that, whatever its flags say.
    let b = phone_with("192.0.2.2", 6000, &format!("{tag} {CM_32}"));
    let again = Dictionary::default().with("to-tag", "b");
    let offer = setup.describe("offer", &phone("192.0.2.1", 6006), again);
    assert!(cryptos(&offer).contains(&ours.as_str()), "{offer}");
    setup.describe("answer", &b, answered());
    protects(&setup);
    let back = Dictionary::default().with("from-tag", "b").with("to-tag", "a");
    let offer = setup.describe("offer", &b.replace("6000", "6002"), back.clone());
    assert_eq!(cryptos(&offer), [""; 0]);
    let answer = setup.describe("answer", &phone("192.0.2.1", 6006), back);
    assert_eq!(cryptos(&answer), [ours.as_str()]);
    protects(&setup);
}

#[test]
fn keys_that_the_proxy_adds_may_be_declined() {
    for wish in [answered(), answered().with("OSRTP", list(&["accept"]))] {
        let mut setup = Setup::new();
        let offer = setup.describe("offer", &phone("192.0.2.1", 6004), osrtp("offer"));
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), wish);
        for sdp in [&offer, &answer] {
            let entry = &setup.entries[&local(sdp)];
            assert_eq!(entry.ingress_protection, Keys::Clear);
            assert_eq!(entry.rtp.as_ref().expect("a way").egress_protection, Keys::Clear);
        }
    }
}

#[test]
fn declined_keys_are_accepted_if_the_proxy_wants_it() {
    for wish in [Dictionary::default(), flags(&["recrypt"])] {
        let (mut setup, offer) = offered(wish);
        let accept = answered().with("OSRTP", list(&["accept"]));
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), accept);
        let [to_a] = cryptos(&answer).try_into().expect("one key");
        let [from_a, from_b] = [&answer, &offer].map(|sdp| setup.entries[&local(sdp)].clone());
        assert_eq!(from_a.ingress_protection, key(&format!("1 {CM_80}")));
        assert_eq!(from_a.rtp.expect("a way").egress_protection, Keys::Clear);
        assert_eq!(from_a.rtcp, None, "a key opens RTCP at one port");
        assert_eq!(from_b.ingress_protection, Keys::Clear);
        assert_eq!(from_b.rtp.expect("a way").egress_protection, key(to_a));
    }
    let mut setup = Setup::certified(vec![interface("default", "127.0.0.1", 40_000..=40_999)]);
    let offer = phone("192.0.2.1", 6004) + FINGERPRINT;
    setup.describe("offer", &offer, Dictionary::default());
    let accept = answered().with("OSRTP", list(&["accept"]));
    let answer = setup.describe("answer", &phone("192.0.2.2", 6000), accept);
    assert!(
        answer.contains("a=fingerprint:sha-256 07:07:") && answer.contains("a=setup:passive\r\n"),
        "{answer}"
    );
    let from_a = &setup.entries[&local(&answer)];
    assert!(matches!(from_a.ingress_protection, Keys::Dtls { .. }), "{from_a:?}");
}
