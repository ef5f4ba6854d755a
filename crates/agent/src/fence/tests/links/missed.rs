//! Somebody comes back while a link has failed.

use super::*;

/// Four messages of Ada to Ben that B has taken, and a link that has failed.
fn after_a_failure() -> Pair {
    let mut pair = Pair::linked();
    for text in ["1", "2", "3 ada", "4 ben"] {
        pair.arrives("_reliable", text);
    }
    pair.carry();
    pair.deliver();
    pair.heard();
    pair.lose_link();
    pair.nodes[1].origin_disconnected(A);
    pair.fail();
    pair.clear();
    pair
}

fn resend(pair: &mut Pair) {
    let resend = Command::Resend {
        transport: TransportId(2),
        received: vec![("PA_ada".into(), 1)],
    };
    pair.command(0, resend);
}

/// The texts that the owner is to pass on to Ben, and those of Ada that it gets as they arrive.
fn told(pair: &mut Pair) -> Vec<String> {
    let told = std::mem::take(&mut pair.told[0]).into_iter();
    let texts = told.filter_map(|notice| match notice {
        Notice::Missed {
            room,
            sender,
            transport,
            payload,
            ..
        } => {
            assert_eq!((&*room, &*sender, transport), ("lobby", "PA_ada", TransportId(2)));
            Some(format!("missed {}", String::from_utf8_lossy(&payload)))
        }
        Notice::MessageReceived { payload, .. } => Some(String::from_utf8_lossy(&payload).into_owned()),
        _ => None,
    });
    texts.collect()
}

fn claim_by(pair: &mut Pair, version: u32) {
    let mut out = Output::default();
    pair.nodes[0].connect(NEW, version, &mut out);
    let claim = message_of("lobby", 2, RoomContent::Claim);
    pair.nodes[0].take(NEW, claim, &mut out).unwrap();
    pair.note(0, out);
}

#[test]
fn the_owner_gets_what_somebody_has_missed_of_a_node_without_a_link() {
    let mut pair = after_a_failure();
    resend(&mut pair);
    pair.arrives("_reliable", "5");
    assert_eq!(told(&mut pair), ["missed ada: 2", "missed ada: 4 ben", "5"]);
    assert_eq!(pair.count(0, Counter::LinkMissed), 2);
}

#[test]
fn messages_that_are_sent_again_are_repeated_when_a_link_breaks() {
    let mut pair = Pair::linked();
    for text in ["1", "2", "3"] {
        pair.arrives("_reliable", text);
    }
    pair.carry();
    pair.heard();
    resend(&mut pair);
    pair.on_link[0].clear();
    pair.lose_link();
    pair.nodes[1].origin_disconnected(A);
    pair.arrives("_reliable", "4");
    pair.link(0);
    pair.carry();
    assert_eq!(pair.heard(), ["ada: 2", "ada: 3", "ada: 4"]);
    assert_eq!(told(&mut pair), [""; 0]);
}

#[test]
fn messages_that_are_sent_again_outlive_their_link() {
    let mut pair = Pair::linked();
    for text in ["1", "2", "3"] {
        pair.arrives("_reliable", text);
    }
    pair.carry();
    pair.deliver();
    resend(&mut pair);
    pair.on_link[0].clear();
    pair.arrives("_reliable", "4");
    pair.clear();
    pair.fail();
    assert_eq!(told(&mut pair), ["missed ada: 2", "missed ada: 3", "4"]);
}

#[test]
fn messages_that_are_sent_again_wait_for_the_next_owner() {
    let mut pair = Pair::linked();
    for text in ["1", "2", "3"] {
        pair.arrives("_reliable", text);
    }
    pair.carry();
    pair.deliver();
    resend(&mut pair);
    let mut out = Output::default();
    pair.nodes[0].disconnect(OLD, &mut out);
    pair.note(0, out);
    pair.clear();
    pair.fail();
    pair.arrives("_reliable", "4");
    assert_eq!(told(&mut pair), [""; 0]);
    claim_by(&mut pair, Versions::OURS.newest);
    assert_eq!(told(&mut pair), ["missed ada: 2", "missed ada: 3", "4"]);
    claim_by(&mut pair, Versions::OURS.newest);
    assert_eq!(told(&mut pair), [""; 0], "once");
}

#[test]
fn messages_that_are_sent_again_wait_for_the_link_of_an_owner_of_the_version_before() {
    let mut pair = after_a_failure();
    claim_by(&mut pair, Versions::LINKED_TRACKS - 1);
    let mut out = Output::default();
    let command = Command::Resend {
        transport: TransportId(2),
        received: vec![("PA_ada".into(), 1)],
    };
    let message = message_of("lobby", 2, RoomContent::Command(command));
    pair.nodes[0].take(NEW, message, &mut out).unwrap();
    pair.note(0, out);
    assert_eq!(told(&mut pair), [""; 0]);
    pair.link(0);
    pair.carry();
    let Some(Notice::Reaches { series, number, .. }) = pair.told[0].last().cloned() else {
        panic!("the last notice, and not {:?}", pair.told[0]);
    };
    let source = Command::SetSource {
        node: A,
        series,
        number,
    };
    pair.command(1, source);
    assert_eq!(pair.heard(), ["ada: 2", "ada: 4 ben"]);
}

#[test]
fn messages_that_somebody_has_missed_are_as_many_as_may_wait() {
    let mut pair = after_a_failure();
    claim_by(&mut pair, Versions::LINKED_TRACKS - 1);
    let term = pair.nodes[0].rooms.get_mut("lobby").unwrap();
    let (mut counters, mut out) = (Counters::default(), Output::default());
    for _ in 0..100 {
        let linked = southbound::LinkedMessage {
            number: 0,
            room: "lobby".into(),
            reach: 2,
            sender: "PA_ada".into(),
            message: None,
            label: "_reliable".into(),
            payload: vec![0; 60_000].into(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: Some(TransportId(2)),
            track: None,
        };
        term.give_missed(&"lobby".into(), (B, linked), true, &mut counters, &mut out);
    }
    let kept = counters[Counter::LinkMissed];
    assert!(out.messages.is_empty() && (60..70).contains(&kept), "{kept}");
    assert_eq!(counters[Counter::LinkLost], 100 - kept);
    // Somebody who leaves has missed nothing.
    let remove = Command::RemoveDistantEndpoint {
        transport: TransportId(2),
    };
    let message = message_of("lobby", 2, RoomContent::Command(remove));
    pair.nodes[0].take(NEW, message, &mut out).unwrap();
    let term = pair.nodes[0].rooms.get_mut("lobby").unwrap();
    let taken = term.missed.take_for_owner(&"lobby".into(), Versions::LINKED_TRACKS);
    assert!(taken.is_empty());
}
