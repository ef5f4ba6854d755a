//! Offers to several parties without a branch of their own.

use sip::ng::value::Dictionary;

use crate::support::*;

const FINGERPRINT: &str = "a=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n";
const KINDS: [&str; 3] = ["RTP/AVP", "RTP/SAVP", "UDP/TLS/RTP/SAVPF"];

fn setup() -> Setup {
    Setup::certified(vec![interface("default", "127.0.0.1", 40_000..=40_999)])
}

fn towards(protocol: &str) -> Dictionary {
    let more = Dictionary::default().with("transport-protocol", protocol);
    if protocol.contains("TLS") {
        more.with("ICE", "force")
    } else {
        more.with("ICE", "remove")
    }
}

/// A description with that protocol, with the key in `offer` answered where it has one.
fn party(address: &str, protocol: &str, offer: Option<&str>) -> String {
    let crypto = || match offer {
        Some(offer) => {
            let line = offer
                .lines()
                .find(|line| line.contains("AES_CM_128_HMAC_SHA1_80"))
                .expect("a key");
            format!("{line}\r\n")
        }
        None => "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n".to_owned(),
    };
    let lines = match protocol {
        "RTP/AVP" => String::new(),
        "RTP/SAVP" => crypto(),
        _ => {
            let setup = if offer.is_some() { "active" } else { "actpass" };
            format!(
                "{FINGERPRINT}a=setup:{setup}\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=rtcp-mux\r\n"
            )
        }
    };
    described(address, &format!("m=audio 6000 {protocol} 0\r\n{lines}"))
}

#[test]
fn an_answer_is_to_the_offer_with_its_protocol() {
    for caller in KINDS {
        for callee in KINDS {
            let mut setup = setup();
            let offer = party("192.0.2.1", caller, None);
            let offers = KINDS.map(|kind| setup.describe("offer", &offer, towards(kind)));
            let nth = KINDS.iter().position(|kind| *kind == callee).expect("one of them");
            // Asked again, each is the same.
            assert_eq!(setup.describe("offer", &offer, towards(callee)), offers[nth]);
            let answer = party("192.0.2.2", callee, Some(&offers[nth]));
            let answer = setup.describe("answer", &answer, towards(caller).with("to-tag", "b"));
            assert!(
                answer.contains(&format!(" {caller} 0")),
                "{caller} to {callee}: {answer}"
            );
            assert_eq!(
                answer.contains("a=crypto"),
                caller == "RTP/SAVP",
                "{caller} to {callee}: {answer}"
            );
            assert_eq!(
                answer.contains("a=fingerprint"),
                caller.contains("TLS"),
                "{caller} to {callee}: {answer}"
            );
            let to = at("192.0.2.2:6000");
            let hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
            assert!(hops.into_iter().any(|hop| hop.to == to), "{caller} to {callee}");
        }
    }
}

#[test]
fn a_second_answer_is_to_its_own_offer() {
    let mut setup = setup();
    let offer = party("192.0.2.1", "RTP/AVP", None);
    let offers = KINDS.map(|kind| setup.describe("offer", &offer, towards(kind)));
    for (tag, nth) in [("x", 2), ("y", 0), ("z", 1), ("y", 0)] {
        let answer = party("192.0.2.2", KINDS[nth], Some(&offers[nth]));
        setup.describe("answer", &answer, towards("RTP/AVP").with("to-tag", tag));
    }
    assert_eq!(setup.relay.port_pairs(), 6);
    setup.ask(request("delete", None, Dictionary::default().with("delete-delay", "0")));
    assert_eq!(setup.relay.port_pairs(), 0);
}

#[test]
fn an_offer_without_flags_and_tag_in_an_answered_call_changes_it() {
    let with_ice = |ufrag: &str| {
        let lines = format!("m=audio 6000 RTP/AVP 0\r\na=ice-ufrag:{ufrag}\r\na=ice-pwd:0123456789012345678901\r\n");
        described("192.0.2.1", &lines)
    };
    let mut setup = setup();
    let answered_to = |setup: &mut Setup| setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    let credentials = |answer: &str| {
        answer
            .lines()
            .find(|line| line.starts_with("a=ice-ufrag"))
            .map(str::to_owned)
    };
    let to_phone = setup.describe("offer", &with_ice("abcd"), Dictionary::default().with("ICE", "remove"));
    let before = answered_to(&mut setup);
    let again = setup.describe("offer", &with_ice("efgh"), Dictionary::default());
    assert!(!again.contains("a=ice-ufrag"), "the phone stays without ICE: {again}");
    assert_eq!(local(&again), local(&to_phone));
    let after = answered_to(&mut setup);
    assert_eq!(local(&after), local(&before));
    assert!(
        credentials(&before).is_some() && credentials(&before) != credentials(&after),
        "ICE restarts: {after}"
    );
}
