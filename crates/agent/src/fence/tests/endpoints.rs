//! Messages that a node passes on by itself.

use southbound::{
    DataTrackRoute, Linked, MessageEndpoint, MessageId, MessageProtocol, MessageRights, NodeId, Posted, SignedMessage,
};

use super::*;

/// Messages in words: a number, then the identities that it is for.
#[derive(Debug)]
pub(super) struct Words;

impl MessageProtocol for Words {
    fn read(&self, sender: &MessageEndpoint, label: &str, payload: &[u8]) -> Option<Posted> {
        let text = std::str::from_utf8(payload).ok()?;
        if label == "_data_track" {
            return Some(Posted::Frame {
                handle: text.parse().ok()?,
            });
        }
        let (number, to) = text.split_once(' ').unwrap_or((text, ""));
        sender.rights.publish.then(|| {
            Posted::Message(SignedMessage {
                label: if label == "_reliable" { "_reliable" } else { "_lossy" },
                payload: format!("{}: {text}", sender.identity).into_bytes().into(),
                reliable: label == "_reliable",
                sequence: number.parse().unwrap_or(0),
                identities: to.split_whitespace().map(str::to_owned).collect(),
                sids: Vec::new(),
            })
        })
    }

    fn with_handle(&self, _: &[u8], handle: u16) -> Arc<[u8]> {
        handle.to_string().into_bytes().into()
    }
}

pub(super) fn endpoint(transport: u64, identity: &str, number: u64) -> MessageEndpoint {
    MessageEndpoint {
        transport: TransportId(transport),
        uplink: Some(TransportId(transport + 100)),
        identity: identity.into(),
        sid: format!("PA_{identity}").into(),
        rights: MessageRights {
            publish: true,
            ..MessageRights::default()
        },
        last_sequence: 0,
        number,
    }
}

pub(super) fn set(endpoint: MessageEndpoint) -> Command {
    Command::SetEndpoint(Box::new(endpoint))
}

/// A room with Ada at 1, Ben at 2 and Cleo at 3, and nobody elsewhere.
pub(super) fn chatting() -> World {
    let mut world = World {
        fence: Fence::new(NodeId(1), Box::new(Words)),
        ..World::default()
    };
    world.connect(OLD);
    world.say(OLD, 1, RoomContent::Claim).unwrap();
    for (number, identity) in [(1, "ada"), (2, "ben"), (3, "cleo")] {
        for transport in [number, number + 100] {
            world.command(OLD, 1, open(transport)).unwrap();
        }
        world.command(OLD, 1, set(endpoint(number, identity, number))).unwrap();
        assert_eq!(world.out, [], "the agent has no endpoints");
    }
    world
        .command(OLD, 1, Command::SetElsewhere { elsewhere: false })
        .unwrap();
    world
}

pub(super) fn arrives(world: &mut World, transport: u64, label: &str, text: &str, number: u64) -> MessageId {
    let message = MessageId {
        node: NodeId(1),
        number,
    };
    world.notice(received(transport, label, text, message));
    message
}

/// The notice of a message that has arrived.
pub(super) fn received(transport: u64, label: &str, text: &str, message: MessageId) -> Notice {
    Notice::MessageReceived {
        transport: TransportId(transport),
        label: label.into(),
        payload: text.as_bytes().into(),
        message,
        reliable: label == "_reliable",
        passed_on: None,
        linked: Linked::default(),
    }
}

pub(super) fn sent(to: &[u64], label: &str, text: &str, message: Option<MessageId>) -> Command {
    Command::Send {
        to: to.iter().copied().map(TransportId).collect(),
        label: label.into(),
        payload: text.as_bytes().into(),
        reliable: label == "_reliable",
        message,
    }
}

/// The number up to which the owner was told that a message was passed on.
pub(super) fn told(world: &World) -> Option<Option<u64>> {
    let [(OLD, NodeMessage::Notice { notice, .. })] = &world.messages[..] else {
        return None;
    };
    match notice {
        Notice::MessageReceived { passed_on, .. } => Some(*passed_on),
        _ => None,
    }
}

#[test]
fn messages_go_on_without_an_owner() {
    let mut world = chatting();
    world.disconnect(OLD);
    for (number, (from, label, text, to)) in [
        (1, "_reliable", "1", &[2, 3][..]),
        (101, "_reliable", "2 cleo", &[3]),
        (3, "_lossy", "0", &[1, 2]),
    ]
    .into_iter()
    .enumerate()
    {
        let message = arrives(&mut world, from, label, text, number as u64);
        let name = if from == 3 { "cleo" } else { "ada" };
        let expected = sent(to, label, &format!("{name}: {text}"), Some(message));
        assert_eq!(world.out, [expected, Command::MessageHandled { message }]);
    }
    assert_eq!(world.fence.counters()[Counter::PassedOn], 3);
    assert_eq!(world.fence.counters()[Counter::LostMessage], 0);
}

#[test]
fn the_owner_is_told_of_messages_for_somebody_elsewhere() {
    let mut world = chatting();
    arrives(&mut world, 1, "_lossy", "0 ben dora", 1);
    assert_eq!(told(&world), Some(Some(3)), "nobody here is dora");
    assert_eq!(world.out.len(), 1, "ben has it");
    arrives(&mut world, 1, "_lossy", "0 ben", 2);
    assert_eq!(told(&world), None);
    world
        .command(OLD, 1, Command::SetElsewhere { elsewhere: true })
        .unwrap();
    arrives(&mut world, 1, "_lossy", "0", 3);
    assert_eq!(told(&world), Some(Some(3)));
    world
        .command(
            OLD,
            1,
            Command::RemoveEndpoint {
                transport: TransportId(1),
            },
        )
        .unwrap();
    arrives(&mut world, 1, "_lossy", "0", 4);
    assert_eq!(
        (told(&world), world.out.len()),
        (Some(None), 0),
        "it is not from an endpoint"
    );
}

#[test]
fn a_new_owner_hears_of_messages_until_it_has_said_where_everybody_is() {
    let mut world = chatting();
    world.disconnect(OLD);
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    arrives(&mut world, 1, "_reliable", "1", 1);
    let [(NEW, NodeMessage::Notice { notice, .. })] = &world.messages[..] else {
        panic!("one notice, and not {:?}", world.messages);
    };
    assert!(matches!(notice, Notice::MessageReceived { passed_on: Some(3), .. }));
    for (number, identity) in [(1, "ada"), (2, "ben")] {
        for transport in [number, number + 100] {
            world.command(NEW, 2, open(transport)).unwrap();
        }
        world.command(NEW, 2, set(endpoint(number, identity, number))).unwrap();
    }
    world.say(NEW, 2, RoomContent::Complete).unwrap();
    world
        .command(NEW, 2, Command::SetElsewhere { elsewhere: false })
        .unwrap();
    let message = arrives(&mut world, 1, "_reliable", "2", 2);
    let expected = sent(&[2], "_reliable", "ada: 2", Some(message));
    assert_eq!(
        world.out,
        [expected, Command::MessageHandled { message }],
        "cleo is gone"
    );
    let message = arrives(&mut world, 1, "_reliable", "2", 3);
    assert_eq!(
        world.out,
        [Command::MessageHandled { message }],
        "it was sent before the takeover"
    );
    assert_eq!(world.fence.counters()[Counter::Repeated], 1);
}

#[test]
fn somebody_who_comes_back_gets_what_it_missed() {
    let mut world = chatting();
    for (number, text) in ["1", "2 ben", "3 cleo", "4"].into_iter().enumerate() {
        arrives(&mut world, 1, "_reliable", text, number as u64);
    }
    let resend = |sequence| Command::Resend {
        transport: TransportId(2),
        received: vec![("PA_ada".into(), sequence), ("PA_nobody".into(), 0)],
    };
    world.command(OLD, 1, resend(1)).unwrap();
    let missed = ["ada: 2 ben", "ada: 4"].map(|text| sent(&[2], "_reliable", text, None));
    assert_eq!(world.out, missed);
    world.command(OLD, 1, resend(4)).unwrap();
    assert_eq!(world.out, []);
}

#[test]
fn messages_of_a_sender_are_remembered_up_to_a_limit() {
    let mut world = chatting();
    let long = "x".repeat(60_000);
    for number in 1..100 {
        arrives(&mut world, 1, "_reliable", &format!("{number} ben {long}"), number);
    }
    let resend = Command::Resend {
        transport: TransportId(2),
        received: vec![("PA_ada".into(), 0)],
    };
    world.command(OLD, 1, resend).unwrap();
    let bytes = world.out.iter().map(|command| match command {
        Command::Send { payload, .. } => payload.len(),
        other => panic!("a message, and not {other:?}"),
    });
    let bytes: usize = bytes.sum();
    // The names of receivers count as well.
    assert!((1 << 18..=crate::limits::SENT_MESSAGES_MAX).contains(&bytes), "{bytes}");
}

#[test]
fn packets_of_a_data_track_go_to_its_receivers() {
    let mut world = chatting();
    let route = DataTrackRoute {
        endpoint: TransportId(1),
        handle: 7,
        sent_as: 9,
        receivers: vec![TransportId(2), TransportId(55)],
        elsewhere: false,
        nodes: Vec::new(),
    };
    world
        .command(OLD, 1, Command::SetDataTrack(Box::new(route.clone())))
        .unwrap();
    let message = arrives(&mut world, 101, "_data_track", "7", 1);
    let expected = sent(&[2], "_data_track", "9", Some(message));
    assert_eq!(world.out, [expected, Command::MessageHandled { message }]);
    arrives(&mut world, 101, "_data_track", "8", 2);
    assert_eq!((told(&world), world.out.len()), (Some(None), 0), "the owner judges it");
    let elsewhere = DataTrackRoute {
        elsewhere: true,
        ..route
    };
    world
        .command(OLD, 1, Command::SetDataTrack(Box::new(elsewhere)))
        .unwrap();
    arrives(&mut world, 101, "_data_track", "7", 3);
    assert_eq!((told(&world), world.out.len()), (Some(Some(3)), 1));
    world
        .command(
            OLD,
            1,
            Command::RemoveDataTrack {
                endpoint: TransportId(1),
                handle: 7,
            },
        )
        .unwrap();
    arrives(&mut world, 101, "_data_track", "7", 4);
    assert_eq!((told(&world), world.out.len()), (Some(None), 0));
}

#[test]
fn the_last_messages_of_somebody_who_leaves_reach_the_owner() {
    let mut world = chatting();
    for transport in [1, 101] {
        world.command(OLD, 1, close(transport)).unwrap();
    }
    arrives(&mut world, 101, "_reliable", "1", 1);
    assert_eq!((told(&world), world.out.len()), (Some(None), 0));
    assert_eq!(world.fence.counters()[Counter::Homeless], 0);
}

#[test]
fn an_endpoint_needs_its_transport() {
    let mut world = chatting();
    world.command(OLD, 1, set(endpoint(8, "mallory", 8))).unwrap();
    arrives(&mut world, 8, "_lossy", "0", 1);
    assert_eq!((told(&world), world.out.len()), (None, 1), "it is nobody's");
    assert_eq!(world.fence.counters()[Counter::Homeless], 1);
}
