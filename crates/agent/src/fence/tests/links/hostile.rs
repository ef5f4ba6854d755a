//! Links that fail, and other ends that do as they please.

use southbound::{LinkHello, LinkReply, LinkedMessage};

use super::*;
use crate::limits::LINK_MESSAGES_MAX;

#[test]
fn a_link_that_fails_leaves_its_messages_to_the_owner_once() {
    let mut pair = Pair::linked();
    let first = pair.arrives("_reliable", "1");
    let mut late = pair.on_link[0].clone();
    pair.carry_from_a();
    // A does not hear of that.
    pair.on_link[1].clear();
    let second = pair.arrives("_reliable", "2");
    late.extend(pair.on_link[0].drain(..));
    assert_eq!(pair.heard(), ["ada: 1"]);
    pair.fail();
    let failures = failed(&pair.told[0]);
    let failure = FailedLink {
        node: B,
        series: 1,
        number: 2,
    };
    assert_eq!(failures, [(first.number, failure), (second.number, failure)]);
    assert_eq!(pair.released[0].len(), 2);
    let source = Command::SetSource {
        node: A,
        series: 1,
        number: 0,
    };
    pair.clear();
    for message in [first, second] {
        pair.command(1, source.clone());
        pair.command(
            1,
            Command::Send {
                to: vec![TransportId(2)],
                label: "_reliable".into(),
                payload: format!("ada: {}", message.number).into_bytes().into(),
                reliable: true,
                message: Some(message),
            },
        );
    }
    assert_eq!(pair.heard(), ["ada: 2"]);
    // Messages that are still on the way come too late.
    pair.on_link[0].extend(late);
    pair.carry();
    assert_eq!(pair.heard(), [""; 0]);
    assert_eq!(pair.count(1, Counter::LinkLate), 2);
    pair.arrives("_reliable", "3");
    assert!(matches!(&pair.told[0][..], [Notice::MessageReceived { linked, .. }] if linked.nodes.is_empty()));
    // The next link begins another series.
    pair.link(0);
    pair.carry();
    let reaches = pair.told[0].last();
    assert!(
        matches!(reaches, Some(Notice::Reaches { series: 2, .. })),
        "{reaches:?}"
    );
}

#[test]
fn a_link_that_breaks_holds_no_sender_back() {
    let mut pair = Pair::linked();
    let held = [pair.arrives("_reliable", "1"), pair.arrives("_reliable", "2")];
    assert_eq!((&pair.held[0][..], pair.nodes[0].link_figures().to), (&held[..], 1));
    pair.on_link[0].clear();
    pair.lose_link();
    pair.nodes[1].origin_disconnected(A);
    assert_eq!(pair.released[0], held);
    pair.arrives("_reliable", "3");
    assert_eq!(pair.held[0], held, "nobody waits for a link that is broken");
    let figures = pair.nodes[0].link_figures();
    assert!(figures.to == 0 && figures.untaken_bytes > 3 * 256, "{figures:?}");
    pair.link(0);
    pair.carry();
    pair.deliver();
    assert_eq!(pair.heard(), ["ada: 1", "ada: 2", "ada: 3"]);
    assert_eq!((&pair.held[0][..], &pair.released[0][..]), (&held[..], &held[..]));
    let figures = [0, 1].map(|node| pair.nodes[node].link_figures());
    assert_eq!((figures[0].to, figures[0].untaken_bytes, figures[1].from), (1, 0, 1));
}

#[test]
fn a_link_with_too_much_on_it_fails() {
    let mut pair = Pair::linked();
    for number in 1..=LINK_MESSAGES_MAX {
        pair.arrives("_reliable", &number.to_string());
    }
    assert_eq!(failed(&pair.told[0]), []);
    pair.arrives("_reliable", "99999");
    assert_eq!(failed(&pair.told[0]).len(), LINK_MESSAGES_MAX);
    assert_eq!(pair.count(0, Counter::LinkFailed), LINK_MESSAGES_MAX as u64);
    let is_order_kept = failed(&pair.told[0]).is_sorted_by_key(|(number, _)| *number);
    assert!(is_order_kept && pair.released[0].len() == LINK_MESSAGES_MAX);
    assert!(pair.on_link[0].contains(&LinkOutput::Reset(B)));
}

#[test]
fn an_owner_of_the_version_before_has_no_links() {
    let mut pair = Pair::linked();
    let mut out = Output::default();
    pair.nodes[0].connect(NEW, Versions::LINKS - 1, &mut out);
    let claim = RoomMessage {
        room: "lobby".into(),
        epoch: Epoch(2),
        revision: 1,
        content: RoomContent::Claim,
    };
    pair.nodes[0].take(NEW, claim, &mut out).unwrap();
    pair.arrives("_reliable", "1");
    assert_eq!((pair.on_link[0].len(), pair.told[0].len()), (0, 1));
    assert!(pair.nodes[0].wanted_links().is_empty());
}

#[test]
fn a_node_takes_no_messages_for_rooms_that_the_other_one_is_not_in() {
    let mut pair = Pair::linked();
    let linked = |room: &str, sender: &str, number: u64| LinkedMessage {
        number,
        room: room.into(),
        reach: 2,
        sender: sender.into(),
        message: Some(MessageId { node: A, number }),
        label: "_reliable".into(),
        payload: b"psst"[..].into(),
        identities: Vec::new(),
        sids: Vec::new(),
        only: None,
        track: None,
    };
    for (number, (room, sender)) in [("attic", "PA_ada"), ("lobby", "PA_ben"), ("lobby", "PA_nobody")]
        .into_iter()
        .enumerate()
    {
        let message = linked(room, sender, number as u64 + 1);
        let mut out = Output::default();
        pair.nodes[1].take_linked(A, &message.into(), &mut out);
        assert_eq!(out.commands, []);
        assert!(out.links.contains(&LinkOutput::Reply(
            A,
            LinkReply::Taken {
                number: number as u64 + 1
            }
        )));
    }
    assert_eq!(pair.count(1, Counter::LinkStranger), 2, "one waits for its room");
    // One that leaves a number out, speaks for another node, or has no link is cut off.
    let gap = linked("lobby", "PA_ada", 5);
    let foreign = LinkedMessage {
        message: Some(MessageId { node: B, number: 4 }),
        ..linked("lobby", "PA_ada", 4)
    };
    for (count, message) in [gap, foreign, linked("lobby", "PA_ada", 4)].into_iter().enumerate() {
        let mut out = Output::default();
        pair.nodes[1].take_linked(A, &message.into(), &mut out);
        assert_eq!((out.commands, out.links), (Vec::new(), vec![LinkOutput::Cut(A)]));
        assert_eq!(pair.count(1, Counter::LinkMalformed), count as u64 + 1);
    }
    let hello = |node, series| LinkHello {
        versions: Versions::OURS,
        node,
        series,
    };
    let mut out = Output::default();
    assert!(
        !pair.nodes[1].origin_connected(&hello(A, 0), &mut out),
        "an earlier series"
    );
    assert!(
        !pair.nodes[1].origin_connected(&hello(B, 9), &mut out),
        "the node itself"
    );
    assert!(pair.nodes[1].origin_connected(&hello(A, 1), &mut out));
}

#[test]
fn a_link_whose_other_end_breaks_the_protocol_fails() {
    for reply in [LinkReply::Taken { number: 2 }, welcome(B, 0), welcome(A, 0)] {
        let mut pair = Pair::linked();
        pair.arrives("_reliable", "1");
        let mut out = Output::default();
        pair.nodes[0].link_replied(B, reply, &mut out);
        assert_eq!(out.links, [LinkOutput::Reset(B)]);
        pair.note(0, out);
        assert_eq!(failed(&pair.told[0]).len(), 1);
    }
}

fn welcome(node: NodeId, taken: u64) -> LinkReply {
    LinkReply::Welcome(southbound::LinkWelcome {
        versions: Versions::OURS,
        node,
        taken,
    })
}

#[test]
fn a_message_that_comes_before_its_room_is_claimed_waits() {
    let mut pair = Pair::of_version(Versions::OURS.newest);
    pair.nodes[1] = Fence::new(B, Box::new(Words));
    let mut out = Output::default();
    pair.nodes[1].connect(OLD, Versions::OURS.newest, &mut out);
    pair.link(0);
    pair.carry();
    pair.arrives("_reliable", "1");
    pair.carry();
    assert_eq!(pair.released[0].len(), 1, "its sender does not wait");
    pair.say(1, RoomContent::Claim);
    for transport in [2, 102] {
        pair.command(1, open(transport));
    }
    pair.command(1, Command::SetEndpoint(Box::new(endpoint(2, "ben", 2))));
    pair.command(1, distant(1, 1));
    let Some(Notice::Reaches { series, number, .. }) = pair.told[0].last().cloned() else {
        panic!("the last notice, and not {:?}", pair.told[0]);
    };
    pair.command(
        1,
        Command::SetSource {
            node: A,
            series,
            number,
        },
    );
    assert_eq!(pair.heard(), ["ada: 1"]);
}

#[test]
fn messages_for_rooms_that_nobody_claims_are_given_up() {
    let mut pair = Pair::linked();
    let long: Arc<[u8]> = vec![0; 50_000].into();
    for number in 1..=10 {
        let linked = LinkedMessage {
            number,
            room: "attic".into(),
            reach: 2,
            sender: "PA_ada".into(),
            message: Some(MessageId { node: A, number }),
            label: "_reliable".into(),
            payload: long.clone(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: None,
            track: None,
        };
        let mut out = Output::default();
        pair.nodes[1].take_linked(A, &linked.into(), &mut out);
        assert!(out.commands.is_empty() && out.links.len() == 2);
    }
    assert_eq!(pair.count(1, Counter::LinkStranger), 8);
}
