//! Malformed requests, and the replies to them.

use sip::ng::value::Dictionary;
use sip::{Counter, Request};

use crate::support::*;

#[test]
fn datagrams_without_a_cookie_are_not_answered() {
    let mut setup = Setup::new();
    let long = [&[b'x'; 300][..], b" d7:command4:pinge"].concat();
    for message in [&b""[..], b"nocookie", b" d7:command4:pinge", &long, &[0xff; 40]] {
        assert_eq!(setup.say(Request::Ng { from: None, message }), None);
        assert_eq!(setup.say(Request::Rtpproxy { from: None, message }), None);
    }
    assert_eq!(setup.count(Counter::CookieMissing), 10);
}

#[test]
fn malformed_requests_are_refused_as_rtpengine_refuses_them() {
    let mut setup = Setup::new();
    let refusals = [
        ("1 ", "Invalid data (no payload)"),
        ("2 x", "Invalid NG data format"),
        ("3 d1:a", "Could not decode bencode dictionary"),
        ("4 d7:command4:ping", "Could not decode bencode dictionary"),
        ("5 dd", "Could not decode bencode dictionary"),
        ("6 de", "Dictionary contains no key \"command\""),
        ("7 d7:commandi5ee", "Dictionary contains no key \"command\""),
    ];
    for (message, expected) in refusals {
        let reply = setup
            .say(Request::Ng {
                from: None,
                message: message.as_bytes(),
            })
            .expect("an answer");
        let cookie = &message[..1];
        let expected = format!("{cookie} d6:result5:error12:error-reason{}:{expected}e", expected.len());
        assert_eq!(String::from_utf8_lossy(&reply), expected, "{message}");
    }
    let reply = setup.say(Request::NgPlain(b"{\"command\"")).expect("an answer");
    assert_eq!(
        reply,
        br#"{"result":"error","error-reason":"Failed to parse JSON document"}"#
    );
    assert_eq!(
        (
            setup.count(Counter::NgMalformed),
            setup.count(Counter::NgIncomplete),
            setup.count(Counter::Errors)
        ),
        (6, 2, 8)
    );
}

#[test]
fn a_refusal_names_the_missing_key() {
    let mut setup = Setup::new();
    let phone = phone("192.0.2.1", 6004);
    let command = |name: &str| Dictionary::default().with("command", name);
    let refusals = [
        (command("offer"), "No SDP body in message"),
        (command("offer").with("sdp", phone.as_str()), "No call-id in message"),
        (
            command("offer").with("sdp", phone.as_str()).with("call-id", "c"),
            "No from-tag in message",
        ),
        (
            request("answer", Some(&phone), Dictionary::default()),
            "No to-tag in message",
        ),
        (request("answer", Some(&phone), answered()), "Unknown call-id"),
        (
            request("offer", Some("hello"), Dictionary::default()),
            "Failed to parse SDP",
        ),
        (
            request("offer", Some("v=0\r\nm=audio 4 RTP/AVP 0\r\n"), Dictionary::default()),
            "Incomplete SDP specification",
        ),
        (
            request(
                "offer",
                Some(&phone),
                Dictionary::default().with("call-id", "x".repeat(513)),
            ),
            "Name too long",
        ),
        (command("query"), "No call-id in message"),
        (command("delete"), "No call-id in message"),
        (command("list").with("limit", "-1"), "invalid limit, must be >= 0"),
    ];
    for (request, expected) in refusals {
        assert_eq!(reason(&setup.ask(request)), expected);
    }
    assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0));
    assert_eq!(
        (setup.count(Counter::SdpMalformed), setup.count(Counter::SdpNoAddress)),
        (1, 1)
    );
}

#[test]
fn a_name_instead_of_an_address_needs_to_come_from_somewhere() {
    let mut setup = Setup::new();
    let named = phone("192.0.2.1", 6004).replace("c=IN IP4 192.0.2.1", "c=IN IP4 phone.example");
    let from = Dictionary::default().with("received-from", list(&["IP4", "192.0.2.7"]));
    let offer = setup.describe("offer", &named, from);
    assert!(offer.contains("c=IN IP4 127.0.0.1\r\n"), "{offer}");
}

#[test]
fn a_description_without_addresses_gets_ours() {
    let mut setup = Setup::new();
    let from = Dictionary::default().with("received-from", list(&["IP4", "192.0.2.7"]));
    let offer = setup.describe("offer", "v=0\r\nm=audio 6004 RTP/AVP 0\r\na=x\r\n", from);
    assert_eq!(local(&offer).ip(), ip("127.0.0.1"), "{offer}");
}

#[test]
fn more_parties_than_a_call_can_have_are_refused() {
    let mut setup = Setup::new();
    for branch in 0..16 {
        setup.describe(
            "offer",
            &phone("192.0.2.1", 6004),
            Dictionary::default().with("via-branch", branch.to_string()),
        );
    }
    let more = Dictionary::default().with("via-branch", "one more");
    assert_eq!(
        reason(&setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), more))),
        "Parallel session limit reached"
    );
    assert_eq!((setup.count(Counter::DialoguesFull), setup.relay.port_pairs()), (1, 32));
}
