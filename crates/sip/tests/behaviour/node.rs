//! Requests that wait for the media node, and failures of the node.

use std::time::Duration;

use sip::ng::Encoding;
use sip::ng::value::Dictionary;
use sip::{Counter, Input, Output, Request, RequestId};
use southbound::relay::{Refusal, RelayCommand, RelayNotice, Traffic};

use crate::support::*;

/// An offer as a datagram.
fn offer() -> Vec<u8> {
    let request = request("offer", Some(&phone("192.0.2.1", 6004)), Dictionary::default());
    let mut message = b"1_1 ".to_vec();
    Encoding::Bencode.encode(&request.into(), &mut message);
    message
}

fn commands(outputs: &[Output]) -> Vec<&RelayCommand> {
    let commands = outputs.iter().filter_map(|output| match output {
        Output::Command(command) => Some(command),
        _ => None,
    });
    commands.collect()
}

fn replies(outputs: &[Output]) -> usize {
    let is_reply = |output: &&Output| matches!(output, Output::Reply { .. });
    outputs.iter().filter(is_reply).count()
}

#[test]
fn a_reply_waits_until_its_ports_are_open_and_a_repetition_is_answered_with_it() {
    let mut setup = Setup::new();
    let mut outputs = Vec::new();
    let message = offer();
    let request = || Request::Ng {
        from: None,
        message: &message,
    };
    let relay = &mut setup.relay;
    relay.handle(setup.now, Input::Request(RequestId(1), request()), &mut outputs);
    let (mut opened, mut reports) = (Vec::new(), Vec::new());
    for command in commands(&outputs) {
        match command {
            RelayCommand::Open(at) => opened.push(*at),
            RelayCommand::Install(_) => {}
            RelayCommand::Report(at) => reports.push(*at),
            other => panic!("not an order of an offer: {other:?}"),
        }
    }
    assert_eq!((opened.len(), reports.len(), replies(&outputs)), (4, 2, 0));
    outputs.clear();
    relay.handle(setup.now, Input::Request(RequestId(2), request()), &mut outputs);
    assert!(outputs.is_empty(), "it is on its way: {outputs:?}");
    let opened = opened.into_iter().map(|at| RelayNotice::Opened { at });
    let reports = reports.into_iter().map(|at| RelayNotice::Traffic {
        at,
        traffic: Traffic::default(),
        idle: None,
    });
    for notice in opened.chain(reports) {
        assert!(outputs.is_empty());
        relay.handle(setup.now, Input::Notice(notice), &mut outputs);
    }
    assert!(
        matches!(outputs[..], [Output::Reply { to: RequestId(1), .. }]),
        "{outputs:?}"
    );
    assert_eq!(relay.counters()[Counter::CookieRepeated], 1);
}

#[test]
fn a_port_that_cannot_be_opened_is_replaced_before_anybody_hears_of_it() {
    let mut setup = Setup::new();
    // The seed decides the order of ports: the first call's ports are found, and then taken.
    let first: Vec<_> = {
        let mut probe = Setup::new();
        probe.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
        probe.open.iter().copied().collect()
    };
    setup.taken = first.iter().copied().filter(|at| at.port() % 2 == 1).collect();
    let [answer, offer] = setup.call();
    for sdp in [&answer, &offer] {
        assert!(setup.open.contains(&local(sdp)) && !first.contains(&local(sdp)));
    }
    assert!(setup.open.iter().all(|at| !setup.taken.contains(at)));
    assert_eq!(setup.relay.port_pairs(), 2);
    assert!(setup.count(Counter::PortsRefused) >= 2);
}

#[test]
fn an_offer_is_refused_if_no_port_opens() {
    let mut setup = Setup::new();
    setup.taken = (40_000..41_000).map(|port| at(&format!("127.0.0.1:{port}"))).collect();
    let reply = setup.ask(request("offer", Some(&phone("192.0.2.1", 6004)), Dictionary::default()));
    assert_eq!(reason(&reply), "Ran out of ports");
    assert_eq!(setup.line("U c 192.0.2.1 6004 a;1"), "E71\n");
    setup.pass(Duration::from_secs(4000));
    assert_eq!((setup.relay.calls(), setup.open.len()), (0, 0));
}

#[test]
fn a_full_node_gets_back_the_ports_of_calls_that_are_over() {
    let mut setup = Setup::new();
    setup.room = 8;
    let call = |id: &str| Dictionary::default().with("call-id", id);
    for id in ["first", "second"] {
        setup.describe("offer", &phone("192.0.2.1", 6004), call(id));
    }
    let offer = request("offer", Some(&phone("192.0.2.1", 6004)), call("third"));
    assert_eq!(reason(&setup.ask(offer.clone())), "Ran out of ports");
    assert_eq!(setup.open.len(), 8);
    setup.ask(request("delete", None, call("first")));
    assert_eq!(setup.ask(offer).text("result"), Some(&b"ok"[..]));
    assert_eq!((setup.open.len(), setup.count(Counter::PortsReclaimed)), (8, 1));
}

#[test]
fn counts_are_those_of_the_moment() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    let mut outputs = Vec::new();
    let message = b"9_9 d7:call-id1:c8:from-tag1:a7:command6:deletee";
    let request = Request::Ng { from: None, message };
    setup
        .relay
        .handle(setup.now, Input::Request(RequestId(9), request), &mut outputs);
    let asked: Vec<_> = commands(&outputs)
        .into_iter()
        .map(|command| match command {
            RelayCommand::Report(at) => *at,
            other => panic!("not a question: {other:?}"),
        })
        .collect();
    assert_eq!((asked.len(), outputs.len()), (4, 4), "nothing is deleted yet");
    outputs.clear();
    for at in asked {
        let packets = if at == local(&answer) { 77 } else { 0 };
        let traffic = Traffic {
            packets,
            ..Traffic::default()
        };
        let idle = Some(Duration::ZERO);
        let notice = RelayNotice::Traffic { at, traffic, idle };
        setup.relay.handle(setup.now, Input::Notice(notice), &mut outputs);
    }
    let Some(Output::Reply { bytes, .. }) = outputs.last() else {
        panic!("no reply: {outputs:?}")
    };
    assert!(String::from_utf8_lossy(bytes).contains("7:packetsi77e"));
}

#[test]
fn a_node_that_tells_nothing_holds_nobody_up_for_long() {
    let mut setup = Setup::new();
    setup.call();
    setup.deaf = true;
    let message = b"9_9 d7:call-id1:c8:from-tag1:a7:command5:querye";
    assert_eq!(setup.say(Request::Ng { from: None, message }), None);
    setup.now += Duration::from_millis(500);
    let replies = setup.time_out();
    assert_eq!((replies.len(), setup.count(Counter::NodeSilent)), (1, 1));
    setup.pass(Duration::from_secs(61));
    assert_eq!((setup.relay.calls(), setup.count(Counter::CallsMediaTimeout)), (0, 1));
}

#[test]
fn only_a_call_that_seems_silent_is_looked_at() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    setup.pass(Duration::from_secs(50));
    setup.tell(Input::Notice(RelayNotice::Traffic {
        at: local(&answer),
        traffic: Traffic::default(),
        idle: Some(Duration::ZERO),
    }));
    setup.pass(Duration::from_secs(59));
    assert_eq!(setup.relay.calls(), 1);
    setup.pass(Duration::from_secs(1));
    assert_eq!(setup.relay.calls(), 0);
}

#[test]
fn every_silence_is_looked_at_anew() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    for _ in 0..10 {
        // The relay is not told, but the port would report it if asked.
        let last = Some(setup.now + Duration::from_secs(59));
        setup.counts(local(&answer), last);
        setup.pass(Duration::from_secs(59));
        assert_eq!(setup.relay.calls(), 1);
    }
    setup.pass(Duration::from_secs(60));
    assert_eq!(setup.relay.calls(), 0);
}

#[test]
fn a_call_whose_node_has_no_srtp_keeps_its_ports_and_ends_without_media() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call();
    let (at, open) = (local(&answer), setup.open.clone());
    let why = Refusal::NoSrtp;
    setup.tell(Input::Notice(RelayNotice::Refused { at, why }));
    assert_eq!((&setup.open, setup.count(Counter::PortsRefused)), (&open, 1));
    setup.pass(Duration::from_secs(61));
    assert_eq!((setup.relay.calls(), setup.count(Counter::CallsMediaTimeout)), (0, 1));
}
