//! The lines of flags that proxies in the field send.
//!
//! Each configuration has a line for what goes to a browser, or to a phone with SRTP, and one for
//! what goes to a plain phone, in offers and in answers.

use sip::ng::value::Dictionary;

use crate::support::*;

const FINGERPRINT: &str = "a=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n";

/// The kind of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Browser,
    Secure,
    Plain,
}
use Party::{Browser, Plain, Secure};

/// A configuration: its parties, the flags of offers to each, and those of answers to each.
struct Proxy {
    name: &'static str,
    parties: [Party; 2],
    offers: [&'static str; 2],
    answers: [&'static str; 2],
}

const PROXIES: [Proxy; 9] = [
    Proxy {
        name: "a phone behind a NAT",
        parties: [Plain, Plain],
        offers: ["replace-origin replace-session-connection ICE=remove"; 2],
        answers: ["replace-origin replace-session-connection ICE=remove"; 2],
    },
    Proxy {
        name: "nothing but addresses",
        parties: [Plain, Plain],
        offers: ["trust-address replace-origin replace-session-connection"; 2],
        answers: [""; 2],
    },
    Proxy {
        name: "WebSocket to SIP by transport",
        parties: [Browser, Plain],
        offers: [
            "UDP/TLS/RTP/SAVPF ICE=force rtcp-mux-offer",
            "RTP/AVP replace-session-connection replace-origin ICE=remove",
        ],
        answers: [
            "UDP/TLS/RTP/SAVPF ICE=force rtcp-mux-accept",
            "RTP/AVP replace-session-connection replace-origin ICE=remove",
        ],
    },
    Proxy {
        name: "a passive handshake",
        parties: [Browser, Plain],
        offers: [
            "RTP/SAVPF replace-origin replace-session-connection ICE=force DTLS=passive rtcp-mux-offer",
            "RTP/AVP replace-origin replace-session-connection ICE=remove DTLS=off",
        ],
        answers: [
            "RTP/SAVPF replace-origin replace-session-connection ICE=force DTLS=passive",
            "RTP/AVP replace-origin replace-session-connection ICE=remove DTLS=off",
        ],
    },
    Proxy {
        name: "a contact centre",
        parties: [Browser, Plain],
        offers: [
            "UDP/TLS/RTP/SAVPF ICE=force rtcp-mux-require SDES-off DTLS=passive generate-mid replace-origin trust-address direction=int direction=pub",
            "RTP/AVP ICE=remove rtcp-mux-demux SDES-off DTLS=off DTLS-reverse=passive replace-origin trust-address direction=pub direction=int",
        ],
        answers: [
            "UDP/TLS/RTP/SAVPF ICE=force rtcp-mux-require SDES-off DTLS=passive replace-origin trust-address",
            "RTP/AVP ICE=remove rtcp-mux-demux SDES-off DTLS=off replace-origin trust-address",
        ],
    },
    Proxy {
        name: "keys and values",
        parties: [Browser, Plain],
        offers: [
            "transport-protocol=UDP/TLS/RTP/SAVPF ICE=force trickle-ICE rtcp-mux=[offer require] no-rtcp-attribute SDES=off generate-mid",
            "transport-protocol=RTP/AVP replace-origin replace-session-connection ICE=remove rtcp-mux-demux DTLS=off SDES=off direction=pub direction=int",
        ],
        answers: [
            "transport-protocol=UDP/TLS/RTP/SAVPF ICE=force rtcp-mux=[accept] SDES=off",
            "transport-protocol=RTP/AVP replace-origin replace-session-connection ICE=remove rtcp-mux-demux DTLS=off SDES=off",
        ],
    },
    Proxy {
        name: "one word for browsers",
        parties: [Browser, Plain],
        offers: [
            "WebRTC replace-origin direction=int direction=pub",
            "RTP/AVP ICE=remove rtcp-mux-demux replace-origin direction=pub direction=int",
        ],
        answers: [
            "WebRTC replace-origin",
            "RTP/AVP ICE=remove rtcp-mux-demux replace-origin",
        ],
    },
    Proxy {
        name: "a trunk with keys",
        parties: [Secure, Plain],
        offers: [
            "RTP/SAVP replace-origin replace-session-connection ICE=remove rtcp-mux-offer",
            "RTP/AVP replace-origin replace-session-connection ICE=remove rtcp-mux-demux",
        ],
        answers: [
            "RTP/SAVP replace-origin replace-session-connection ICE=remove rtcp-mux-offer",
            "RTP/AVP replace-origin replace-session-connection ICE=remove rtcp-mux-demux",
        ],
    },
    Proxy {
        name: "two networks",
        parties: [Plain, Plain],
        offers: [
            "direction=int direction=pub replace-origin replace-session-connection ICE=remove RTP/AVP SIP-source-address",
            "direction=pub direction=int replace-origin replace-session-connection ICE=remove RTP/AVP",
        ],
        answers: ["replace-origin replace-session-connection ICE=remove RTP/AVP"; 2],
    },
];

fn setup() -> Setup {
    Setup::certified(vec![
        interface("int", "127.0.0.1", 40_000..=40_999),
        interface("pub", "127.0.0.2", 40_000..=40_999),
    ])
}

fn with(flags: &str) -> Dictionary {
    Dictionary::default()
        .with("rtpp-flags", flags)
        .with("received-from", list(&["IP4", "192.0.2.9"]))
}

/// The description of such a party, which answers where there is an offer.
fn describes(party: Party, address: &str, offer: Option<&str>) -> String {
    let line = |start: &str| offer.and_then(|offer| offer.lines().find(|line| line.starts_with(start)));
    let mid = line("a=mid:").map_or_else(|| "a=mid:0\r\n".to_owned(), |mid| format!("{mid}\r\n"));
    let protocol = line("m=audio").and_then(|line| line.split(' ').nth(2));
    let lines = match party {
        Plain => return phone(address, 6000),
        Secure => {
            let mut keys = offer.into_iter().flat_map(str::lines);
            let key = keys.find(|line| line.contains("AES_CM_128_HMAC_SHA1_80"));
            let key =
                key.unwrap_or("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz");
            format!("m=audio 6000 {} 0\r\n{key}\r\n", protocol.unwrap_or("RTP/SAVP"))
        }
        Browser => {
            let setup = if offer.is_some() { "active" } else { "actpass" };
            let protocol = protocol.unwrap_or("UDP/TLS/RTP/SAVPF");
            format!(
                "m=audio 6000 {protocol} 0\r\n{FINGERPRINT}a=setup:{setup}\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=rtcp-mux\r\n{mid}"
            )
        }
    };
    described(address, &lines)
}

/// The faults of a description for such a party, with these flags.
fn faults(party: Party, sdp: &str, flags: &str, is_offer: bool) -> Vec<String> {
    let has = |what: &str| sdp.contains(what);
    let is_secure = party != Plain;
    let mut faults = Vec::new();
    let mut must = |claim: &str, holds: bool| {
        if !holds {
            faults.push(claim.to_owned());
        }
    };
    must("our address", local(sdp).ip().is_loopback());
    must("the protocol", has(" RTP/AVP ") != is_secure);
    must("ICE", has("a=ice-ufrag") == (party == Browser));
    must("candidates", has("a=candidate") == (party == Browser));
    must(
        "a certificate",
        has("a=fingerprint") == (party == Browser) || party == Secure && is_offer,
    );
    must(
        "keys",
        has("a=crypto") == (party == Secure) || party == Browser && is_offer,
    );
    let says = |words: [&str; 4]| words.iter().any(|word| flags.contains(word));
    let mux = ["mux-offer", "mux-require", "mux-accept", "WebRTC"];
    must(
        "one port",
        has("a=rtcp-mux") || party != Browser || is_offer && !says(mux) || !is_offer && !flags.contains("accept"),
    );
    must("two ports", !has("a=rtcp-mux") || !flags.contains("demux"));
    faults
}

#[test]
fn a_line_of_flags_does_what_its_proxy_wants() {
    for Proxy {
        name,
        parties,
        offers,
        answers,
    } in PROXIES
    {
        for caller in [0, 1] {
            let callee = 1 - caller;
            let mut setup = setup();
            let offer = describes(parties[caller], "192.0.2.1", None);
            let to_callee = setup.describe("offer", &offer, with(offers[callee]));
            assert_eq!(
                faults(parties[callee], &to_callee, offers[callee], true),
                [""; 0],
                "{name}, {caller} calls: {to_callee}"
            );
            let answer = describes(parties[callee], "192.0.2.2", Some(&to_callee));
            let to_caller = setup.describe("answer", &answer, with(answers[caller]).with("to-tag", "b"));
            assert_eq!(
                faults(parties[caller], &to_caller, answers[caller], false),
                [""; 0],
                "{name}, {caller} calls: {to_caller}"
            );
            let towards = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
            assert_eq!(towards.count(), 2, "{name}, {caller} calls: both ways are relayed");
            assert_eq!(setup.undone, [""; 0], "{name}: every flag is known");
        }
    }
}

#[test]
fn a_call_forks_to_both_parties_of_a_proxy_without_branches() {
    // Parties of one kind cannot be told apart by their answers.
    for Proxy {
        name,
        parties,
        offers,
        answers,
    } in PROXIES.into_iter().filter(|proxy| proxy.parties[0] != proxy.parties[1])
    {
        for (caller, callee) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut setup = setup();
            let offer = describes(parties[caller], "192.0.2.1", None);
            let forks = [0, 1].map(|end| setup.describe("offer", &offer, with(offers[end])));
            let answer = describes(parties[callee], "192.0.2.2", Some(&forks[callee]));
            let to_caller = setup.describe("answer", &answer, with(answers[caller]).with("to-tag", "b"));
            let what = format!("{name}, {caller} calls both and {callee} answers");
            if parties[caller] != parties[callee] {
                assert_eq!(
                    faults(parties[caller], &to_caller, answers[caller], false),
                    [""; 0],
                    "{what}: {to_caller}"
                );
            }
            let from = local(&forks[callee]);
            let hops = setup.entries.values().filter_map(|entry| entry.rtp.as_ref());
            let to = at("192.0.2.2:6000");
            let mut to_callee = hops.filter(|hop| hop.to == to).map(|hop| hop.from);
            assert_eq!(to_callee.next(), Some(from), "{what}");
            // A change of the call without flags is about the party that answered.
            let again = offer.replace("2353687637", "2353687638");
            let change = setup.describe("offer", &again, Dictionary::default());
            assert_eq!(local(&change), from, "{what}, and changes");
        }
    }
}

#[test]
fn the_names_of_a_request_are_read_in_every_spelling() {
    let mut setup = Setup::new();
    for [call, from, to, sdp] in [
        ["call-id", "from-tag", "to-tag", "sdp"],
        ["call-ID", "from tag", "to_tag", "SDP"],
        ["Call ID", "From-Tag", "to tag", "Sdp"],
    ] {
        let names = Dictionary::default().with(call, "c").with(from, "a");
        let offer = names
            .clone()
            .with("command", "offer")
            .with(sdp, &*phone("192.0.2.1", 6004));
        assert_eq!(setup.ask(offer).text("result"), Some(&b"ok"[..]));
        let answer = names.clone().with("command", "answer").with(to, "b");
        assert_eq!(
            setup.ask(answer.with(sdp, &*phone("192.0.2.2", 6000))).text("result"),
            Some(&b"ok"[..])
        );
        let reply = setup.ask(names.with("command", "delete"));
        assert_eq!(reply.value("warning"), None, "{sdp}");
        setup.pass(std::time::Duration::from_secs(31));
    }
}
