//! Properties of any history of requests: no port is given twice, none is lost, and a repeated
//! request changes nothing.
//!
//! [`Setup::tell`] checks every output: a port is not opened twice, nothing is forwarded at a
//! closed one, and the ports in use are those that the relay believes to be taken.

use std::time::Duration;

use proptest::prelude::*;
use sip::ng::value::{Dictionary, Value};
use sip::{Config, Request};

use crate::support::*;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// An `ng` request: which command, call, tags, branch, description and wish.
    Ng {
        command: usize,
        call: u8,
        from: usize,
        to: Option<usize>,
        branch: Option<u8>,
        sdp: usize,
        wish: usize,
    },
    /// An rtpproxy command: which, call, tags and section.
    Line {
        command: usize,
        call: u8,
        from: usize,
        to: usize,
        media: u8,
    },
    /// A packet from somewhere at the n-th port in use.
    Packet { nth: usize, port: u16 },
    /// Time passes, in seconds.
    Time(u64),
    /// The process is killed, and another one resumes.
    Killed,
}

const TAGS: [&str; 3] = ["a", "b", "c"];
const COMMANDS: [&str; 5] = ["offer", "offer", "answer", "answer", "delete"];
const LINES: [&str; 8] = ["U", "U", "L", "L", "Uw", "Un", "D", "Dw"];

fn step() -> impl Strategy<Value = Step> {
    let tag = 0..TAGS.len();
    let ng = (
        0..COMMANDS.len(),
        0..3_u8,
        tag.clone(),
        prop::option::of(tag.clone()),
        prop::option::of(0..2_u8),
        0..7_usize,
        0..6_usize,
    );
    let line = (0..LINES.len(), 0..3_u8, tag.clone(), tag, 1..4_u8);
    prop_oneof![
        6 => ng.prop_map(|(command, call, from, to, branch, sdp, wish)| Step::Ng { command, call, from, to, branch, sdp, wish }),
        3 => line.prop_map(|(command, call, from, to, media)| Step::Line { command, call, from, to, media }),
        1 => (0..64_usize, 1..4_u16).prop_map(|(nth, port)| Step::Packet { nth, port }),
        1 => prop_oneof![0..5_u64, 20..100_u64, 3000..4000_u64].prop_map(Step::Time),
        1 => Just(Step::Killed),
    ]
}

fn descriptions() -> [String; 7] {
    let sdes = "m=audio 6004 RTP/SAVP 0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
    [
        phone("192.0.2.1", 6004),
        phone("0.0.0.0", 6004),
        phone("192.0.2.2", 6008) + "a=rtcp-mux\r\na=sendonly\r\n",
        described("192.0.2.1", "m=audio 6004 RTP/AVP 0\r\nm=video 6010 RTP/AVP 34\r\n"),
        described("192.0.2.1", "m=audio 0 RTP/AVP 0\r\nm=message 5 TCP/MSRP *\r\n"),
        described("192.0.2.1", sdes),
        "not a description".to_owned(),
    ]
}

fn wishes() -> [Dictionary; 6] {
    [
        Dictionary::default(),
        Dictionary::default().with("transport-protocol", "RTP/AVP"),
        Dictionary::default().with("transport-protocol", "RTP/SAVP"),
        Dictionary::default()
            .with("rtcp-mux", list(&["require"]))
            .with("ICE", "force"),
        flags(&["WebRTC"]).with("delete-delay", 0_u64),
        flags(&["strict-source", "to-tag"]),
    ]
}

fn take(setup: &mut Setup, step: &Step) {
    match step {
        Step::Ng {
            command,
            call,
            from,
            to,
            branch,
            sdp,
            wish,
        } => {
            let mut more = wishes()[*wish]
                .clone()
                .with("call-id", call.to_string())
                .with("from-tag", TAGS[*from]);
            to.iter().for_each(|to| more.push("to-tag", TAGS[*to]));
            branch
                .iter()
                .for_each(|branch| more.push("via-branch", branch.to_string()));
            setup.ask(request(COMMANDS[*command], Some(&descriptions()[*sdp]), more));
        }
        Step::Line {
            command,
            call,
            from,
            to,
            media,
        } => {
            let (letters, from, to) = (LINES[*command], TAGS[*from], TAGS[*to]);
            if letters.starts_with('D') {
                setup.line(&format!("{letters} {call} {from} {to}"));
            } else {
                setup.line(&format!("{letters} {call} 192.0.2.1 6004 {from};{media} {to};{media}"));
            }
        }
        Step::Packet { nth, port } => {
            let at = setup.open.iter().cycle().nth(*nth).copied();
            at.into_iter()
                .for_each(|at| setup.source(at, &format!("203.0.113.9:{port}")));
        }
        Step::Time(seconds) => setup.pass(Duration::from_secs(*seconds)),
        Step::Killed => setup.replace(),
    }
}

fn small() -> Setup {
    Setup::with(Config::new(vec![
        interface("lan", "10.0.0.1", 5000..=5015),
        interface("wan", "198.51.100.1", 6000..=6015),
    ]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn ports_are_given_once_and_none_is_lost(steps in prop::collection::vec(step(), 1..60)) {
        let mut setup = small();
        steps.iter().for_each(|step| take(&mut setup, step));
        // Every call ends by itself.
        setup.pass(Duration::from_secs(2 * 3600));
        prop_assert_eq!((setup.relay.calls(), setup.relay.port_pairs()), (0, 0));
        prop_assert!(setup.open.is_empty() && setup.entries.is_empty());
        prop_assert_eq!(setup.relay.poll_timeout(), None);
    }

    #[test]
    fn an_offer_that_is_made_again_is_the_same_again(steps in prop::collection::vec(step(), 0..30), sdp in 0..6_usize, wish in 0..6_usize) {
        let mut setup = small();
        steps.iter().for_each(|step| take(&mut setup, step));
        let offer = Step::Ng { command: 0, call: 0, from: 0, to: Some(1), branch: None, sdp, wish };
        let asked = |setup: &mut Setup| {
            let more = wishes()[wish].clone().with("call-id", "0").with("to-tag", "b");
            setup.ask(request("offer", Some(&descriptions()[sdp]), more))
        };
        take(&mut setup, &offer);
        let first = asked(&mut setup);
        let entries = setup.entries.clone();
        let again = asked(&mut setup);
        prop_assert_eq!(&first, &again);
        if first.value("result") == Some(&Value::from("ok")) {
            prop_assert_eq!(setup.outputs, 1);
        }
        prop_assert_eq!(entries, setup.entries);
    }

    #[test]
    fn no_bytes_bring_the_relay_down(bytes in prop::collection::vec(any::<u8>(), 0..200), line in "[ -~]{0,80}") {
        let mut setup = small();
        for message in [bytes.as_slice(), line.as_bytes()] {
            setup.say(Request::Ng { from: None, message });
            setup.say(Request::NgPlain(message));
            setup.say(Request::Rtpproxy { from: None, message });
            setup.say(Request::RtpproxyPlain(message));
        }
    }
}
