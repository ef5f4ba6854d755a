//! Calls of a cluster: any machine takes a proxy's request, and the machine of the call carries it
//! out.

mod histories;
mod hostile;
mod machines;

use std::time::Duration;

use sip::limits::{ASK_MAX, PASS_MAX, SETTLE_MAX};
use sip::{Counter, PeerEvent};

use machines::{Cluster, answer, id, offer, request, result};

const MOMENT: Duration = Duration::from_millis(20);

#[test]
fn each_request_of_a_call_may_come_to_another_machine() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(0, "1", offer("x"));
    let sdp = cluster.reply(offered).unwrap();
    assert!(String::from_utf8_lossy(sdp.text("sdp").unwrap()).contains("c=IN IP4 127.0.0.1"));
    let answered = cluster.ask(1, "2", answer("x"));
    let sdp = cluster.reply(answered).unwrap();
    assert!(
        String::from_utf8_lossy(sdp.text("sdp").unwrap()).contains("c=IN IP4 127.0.0.1"),
        "the first one's address"
    );
    for (place, cookie) in [(0, "3"), (1, "4"), (2, "5")] {
        let asked = cluster.ask(place, cookie, request("query", "x"));
        assert_eq!(result(cluster.reply(asked)), "ok");
    }
    let deleted = cluster.ask(2, "6", request("delete", "x"));
    assert_eq!(result(cluster.reply(deleted)), "ok");
    assert_eq!(cluster.owners("x"), [0], "it is kept for a while");
    cluster.run(Duration::from_secs(60));
    assert!(cluster.owners("x").is_empty());
    let passed = |place| {
        (
            cluster.count(place, Counter::PeerPassed),
            cluster.count(place, Counter::PeerAnswered),
        )
    };
    assert_eq!((passed(0), passed(1), passed(2)), ((0, 0), (2, 2), (2, 2)));
    assert_eq!(cluster.count(0, Counter::PeerTaken), 4);
}

#[test]
fn an_answer_finds_the_call_as_soon_as_the_offer_is_answered() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(2, "1", offer("x"));
    cluster.run(Duration::from_millis(2));
    assert!(cluster.bytes(offered).is_some(), "one round trip after it came");
    let answered = cluster.ask(0, "2", answer("x"));
    cluster.run(Duration::from_millis(2));
    assert!(cluster.bytes(answered).is_some());
    assert_eq!(
        cluster.count(2, Counter::PeerAsked),
        0,
        "the others were told of the call"
    );
}

#[test]
fn a_call_of_this_machine_is_asked_for_nowhere() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(0, "1", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    let asked = cluster.count(1, Counter::PeerAsked);
    for (cookie, request) in [("2", answer("x")), ("3", offer("x")), ("4", request("delete", "x"))] {
        let asked = cluster.ask(0, cookie, request);
        assert!(cluster.bytes(asked).is_some(), "at once");
    }
    for command in ["ping", "list", "statistics"] {
        let asked = cluster.ask(
            0,
            command,
            sip::ng::value::Dictionary::default().with("command", command),
        );
        assert!(cluster.bytes(asked).is_some(), "{command} is about this machine");
    }
    cluster.run(MOMENT);
    assert_eq!(cluster.count(1, Counter::PeerAsked), asked);
}

#[test]
fn a_request_that_is_repeated_at_another_machine_gets_the_same_answer() {
    let mut cluster = Cluster::new(3);
    let first = cluster.ask(0, "1", offer("x"));
    // Before the first one is answered.
    let early = cluster.ask(1, "1", offer("x"));
    let repeated = cluster.ask(0, "1", offer("x"));
    cluster.run(MOMENT);
    let answered: Vec<_> = [first, early, repeated]
        .map(|request| cluster.bytes(request))
        .into_iter()
        .flatten()
        .collect();
    assert!(!answered.is_empty() && answered.iter().all(|bytes| *bytes == answered[0]));
    assert!(cluster.is_unanswered(repeated));
    assert_eq!(cluster.owners("x").len(), 1);
    for place in 0..3 {
        let late = cluster.ask(place, "1", offer("x"));
        cluster.run(MOMENT);
        assert_eq!(cluster.bytes(late).as_ref(), Some(&answered[0]));
    }
}

#[test]
fn two_machines_that_are_about_to_begin_a_call_agree_on_one() {
    for delays in [vec![1], vec![9, 1], vec![1, 9, 4], vec![5, 0, 30]] {
        let mut cluster = Cluster::new(4);
        cluster.delay(delays.clone());
        let offers = [(3, "1"), (1, "2"), (2, "3")].map(|(place, cookie)| cluster.ask(place, cookie, offer("x")));
        let results = offers.map(|asked| result(cluster.reply(asked)));
        assert_eq!(results, ["ok", "ok", "ok"], "{delays:?}");
        assert_eq!(cluster.owners("x").len(), 1, "{delays:?}");
    }
}

#[test]
fn an_offer_begins_anew_where_the_machine_of_the_call_is_gone() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(0, "1", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    cluster.kill(0);
    cluster.run(MOMENT);
    let answered = cluster.ask(1, "2", answer("x"));
    assert_eq!(result(cluster.reply(answered)), "Unknown call-id");
    let deleted = cluster.ask(2, "3", request("delete", "x"));
    assert_eq!(result(cluster.reply(deleted)), "Call-ID not found or tags didn't match");
    let offered = cluster.ask(2, "4", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    assert_eq!(cluster.owners("x"), [2]);
}

#[test]
fn a_request_on_its_way_to_a_machine_that_ends_is_placed_anew() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(0, "1", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    cluster.freeze(0, true);
    let offered = cluster.ask(1, "2", offer("x"));
    cluster.run(MOMENT);
    cluster.kill(0);
    assert_eq!(result(cluster.reply(offered)), "ok");
    assert_eq!((cluster.owners("x"), cluster.count(1, Counter::PeerLost)), (vec![1], 1));
}

#[test]
fn a_machine_that_does_not_answer_for_its_call_makes_an_error_that_says_so() {
    let mut cluster = Cluster::new(2);
    let offered = cluster.ask(0, "1", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    cluster.freeze(0, true);
    let deleted = cluster.ask(1, "2", request("delete", "x"));
    let looked_up = cluster.command(1, "L x 192.0.2.2 7000 a b");
    cluster.run(PASS_MAX - MOMENT);
    assert!(cluster.bytes(deleted).is_none());
    cluster.run(MOMENT);
    assert_eq!(result(cluster.reply(deleted)), "The relay of this call does not answer");
    assert_eq!(cluster.bytes(looked_up).unwrap(), b"E98\n");
    assert_eq!(cluster.count(1, Counter::PeerTimeouts), 2);
    cluster.freeze(0, false);
    let deleted = cluster.ask(1, "2", request("delete", "x"));
    assert_eq!(
        result(cluster.reply(deleted)),
        "ok",
        "the error was not kept for the cookie"
    );
}

#[test]
fn a_machine_that_is_silent_delays_one_call_and_not_the_next() {
    let mut cluster = Cluster::new(3);
    cluster.freeze(2, true);
    let first = cluster.ask(0, "1", offer("x"));
    cluster.run(ASK_MAX - MOMENT);
    assert!(cluster.bytes(first).is_none());
    cluster.run(2 * MOMENT);
    assert!(cluster.bytes(first).is_some());
    let next = cluster.ask(0, "2", offer("y"));
    cluster.run(MOMENT);
    assert!(cluster.bytes(next).is_some());
    assert_eq!(cluster.count(0, Counter::PeerSilent), 1);
    cluster.freeze(2, false);
    cluster.run(MOMENT);
    cluster.freeze(2, true);
    let third = cluster.ask(0, "3", offer("z"));
    cluster.run(MOMENT);
    assert!(
        cluster.bytes(third).is_none(),
        "it is waited for again after it has said anything"
    );
}

#[test]
fn requests_wait_at_the_start_until_the_other_machines_are_connected() {
    let mut cluster = Cluster::unconnected(2);
    let offered = cluster.ask(0, "1", offer("x"));
    cluster.run(MOMENT);
    assert!(
        cluster.bytes(offered).is_none(),
        "nobody knows yet whether there are others"
    );
    cluster.event(0, PeerEvent::Known(vec![id(1), id(7)]));
    cluster.event(1, PeerEvent::Known(vec![]));
    cluster.event(1, PeerEvent::Joined(id(0)));
    cluster.event(0, PeerEvent::Joined(id(1)));
    cluster.run(MOMENT);
    assert!(cluster.bytes(offered).is_none(), "one is missing");
    cluster.event(0, PeerEvent::Unreached(id(7)));
    cluster.run(MOMENT);
    assert!(cluster.bytes(offered).is_some());

    let mut alone = Cluster::unconnected(1);
    let offered = alone.ask(0, "1", offer("x"));
    alone.run(SETTLE_MAX - MOMENT);
    assert!(alone.bytes(offered).is_none());
    alone.run(2 * MOMENT);
    assert!(alone.bytes(offered).is_some(), "a store that is away keeps no call out");
    assert_eq!(alone.count(0, Counter::PeersMissing), 1);
}

#[test]
fn a_connection_that_is_replaced_loses_no_request() {
    let mut cluster = Cluster::new(3);
    let offered = cluster.ask(0, "1", offer("x"));
    assert_eq!(result(cluster.reply(offered)), "ok");
    cluster.freeze(0, true);
    let answered = cluster.ask(1, "2", answer("x"));
    let other = cluster.ask(2, "3", offer("y"));
    cluster.run(MOMENT);
    cluster.event(1, PeerEvent::Joined(id(0)));
    cluster.event(2, PeerEvent::Joined(id(0)));
    cluster.freeze(0, false);
    cluster.run(MOMENT);
    assert!(cluster.bytes(answered).is_some() && cluster.bytes(other).is_some());
    assert_eq!(result(cluster.reply(answered)), "ok");
}

#[test]
fn both_protocols_find_a_call() {
    let mut cluster = Cluster::new(2);
    let offered = cluster.command(0, "U x 192.0.2.1 6000 a");
    cluster.run(MOMENT);
    let text = String::from_utf8(cluster.bytes(offered).unwrap()).unwrap();
    assert!(text.ends_with(" 127.0.0.1\n"), "{text}");
    let answered = cluster.command(1, "L x 192.0.2.2 7000 a b");
    cluster.run(MOMENT);
    let text = String::from_utf8(cluster.bytes(answered).unwrap()).unwrap();
    assert!(text.ends_with(" 127.0.0.1\n"), "{text}");
    let versions = cluster.command(1, "V");
    assert!(cluster.bytes(versions).is_some());
    let deleted = cluster.command(1, "D x a b");
    cluster.run(MOMENT);
    assert_eq!(cluster.bytes(deleted).unwrap(), b"0\n");
}
