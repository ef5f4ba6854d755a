//! A node of the cluster that harms others.

use southbound::{LinkHello, LinkReply, LinkedMessage};

use super::*;
use crate::limits::{LINK_OPEN_MAX, LINKED_RECEIVERS_MAX, MESSAGE_MAX};

fn linked(number: u64, len: usize) -> LinkedMessage {
    LinkedMessage {
        number,
        room: "lobby".into(),
        reach: 2,
        sender: "PA_ada".into(),
        message: Some(MessageId { node: A, number }),
        label: "_reliable".into(),
        payload: vec![0; len].into(),
        identities: Vec::new(),
        sids: Vec::new(),
        only: None,
        track: None,
    }
}

fn take(pair: &mut Pair, linked: LinkedMessage) -> Output {
    let mut out = Output::default();
    pair.nodes[1].take_linked(A, &linked.into(), &mut out);
    out
}

fn hello(pair: &mut Pair, series: u64) -> bool {
    let hello = LinkHello {
        versions: Versions::OURS,
        node: A,
        series,
    };
    pair.nodes[1].origin_connected(&hello, &mut Output::default())
}

#[test]
fn a_node_that_floods_is_not_read_until_receivers_have_its_messages() {
    let mut pair = Pair::linked();
    let mut opened = Vec::new();
    while pair.nodes[1].has_room_for(A) {
        let out = take(&mut pair, linked(opened.len() as u64 + 1, 60_000));
        opened.extend(out.opened.into_iter().map(|(message, _)| message));
    }
    let bytes = opened.len() * 60_000;
    assert!((LINK_OPEN_MAX - 70_000..=LINK_OPEN_MAX).contains(&bytes), "{bytes}");
    assert!(pair.nodes[1].has_room_for(NodeId(9)), "others are read");
    // The end of its connection gives it nothing.
    pair.nodes[1].origin_disconnected(A);
    assert!(hello(&mut pair, 1) && !pair.nodes[1].has_room_for(A));
    pair.nodes[1].delivered(opened.split_off(1), &mut Output::default());
    assert!(pair.nodes[1].has_room_for(A));
    pair.nodes[1].delivered(opened.clone(), &mut Output::default());
    pair.nodes[1].delivered(opened, &mut Output::default());
}

#[test]
fn a_message_with_too_many_receivers_or_bytes_cuts_its_link_off() {
    let names = vec![String::new(); LINKED_RECEIVERS_MAX + 1];
    let short = linked(1, 1);
    for hostile in [
        linked(1, MESSAGE_MAX + 1),
        LinkedMessage {
            identities: names.clone(),
            ..short.clone()
        },
        LinkedMessage {
            sids: names,
            ..short.clone()
        },
    ] {
        let mut pair = Pair::linked();
        let out = take(&mut pair, hostile);
        assert_eq!((out.commands, out.links), (Vec::new(), vec![LinkOutput::Cut(A)]));
    }
    let most = LinkedMessage {
        identities: vec![String::new(); LINKED_RECEIVERS_MAX],
        ..linked(1, MESSAGE_MAX)
    };
    assert_eq!(take(&mut Pair::linked(), most).links.len(), 1);
}

#[test]
fn a_node_at_the_end_of_its_numbers_shuts_itself_out_alone() {
    let mut pair = Pair::linked();
    assert!(hello(&mut pair, u64::MAX));
    let out = take(&mut pair, linked(u64::MAX, 1));
    assert_eq!(out.links, [LinkOutput::Cut(A)], "numbers begin at 1");
    assert!(hello(&mut pair, u64::MAX));
    let far = LinkedMessage {
        reach: u64::MAX,
        ..linked(1, 1)
    };
    let out = take(&mut pair, far);
    assert!(
        out.links
            .contains(&LinkOutput::Reply(A, LinkReply::Taken { number: 1 }))
    );
    pair.command(
        1,
        Command::SetSource {
            node: A,
            series: u64::MAX,
            number: u64::MAX,
        },
    );
    assert_eq!(pair.heard(), ["\0"]);
    pair.command(
        1,
        Command::SetSource {
            node: A,
            series: u64::MAX,
            number: 0,
        },
    );
    let late = take(&mut pair, linked(2, 1));
    assert_eq!((late.commands, pair.count(1, Counter::LinkLate)), (Vec::new(), 1));
    for series in [0, 1, u64::MAX] {
        assert!(!hello(&mut pair, series));
    }
    let figures = pair.nodes[1].link_figures();
    assert_eq!(figures.waiting_bytes, 0);
}

#[test]
fn a_node_whose_messages_wait_in_many_rooms_leaves_room_to_others() {
    let mut pair = Pair::linked();
    let rooms: Vec<_> = (0..20).map(|room| format!("room {room}")).collect();
    for room in &rooms {
        let claim = message_of(room, 1, RoomContent::Claim);
        pair.nodes[1].take(OLD, claim, &mut Output::default()).unwrap();
    }
    assert!(hello(&mut pair, 2));
    let mut number = 0;
    for room in &rooms {
        for _ in 0..80 {
            number += 1;
            let waiting = LinkedMessage {
                room: room.as_str().into(),
                ..linked(number, 60_000)
            };
            take(&mut pair, waiting);
        }
    }
    let bytes = pair.nodes[1].link_figures().waiting_bytes;
    assert!(
        bytes <= crate::limits::LINK_WAITING_NODE_MAX && bytes > 15 << 20,
        "{bytes}"
    );
    assert!(pair.count(1, Counter::LinkFull) > 1_000);
}

#[test]
fn a_message_that_is_replayed_in_another_series_is_refused() {
    let mut pair = Pair::linked();
    for number in 1..=3 {
        assert_eq!(take(&mut pair, linked(number, 1)).opened.len(), 1);
    }
    assert!(hello(&mut pair, 2));
    let again = LinkedMessage {
        message: Some(MessageId { node: A, number: 1 }),
        ..linked(1, 1)
    };
    assert_eq!(take(&mut pair, again).links, [LinkOutput::Cut(A)]);
}

#[test]
fn answers_about_messages_that_were_never_sent_release_nobody() {
    let mut pair = Pair::linked();
    let sent = pair.arrives("_reliable", "1");
    pair.on_link[0].clear();
    let other = |number| MessageId { node: A, number };
    let messages = vec![other(0), other(99), other(u64::MAX), MessageId { node: B, number: 1 }];
    let mut out = Output::default();
    pair.nodes[0].link_replied(B, LinkReply::Delivered { messages }, &mut out);
    assert!(out.released.is_empty() && out.links.is_empty());
    assert_eq!(
        pair.nodes[0].holding_links().collect::<Vec<_>>(),
        [(B, 0)],
        "it is no answer"
    );
    for _ in 0..2 {
        let messages = vec![sent, sent];
        pair.nodes[0].link_replied(B, LinkReply::Delivered { messages }, &mut out);
    }
    assert_eq!(out.released, [sent], "once");
    for number in [2, u64::MAX] {
        let mut pair = Pair::linked();
        pair.arrives("_reliable", "1");
        let mut out = Output::default();
        pair.nodes[0].link_replied(B, LinkReply::Taken { number }, &mut out);
        assert_eq!(out.links, [LinkOutput::Reset(B)]);
    }
}
