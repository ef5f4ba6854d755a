//! Notices and snapshots of owners that come, go and follow each other.

use southbound::{AudioActivity, Capabilities, Fingerprint, HashFunction, Linked, MessageId, NodeId};

use super::*;
use crate::limits::{PART_LEN_MAX, PARTS_BYTES_PER_ROOM_MAX, ROOMS_PER_PAGE};

fn save(part: &str, blob: &[u8]) -> RoomContent {
    RoomContent::Save {
        part: part.into(),
        blob: blob.into(),
    }
}

/// A message that may be lost.
fn received(transport: u64, number: u64) -> (MessageId, Notice) {
    received_on("_lossy", transport, number)
}

fn received_on(label: &str, transport: u64, number: u64) -> (MessageId, Notice) {
    let message = MessageId {
        node: NodeId(9),
        number,
    };
    let notice = Notice::MessageReceived {
        transport: TransportId(transport),
        label: label.into(),
        payload: [1][..].into(),
        message,
        reliable: label == "_reliable",
        passed_on: None,
        linked: Linked::default(),
    };
    (message, notice)
}

/// A call in the lobby of an owner that is connected.
fn owned() -> World {
    let mut world = World::default();
    world.connect(OLD);
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    world.say_call(OLD, 1);
    world
}

/// The notices of messages, with those who get them.
fn notices(messages: &[(ControllerId, NodeMessage)]) -> Vec<(ControllerId, Notice)> {
    let notices = messages.iter().filter_map(|(to, message)| match message {
        NodeMessage::Notice { notice, .. } => Some((*to, notice.clone())),
        _ => None,
    });
    notices.collect()
}

#[test]
fn an_owner_is_told_of_its_successor() {
    let mut world = owned();
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    let is_page = |message: &NodeMessage| matches!(message, NodeMessage::Rooms { .. });
    let told = world
        .messages
        .iter()
        .filter(|(to, message)| *to == OLD && !is_page(message));
    let told: Vec<_> = told.map(|(_, message)| message.clone()).collect();
    assert!(
        matches!(
            &told[..],
            [NodeMessage::Refused {
                epoch: Epoch(1),
                why: Refusal::Outdated(Epoch(2)),
                ..
            }]
        ),
        "{told:?}"
    );
    world.say(NEW, 3, RoomContent::Claim).unwrap();
    let is_refused = |(_, message): &(ControllerId, NodeMessage)| matches!(message, NodeMessage::Refused { .. });
    assert!(!world.messages.iter().any(is_refused), "nobody succeeds itself");
}

#[test]
fn a_notice_goes_to_the_owner_of_its_room_only() {
    let mut world = owned();
    world.connect(NEW);
    world.say_of("attic", NEW, 1, RoomContent::Claim).unwrap();
    world.say_of("attic", NEW, 1, RoomContent::Command(open(3))).unwrap();
    world
        .say_of("attic", NEW, 1, RoomContent::Command(publish(13, 3)))
        .unwrap();
    for (transport, owner) in [(1, OLD), (3, NEW)] {
        let notice = Notice::Disconnected {
            transport: TransportId(transport),
        };
        world.notice(notice.clone());
        assert_eq!(notices(&world.messages), [(owner, notice)]);
    }
    let voice = |track| AudioActivity {
        track: TrackId(track),
        level: 30,
        active: std::time::Duration::from_millis(100),
    };
    world.notice(Notice::Audio(vec![voice(11), voice(13), voice(12), voice(99)]));
    let of_attic = (NEW, Notice::Audio(vec![voice(13)]));
    let of_lobby = (OLD, Notice::Audio(vec![voice(11), voice(12)]));
    assert_eq!(notices(&world.messages), [of_attic, of_lobby]);
    assert_eq!(world.fence.counters()[Counter::Homeless], 1);
}

#[test]
fn a_new_owner_gets_the_parts_and_then_the_states() {
    let mut world = owned();
    for (part, blob) in [("ada", &[1][..]), ("bob", &[2]), ("ada", &[3]), ("eve", &[4])] {
        world.say(OLD, 1, save(part, blob)).unwrap();
    }
    let forget = RoomContent::Forget { part: "eve".into() };
    world.say(OLD, 1, forget).unwrap();
    let connected = Notice::Connected {
        transport: TransportId(1),
        srtp: None,
    };
    let started = Notice::TrackStarted { track: TrackId(11) };
    world.notice(started.clone());
    world.disconnect(OLD);
    world.notice(connected.clone());
    assert_eq!(world.messages, []);
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    let saved = |part: &str, blob: &[u8]| NodeMessage::Saved {
        room: "lobby".into(),
        epoch: Epoch(2),
        part: part.into(),
        blob: blob.into(),
    };
    let claimed = NodeMessage::Claimed {
        room: "lobby".into(),
        epoch: Epoch(2),
        revision: 1,
    };
    let notice = |notice| NodeMessage::Notice {
        room: Some("lobby".into()),
        notice,
    };
    let expected = [
        saved("ada", &[3]),
        saved("bob", &[2]),
        claimed,
        notice(connected),
        notice(started),
    ];
    world.messages.retain(|(to, _)| *to == NEW);
    assert_eq!(world.messages, expected.map(|message| (NEW, message)));
    world.say(NEW, 2, RoomContent::End).unwrap();
    assert_eq!(world.fence.parts_bytes, 0);
}

#[test]
fn a_transport_that_closed_while_nobody_listened_is_told_to_the_next_owner() {
    let mut world = owned();
    world.disconnect(OLD);
    let closed = Notice::Closed {
        transport: TransportId(2),
        reason: CloseReason::ConsentExpired,
    };
    world.notice(closed.clone());
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(notices(&world.messages), [(NEW, closed)]);
    world.say(NEW, 2, RoomContent::Complete).unwrap();
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(notices(&world.messages), [], "once everything was said it knows");
}

#[test]
fn messages_that_an_owner_has_not_answered_do_not_hold_back_their_senders() {
    let mut world = owned();
    let [first, second, third, fourth] = [1, 2, 3, 4].map(|number| received(1, number));
    world.notice(first.1);
    world.notice(second.1);
    assert_eq!((world.out.len(), world.messages.len()), (0, 1));
    let handled = |message| Command::MessageHandled { message };
    world.command(OLD, 1, handled(first.0)).unwrap();
    world.disconnect(OLD);
    assert_eq!(world.out, [handled(second.0)]);
    world.notice(third.1);
    assert_eq!(world.out, [handled(third.0)], "nobody gets it");
    world.connect(OLD);
    world.notice(fourth.1);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(world.out, [handled(fourth.0)], "a paused owner does not answer");
    assert_eq!(world.fence.counters()[Counter::LostMessage], 3);
}

#[test]
fn messages_that_must_arrive_go_to_the_next_owner() {
    let mut world = owned();
    let [first, second, third] = [1, 2, 3].map(|number| received_on("_reliable", 1, number));
    let handled = |message| Command::MessageHandled { message };
    world.notice(first.1);
    world.notice(second.1.clone());
    world.command(OLD, 1, handled(first.0)).unwrap();
    world.disconnect(OLD);
    world.notice(third.1.clone());
    assert_eq!(world.out, [], "nobody has dealt with them");
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    let expected = [second.1, third.1].map(|notice| (NEW, notice));
    assert_eq!(notices(&world.messages), expected);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(notices(&world.messages), [], "the owner has them");
    world.command(NEW, 2, handled(second.0)).unwrap();
    world.say(NEW, 2, RoomContent::End).unwrap();
    assert!(
        world.out.contains(&handled(third.0)),
        "its sender does not wait for ever"
    );
    assert_eq!(world.fence.counters()[Counter::LostMessage], 0);
}

#[test]
fn a_node_keeps_messages_up_to_a_limit() {
    let mut world = owned();
    world.disconnect(OLD);
    let payload: Arc<[u8]> = vec![0; 1 << 20].into();
    let most = (crate::limits::KEPT_MESSAGES_BYTES_MAX >> 20) as u64;
    for number in 0..most {
        let (message, _) = received(1, number);
        world.notice(Notice::MessageReceived {
            transport: TransportId(1),
            label: "_reliable".into(),
            payload: payload.clone(),
            message,
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
    }
    assert_eq!(
        world.fence.counters()[Counter::LostMessage],
        1,
        "each costs a little more than its payload"
    );
}

#[test]
fn a_part_over_a_limit_is_refused_and_the_call_goes_on() {
    let mut world = owned();
    let long = vec![0; PART_LEN_MAX + 1];
    assert_eq!(world.say(OLD, 1, save("ada", &long)), Err(Refusal::LongPart));
    let name = "n".repeat(257);
    assert_eq!(world.say(OLD, 1, save(&name, &[])), Err(Refusal::LongPart));
    let parts = PARTS_BYTES_PER_ROOM_MAX / PART_LEN_MAX;
    for part in 0..parts - 1 {
        world.say(OLD, 1, save(&part.to_string(), &long[1..])).unwrap();
    }
    assert_eq!(world.say(OLD, 1, save("last", &long[1..])), Err(Refusal::FullRoom));
    assert_eq!(world.say(OLD, 1, save("0", &[])), Ok(()), "a shorter one makes place");
    assert_eq!(world.say(OLD, 1, save("last", &long[1..])), Ok(()));
    let rest = crate::limits::PARTS_BYTES_MAX / PARTS_BYTES_PER_ROOM_MAX;
    let mut refused = 0;
    for room in 0..rest {
        let name = room.to_string();
        world.say_of(&name, OLD, 1, RoomContent::Claim).unwrap();
        for part in 0..parts - 1 {
            let part = save(&part.to_string(), &long[1..]);
            match world.say_of(&name, OLD, 1, part) {
                Ok(()) => assert_eq!(refused, 0),
                Err(why) => {
                    assert_eq!(why, Refusal::FullNode);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0);
    assert_eq!(world.fence.counters()[Counter::FullNode], refused);
    assert_eq!(world.command(OLD, 1, close(1)), Ok(()));
}

#[test]
fn ten_thousand_rooms_are_told_in_pages() {
    let mut world = World::default();
    for room in 0..10_000 {
        world.say_of(&room.to_string(), OLD, 2, RoomContent::Claim).unwrap();
    }
    world.connect(NEW);
    let pages = world.messages.iter().map(|(_, message)| match message {
        NodeMessage::Rooms { rooms, is_last } => (rooms.len(), *is_last),
        other => panic!("a page, and not {other:?}"),
    });
    let pages: Vec<(usize, bool)> = pages.collect();
    assert_eq!(pages.iter().map(|(len, _)| len).sum::<usize>(), 10_000);
    assert!(pages.iter().all(|(len, _)| *len <= ROOMS_PER_PAGE));
    let (_, is_last) = pages.split_last().map(|(last, rest)| (rest, last.1)).unwrap();
    assert!(is_last && pages.iter().filter(|(_, is_last)| *is_last).count() == 1);
}

#[test]
fn everybody_learns_where_the_node_is() {
    let mut world = World::default();
    let node = Node {
        node: NodeId(9),
        addresses: Vec::new(),
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    };
    world.connect(OLD);
    world.notice(Notice::Node(node.clone()));
    assert_eq!(notices(&world.messages), [(OLD, Notice::Node(node.clone()))]);
    world.connect(NEW);
    assert_eq!(notices(&world.messages), [(NEW, Notice::Node(node))]);
}

#[test]
fn states_end_with_what_they_are_of() {
    let mut world = owned();
    for notice in [
        Notice::TrackStarted { track: TrackId(12) },
        Notice::SubscriptionStarted {
            subscription: SubscriptionId(21),
        },
        Notice::Connected {
            transport: TransportId(2),
            srtp: None,
        },
    ] {
        world.notice(notice);
    }
    world.command(OLD, 1, close(2)).unwrap();
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(notices(&world.messages), []);
}
