//! Sections that are refused, added, used again, or not relayed.

mod mids;

use sip::Counter;
use sip::ng::value::Dictionary;

use crate::support::*;

fn again() -> Dictionary {
    Dictionary::default().with("to-tag", "b")
}

/// The `m=` lines, without ports but for zero.
fn media(sdp: &str) -> Vec<String> {
    let lines = sdp.lines().filter_map(|line| line.strip_prefix("m="));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(
                words.len() >= 4 && words.iter().all(|word| !word.is_empty()),
                "whole: {line}"
            );
            let port = if words[1] == "0" { "0" } else { "P" };
            [&words[..1], &[port], &words[2..]].concat().join(" ")
        })
        .collect()
}

fn a(sections: &str) -> String {
    described("192.0.2.1", sections)
}

fn b(sections: &str) -> String {
    described("192.0.2.2", sections)
}

#[test]
fn a_section_refused_in_the_offer_is_refused_in_the_answer() {
    let mut setup = Setup::new();
    let offer = a("m=audio 6004 RTP/AVP 8\r\nm=video 0 RTP/AVP 100\r\n");
    let offer = setup.describe("offer", &offer, Dictionary::default());
    assert_eq!(media(&offer), ["audio P RTP/AVP 8", "video 0 RTP/AVP 100"]);
    let answer = b("m=audio 6000 RTP/AVP 8\r\nm=video 6008 RTP/AVP 100\r\na=rtpmap:100 H261/90000\r\n");
    let answer = setup.describe("answer", &answer, answered());
    assert_eq!(media(&answer), ["audio P RTP/AVP 8", "video 0 RTP/AVP 100"]);
    assert_eq!(
        (setup.relay.port_pairs(), setup.count(Counter::SectionNotRelayed)),
        (2, 1)
    );
}

#[test]
fn refused_sections_have_the_offerers_protocol() {
    let mut setup = Setup::new();
    let offer = a("m=audio 6004 RTP/AVP 8\r\nm=video 6008 RTP/AVP 100\r\n");
    let towards = Dictionary::default().with("transport-protocol", "RTP/SAVP");
    let offer = setup.describe("offer", &offer, towards);
    assert_eq!(media(&offer), ["audio P RTP/SAVP 8", "video P RTP/SAVP 100"]);
    let answer = setup.describe(
        "answer",
        &b("m=audio 0 RTP/SAVP 8\r\nm=video 0 RTP/SAVP\r\n"),
        answered(),
    );
    assert_eq!(media(&answer), ["audio 0 RTP/AVP 8", "video 0 RTP/AVP 100"]);
}

#[test]
fn an_answer_has_as_many_sections_as_the_offer() {
    let mut setup = Setup::new();
    let offer = a("m=audio 6004 RTP/AVP 8\r\nm=video 6008 RTP/AVP 100 34\r\nm=image 6010 udptl t38\r\n");
    setup.describe("offer", &offer, Dictionary::default());
    let answer = setup.describe("answer", &b("m=audio 6000 RTP/AVP 8\r\n"), answered());
    assert_eq!(
        media(&answer),
        ["audio P RTP/AVP 8", "video 0 RTP/AVP 100", "image 0 udptl t38"]
    );

    let mut setup = Setup::new();
    setup.describe("offer", &a("m=audio 6004 RTP/AVP 8\r\n"), Dictionary::default());
    let answer = b("m=audio 6000 RTP/AVP 8\r\nm=video 6008 RTP/AVP 100\r\na=sendonly\r\n");
    let answer = setup.describe("answer", &answer, answered());
    assert_eq!(media(&answer), ["audio P RTP/AVP 8"]);
    assert!(!answer.contains("sendonly"), "{answer}");
    assert_eq!(
        (setup.relay.port_pairs(), setup.count(Counter::SectionNotRelayed)),
        (2, 1)
    );
}

#[test]
fn an_answer_of_another_kind_is_refused() {
    let mut setup = Setup::new();
    let offer = a("m=audio 6004 RTP/AVP 8\r\nm=video 6008 RTP/AVP 100\r\n");
    setup.describe("offer", &offer, Dictionary::default());
    let answer = b("m=audio 6000 RTP/AVP 8\r\nm=image 6008 udptl t38\r\n");
    let answer = setup.describe("answer", &answer, answered());
    assert_eq!(media(&answer), ["audio P RTP/AVP 8", "video 0 RTP/AVP t38"]);
}

#[test]
fn a_section_comes_goes_and_comes_again() {
    let mut setup = Setup::new();
    let with = |video: u16| a(&format!("m=audio 6004 RTP/AVP 8\r\nm=video {video} RTP/AVP 100\r\n"));
    let answer = |video: u16| b(&format!("m=audio 6000 RTP/AVP 8\r\nm=video {video} RTP/AVP 100\r\n"));
    setup.call();
    for (port, pairs, entries) in [(6008, 4, 8), (0, 2, 4), (6012, 4, 8)] {
        let offer = setup.describe("offer", &with(port), again());
        setup.describe("answer", &answer(port), answered());
        assert_eq!(
            (setup.relay.port_pairs(), setup.entries.len()),
            (pairs, entries),
            "{offer}"
        );
    }
    let hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
    assert!(hops.into_iter().any(|hop| hop.to == at("192.0.2.1:6012")));
}

#[test]
fn a_call_becomes_a_fax_and_a_call_again() {
    let mut setup = Setup::new();
    let offered = a(
        "m=audio 6004 RTP/SAVP 8\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n",
    );
    let plain = Dictionary::default().with("transport-protocol", "RTP/AVP");
    let first = setup.describe("offer", &offered, plain.clone());
    setup.describe("answer", &b("m=audio 6000 RTP/AVP 8\r\n"), answered());
    assert_eq!(setup.entries.len(), 4);

    let fax = setup.describe("offer", &a("m=image 6006 udptl t38\r\n"), again());
    assert_eq!(media(&fax), ["image P udptl t38"]);
    let answer = setup.describe("answer", &b("m=image 6002 udptl t38\r\n"), answered());
    assert!(!answer.contains("a=rtcp") && !answer.contains("sendrecv"), "{answer}");
    assert_eq!((setup.entries.len(), setup.relay.port_pairs()), (2, 2));
    assert!(
        setup
            .entries
            .values()
            .all(|entry| entry.ingress_protection == southbound::relay::Keys::Clear)
    );

    let back = setup.describe("offer", &offered, plain.with("to-tag", "b"));
    setup.describe("answer", &b("m=audio 6000 RTP/AVP 8\r\n"), answered());
    assert_eq!((setup.entries.len(), local(&back)), (4, local(&first)));
}

#[test]
fn sections_over_tcp_go_on_as_they_came() {
    let mut setup = Setup::new();
    let msrp = "m=message 2855 TCP/MSRP *\r\na=path:msrp://192.0.2.1:2855/x;tcp\r\n";
    let offer = a(&format!("m=audio 6004 RTP/AVP 0\r\n{msrp}m=image 6012 udptl t38\r\n"));
    let offer = setup.describe("offer", &offer, Dictionary::default());
    assert!(
        offer.contains("m=message 2855 TCP/MSRP *\r\nc=IN IP4 192.0.2.1\r\na=path:msrp://192.0.2.1:2855/x;tcp\r\n"),
        "{offer}"
    );
    let rtcp = offer.lines().filter(|line| line.starts_with("a=rtcp")).count();
    assert_eq!(
        (rtcp, setup.relay.port_pairs()),
        (1, 4),
        "fax has a port, and no RTCP: {offer}"
    );
    let answer = "m=audio 6000 RTP/AVP 0\r\nm=message 2860 TCP/MSRP *\r\nc=IN IP4 192.0.2.9\r\nm=image 0 udptl t38\r\n";
    let answer = setup.describe("answer", &b(answer), answered());
    assert!(
        answer.contains("m=message 2860 TCP/MSRP *\r\nc=IN IP4 192.0.2.9\r\n"),
        "{answer}"
    );
    assert_eq!(media(&answer)[2], "image 0 udptl t38");
    assert_eq!(setup.count(Counter::SectionNotRelayed), 2);
}

#[test]
fn datagrams_of_any_kind_are_relayed() {
    for protocol in ["UDP/BFCP", "UDP/TLS/BFCP", "UDP/DTLS/SCTP", "UDP/TLS/UDPTL", "udptl"] {
        let mut setup = Setup::new();
        let section = |port: u16| format!("m=application {port} {protocol} x\r\na=setup:actpass\r\n");
        let offer = setup.describe(
            "offer",
            &a(&section(6004)),
            Dictionary::default().with("transport-protocol", "RTP/SAVP"),
        );
        assert_eq!(media(&offer), [format!("application P {protocol} x")]);
        setup.describe("answer", &b(&section(6000)), answered());
        assert_eq!((setup.relay.port_pairs(), setup.entries.len()), (2, 2), "{protocol}");
    }
    let mut setup = Setup::new();
    let refused = a("m=application 6004 TCP/BFCP *\r\nm=audio 6006 TCP/RTP/AVP 0\r\n");
    let offer = setup.describe("offer", &refused, Dictionary::default());
    assert_eq!(media(&offer), ["application P TCP/BFCP *", "audio P TCP/RTP/AVP 0"]);
    assert_eq!(setup.relay.port_pairs(), 0);
}

#[test]
fn a_bundle_only_section_is_refused() {
    let mut setup = Setup::new();
    let session = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n";
    let sections = "m=audio 6004 RTP/AVP 8\r\na=mid:0\r\nm=video 0 RTP/AVP 100\r\na=mid:1\r\na=bundle-only\r\n";
    let offer = setup.describe("offer", &format!("{session}{sections}"), Dictionary::default());
    assert_eq!(media(&offer), ["audio P RTP/AVP 8", "video 0 RTP/AVP 100"]);
    assert!(!offer.contains("BUNDLE") && !offer.contains("bundle-only"), "{offer}");
    let answer = b("m=audio 6000 RTP/AVP 8\r\na=mid:0\r\nm=video 6008 RTP/AVP 100\r\na=mid:1\r\n");
    let answer = setup.describe("answer", &answer, answered());
    assert_eq!(media(&answer), ["audio P RTP/AVP 8", "video 0 RTP/AVP 100"]);
    assert_eq!(
        (setup.relay.port_pairs(), setup.count(Counter::SectionNotRelayed)),
        (2, 2)
    );
}

#[test]
fn a_description_without_wanted_media_has_our_address_all_the_same() {
    let mut setup = Setup::new();
    let replace = Dictionary::default().with("replace", list(&["origin", "session-connection"]));
    let sdp = a("m=audio 0 RTP/AVP 8\r\nm=video 0 RTP/AVP 96\r\n");
    let offer = setup.describe("offer", &sdp, replace);
    assert!(!offer.contains("192.0.2.1"), "{offer}");
    assert_eq!(offer.matches("IN IP4 127.0.0.1\r\n").count(), 2, "{offer}");
}
