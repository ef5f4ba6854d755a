//! A change that is refused or never answered changes nothing (RFC 3261 section 14.1).

use sip::ng::value::Dictionary;

use crate::support::*;

const FINGERPRINT: &str = "a=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n";
const CRYPTO: &str = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
const OTHER_CRYPTO: &str = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n";
const ICE: &str = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n";

fn setup() -> Setup {
    Setup::certified(vec![
        interface("default", "127.0.0.1", 40_000..=40_999),
        interface("other", "127.0.0.2", 40_000..=40_999),
    ])
}

fn b(sections: &str) -> String {
    described("192.0.2.2", sections)
}

fn change() -> Dictionary {
    Dictionary::default().with("from-tag", "b").with("to-tag", "a")
}

/// Every kind of change by the party `b` of a call, with its flags.
fn changes() -> Vec<(String, Dictionary)> {
    let audio = "m=audio 6000 RTP/AVP 0\r\n";
    let plain = [
        b("m=audio 0 RTP/AVP 0\r\nm=image 6010 udptl t38\r\n"),
        b("m=image 6010 udptl t38\r\n"),
        b("m=audio 0 RTP/AVP 0\r\n"),
        b(&format!("{audio}a=inactive\r\n")),
        b(&format!("{audio}a=sendonly\r\n")),
        described("0.0.0.0", audio),
        phone("192.0.2.2", 6100),
        phone("192.0.2.9", 6000),
        phone("2001:db8::2", 6000).replace("IP4", "IP6"),
        b("m=audio 6000 RTP/AVP 8\r\n"),
        b(&format!("{audio}m=video 6010 RTP/AVP 34\r\n")),
        b(&format!("{audio}a=rtcp-mux\r\n")),
        b(&format!("{audio}a=rtcp:7000\r\n")),
        b(&format!("{audio}{ICE}")),
        b(&format!("m=audio 6000 RTP/SAVP 0\r\n{CRYPTO}")),
        b(&format!(
            "m=audio 6000 UDP/TLS/RTP/SAVPF 0\r\n{FINGERPRINT}a=setup:actpass\r\n{ICE}"
        )),
        b("m=audio 6000 RTP/AVPF 0\r\n"),
    ];
    let mut changes: Vec<_> = plain.into_iter().map(|sdp| (sdp, change())).collect();
    let audio = || b(audio);
    for flag in ["reset", "asymmetric", "strict-source", "media-handover"] {
        changes.push((audio(), flags(&[flag]).with("from-tag", "b").with("to-tag", "a")));
    }
    for (key, value) in [
        ("transport-protocol", "RTP/SAVP"),
        ("ICE", "force"),
        ("TOS", "184"),
        ("to-interface", "other"),
    ] {
        changes.push((audio(), change().with(key, value)));
    }
    changes
}

#[test]
fn an_offer_alone_changes_nothing_that_is_relayed() {
    for (sdp, more) in changes() {
        let mut setup = setup();
        setup.call();
        let before = (setup.entries.clone(), setup.relay.port_pairs());
        // A section that is added may have early media.
        let agreed = |setup: &Setup| {
            let mut entries = setup.entries.clone();
            entries.retain(|at, _| before.0.contains_key(at));
            entries
        };
        let offer = setup.describe("offer", &sdp, more.clone());
        assert_eq!(agreed(&setup), before.0, "{sdp}{more:?}");
        assert_eq!(setup.describe("offer", &sdp, more.clone()), offer, "it comes again");
        // Time passes, and both parties go on.
        setup.pass(std::time::Duration::from_secs(4));
        assert_eq!(agreed(&setup), before.0, "{sdp}{more:?}");
        // The next offer is about the call as it was, and so is what is left of the refused one.
        setup.describe("offer", &phone("192.0.2.2", 6000), change());
        setup.describe("answer", &phone("192.0.2.1", 6004), change());
        assert_eq!(setup.relay.port_pairs(), before.1, "{sdp}{more:?}");
        let settled = |setup: &Setup| -> Vec<_> {
            let entries = setup.entries.values();
            entries
                .map(|entry| {
                    (
                        entry.at,
                        entry.rtp.clone(),
                        entry.rtcp.clone(),
                        entry.ingress_protection.clone(),
                    )
                })
                .collect()
        };
        let unchanged: Vec<_> = before
            .0
            .values()
            .map(|entry| {
                (
                    entry.at,
                    entry.rtp.clone(),
                    entry.rtcp.clone(),
                    entry.ingress_protection.clone(),
                )
            })
            .collect();
        assert_eq!(settled(&setup), unchanged, "{sdp}{more:?}");
        setup.ask(request("delete", None, Dictionary::default().with("delete-delay", "0")));
        assert_eq!(setup.relay.port_pairs(), 0, "{sdp}{more:?}");
    }
}

#[test]
fn keys_and_ice_stay_as_they_were_agreed() {
    let secure = |address: &str, crypto: &str, ice: &str| {
        described(address, &format!("m=audio 6000 RTP/SAVP 0\r\n{crypto}{ice}"))
    };
    let towards = Dictionary::default()
        .with("transport-protocol", "RTP/AVP")
        .with("ICE", "remove");
    let mut setup = setup();
    let offer = setup.describe("offer", &secure("192.0.2.1", CRYPTO, ICE), towards.clone());
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let before = setup.entries.clone();
    for sdp in [
        secure("192.0.2.1", OTHER_CRYPTO, ICE),
        secure("192.0.2.1", CRYPTO, &ICE.replace("abcd", "efgh")),
        phone("192.0.2.1", 6000),
    ] {
        let again = setup.describe("offer", &sdp, towards.clone().with("to-tag", "b"));
        assert_eq!((&setup.entries, local(&again)), (&before, local(&offer)), "{sdp}");
    }
    // Answered, it is done.
    setup.describe(
        "offer",
        &secure("192.0.2.1", OTHER_CRYPTO, ICE),
        towards.with("to-tag", "b"),
    );
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_ne!(setup.entries, before);
}

#[test]
fn a_refused_description_changes_nothing_either() {
    let mut setup = setup();
    setup.call();
    let before = (setup.entries.clone(), setup.relay.port_pairs());
    for sdp in [
        b("m=audio 6100 RTP/AVP 0\r\nm=video 6010 RTP/AVP 34\r\nc=IN IP4 224.0.0.1\r\n"),
        b("m=audio 6100 RTP/AVP 0\r\nm=video 6010 RTP/SAVP 34\r\n"),
    ] {
        let more = change().with("transport-protocol", "RTP/AVP");
        let reply = setup.ask(request("offer", Some(&sdp), more));
        assert_eq!(reply.text("result"), Some(&b"error"[..]), "{sdp}");
        assert_eq!(
            (&setup.entries, setup.relay.port_pairs()),
            (&before.0, before.1),
            "{sdp}"
        );
    }
    // An answer that cannot be used leaves the offer open to another.
    setup.describe("offer", &phone("192.0.2.2", 6100), change());
    let reply = setup.ask(request("answer", Some(&phone("224.0.0.1", 6004)), change()));
    assert_eq!(reply.text("result"), Some(&b"error"[..]));
    assert_eq!(setup.entries, before.0);
    setup.describe("answer", &phone("192.0.2.1", 6004), change());
    let mut hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
    assert!(hops.any(|hop| hop.to == at("192.0.2.2:6100")));
}

#[test]
fn addresses_learned_meanwhile_count() {
    let mut setup = setup();
    let [facing_a, _] = setup.call();
    setup.describe("offer", &phone("192.0.2.2", 6100), change());
    setup.source(local(&facing_a), "198.51.100.7:6004");
    let is_followed = |setup: &Setup| {
        let mut hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
        hops.any(|hop| hop.to == at("198.51.100.7:6004"))
    };
    assert!(is_followed(&setup));
    setup.describe("answer", &phone("192.0.2.1", 6004), change());
    assert!(is_followed(&setup));
}

#[test]
fn rtpproxys_offers_wait_for_their_answer_too() {
    let mut setup = setup();
    setup.line("U c 192.0.2.1 6004 a;1");
    setup.line("L c 192.0.2.2 6000 a;1 b;1");
    let before = setup.entries.clone();
    setup.line("U c 192.0.2.9 6100 b;1 a;1");
    assert_eq!(setup.entries, before);
    setup.line("L c 192.0.2.1 6004 b;1 a;1");
    let mut hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
    assert!(hops.any(|hop| hop.to == at("192.0.2.9:6100")));
}

#[test]
fn an_answer_of_rtpproxys_is_about_its_section() {
    let mut setup = Setup::new();
    let sections = |setup: &mut Setup, command: &str, port: u16, tags: [&str; 2]| {
        [1, 2].map(|section| {
            let [from, to] = tags.map(|tag| format!("{tag};{section}"));
            setup.line(&format!("{command} c 192.0.2.1 {} {from} {to}", port + 10 * section))
        })
    };
    sections(&mut setup, "U", 6000, ["a", "b"]);
    sections(&mut setup, "L", 7000, ["a", "b"]);
    let towards = |setup: &Setup, port: u16| {
        let mut hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
        hops.any(|hop| hop.to.port() == port)
    };
    assert!([6010, 6020, 7010, 7020].iter().all(|port| towards(&setup, *port)));
    // Refused by the other party, which the proxy does not report.
    setup.line("U c 192.0.2.1 6500 a;1 b;1");
    // Another change is accepted.
    setup.line("U c 192.0.2.1 6600 a;2 b;2");
    setup.line("L c 192.0.2.1 7020 a;2 b;2");
    assert!(!towards(&setup, 6500), "nobody has accepted it");
    assert!([6010, 6600, 7010, 7020].iter().all(|port| towards(&setup, *port)));
    // The next one of the first section begins with what was agreed.
    setup.line("U c 192.0.2.1 6700 a;1 b;1");
    setup.line("L c 192.0.2.1 7010 a;1 b;1");
    assert!([6700, 6600, 7010, 7020].iter().all(|port| towards(&setup, *port)));
    setup.line("D c a b");
    setup.pass(std::time::Duration::from_secs(60));
    assert_eq!(setup.relay.port_pairs(), 0);
}
