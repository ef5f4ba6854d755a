//! Machines of the cluster that say what no machine would.

use std::time::Duration;

use sip::limits::{ATTEMPTS_MAX, HELD_MAX, PEERS_MAX};
use sip::{Counter, Form, PassOutcome, PassedRequest, PeerEvent, PeerMessage, RequestId};

use super::machines::{Cluster, id, offer, request, result};

const MOMENT: Duration = Duration::from_millis(20);

fn pass(message: &[u8]) -> PeerMessage {
    PeerMessage::Pass {
        request: RequestId(1 << 40),
        passed: PassedRequest {
            form: Form::Ng,
            from: None,
            message: message.into(),
        },
    }
}

#[test]
fn requests_about_no_call_are_not_taken_from_others() {
    let mut cluster = Cluster::new(2);
    let junk: [&[u8]; 5] = [
        b"",
        b"nocookie",
        b"1 d7:command4:pinge",
        b"1 d7:command4:liste",
        b"1 d7:command5:offer7:call-id0:e",
    ];
    for message in junk {
        cluster.say(1, 0, pass(message));
    }
    cluster.run(MOMENT);
    assert_eq!(cluster.count(0, Counter::PeerRefused), junk.len() as u64);
    assert_eq!(
        (cluster.count(0, Counter::Pings), cluster.count(0, Counter::Lists)),
        (0, 0)
    );
}

#[test]
fn a_request_about_a_call_that_is_not_here_begins_none() {
    let mut cluster = Cluster::new(2);
    cluster.say(1, 0, pass(b"1 d7:command5:offer7:call-id1:x8:from-tag1:a3:sdp3:v=0e"));
    cluster.run(MOMENT);
    assert_eq!(
        (cluster.owners("x"), cluster.count(0, Counter::PeerUnknown)),
        (vec![], 1)
    );
}

#[test]
fn answers_that_nobody_waits_for_change_nothing() {
    let mut cluster = Cluster::new(3);
    cluster.freeze(2, true);
    let offered = cluster.ask(0, "1", offer("x"));
    for question in 0..20 {
        cluster.say(1, 0, PeerMessage::Answer { question, has: false });
    }
    for request in [offered, RequestId(1 << 50)] {
        let outcome = PassOutcome::Reply(b"1 d6:result2:oke"[..].into());
        cluster.say(1, 0, PeerMessage::Passed { request, outcome });
    }
    cluster.say(1, 0, PeerMessage::Ping);
    cluster.run(MOMENT);
    assert!(
        cluster.bytes(offered).is_none(),
        "one machine cannot answer for another"
    );
    assert!(cluster.count(0, Counter::PeerStale) >= 21);
    assert_eq!(cluster.count(0, Counter::PeerRefused), 1);
    assert_eq!(result(cluster.reply(offered)), "ok");
}

#[test]
fn an_answer_to_another_cookie_is_none() {
    let mut cluster = Cluster::new(2);
    // It claims the call, and never has it.
    let claims = PeerMessage::Ask {
        question: 1,
        call: b"x"[..].into(),
        begins: true,
    };
    cluster.say(1, 0, claims);
    cluster.run(MOMENT);
    cluster.freeze(1, true);
    let deleted = cluster.ask(0, "1", request("delete", "x"));
    let outcome = PassOutcome::Reply(b"2 d6:result2:oke"[..].into());
    let answer = PeerMessage::Passed {
        request: deleted,
        outcome,
    };
    cluster.say(1, 0, answer);
    assert_eq!(
        result(cluster.reply(deleted)),
        "The relay of this call gave no usable answer"
    );
    assert_eq!(cluster.count(0, Counter::PeerFailed), 1);
}

#[test]
fn a_machine_that_claims_a_call_and_denies_it_is_asked_a_few_times() {
    let mut cluster = Cluster::unconnected(1);
    cluster.event(0, PeerEvent::Known(vec![id(1)]));
    cluster.event(0, PeerEvent::Joined(id(1)));
    let offered = cluster.ask(0, "1", offer("x"));
    for question in 1..=ATTEMPTS_MAX {
        let says = |message| PeerEvent::Said(id(1), message);
        let question = u64::from(question);
        cluster.event(0, says(PeerMessage::Answer { question, has: true }));
        let outcome = PassOutcome::Elsewhere;
        cluster.event(
            0,
            says(PeerMessage::Passed {
                request: offered,
                outcome,
            }),
        );
    }
    assert_eq!(result(cluster.reply(offered)), "The relay of this call was not found");
    let busy = cluster.ask(0, "2", offer("y"));
    let says = |message| PeerEvent::Said(id(1), message);
    let question = u64::from(ATTEMPTS_MAX) + 1;
    cluster.event(0, says(PeerMessage::Answer { question, has: true }));
    let outcome = PassOutcome::Full;
    cluster.event(0, says(PeerMessage::Passed { request: busy, outcome }));
    assert_eq!(result(cluster.reply(busy)), "The relay of this call is busy");
}

#[test]
fn no_more_requests_and_machines_are_kept_than_may_be() {
    let mut cluster = Cluster::unconnected(1);
    cluster.event(0, PeerEvent::Known(vec![id(1)]));
    for peer in 1..PEERS_MAX + 4 {
        cluster.event(0, PeerEvent::Joined(id(peer)));
    }
    assert_eq!(cluster.count(0, Counter::PeerRefused), 3);
    cluster.event(0, PeerEvent::Joined(id(0)));
    assert_eq!(
        cluster.count(0, Counter::PeerRefused),
        4,
        "a machine is none of its others"
    );
    let asked: Vec<_> = (0..HELD_MAX + 10)
        .map(|number| cluster.ask(0, &number.to_string(), offer(&number.to_string())))
        .collect();
    assert_eq!(cluster.count(0, Counter::RequestsFull), 10);
    assert!(asked[HELD_MAX..].iter().all(|request| cluster.is_unanswered(*request)));
    cluster.run(Duration::from_secs(3));
    assert!(!cluster.waits(0), "nothing is left");
}
