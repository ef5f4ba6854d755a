//! Data packets: signed by the server, delivered to whom they are for.

use std::sync::Arc;

use controller::Counter;
use controller::PeerMode::{Dual, Single};
use livekit_protocol::data_packet::{Kind, Value};
use livekit_protocol::data_stream::header::ContentHeader;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::{ChatMessage, DataPacket, LeaveRequest, SpeakerInfo, Transcription, UserPacket, data_stream};
use prost::Message as _;
use southbound::{Command, Linked, Notice, TransportId};

use crate::node::message_id;
use crate::world::{Client, World, claims};

fn packet(sequence: u32, to: &[&str]) -> DataPacket {
    DataPacket {
        participant_identity: "somebody else".to_owned(),
        destination_identities: to.iter().map(|identity| (*identity).to_owned()).collect(),
        sequence,
        value: Some(Value::User(UserPacket {
            payload: b"hello".to_vec(),
            ..UserPacket::default()
        })),
        ..DataPacket::default()
    }
}

/// The first transport a client has is the one it publishes on, except with two, where the one it
/// receives on was opened first.
fn uplink(world: &World, client: &Client) -> TransportId {
    *world.transports_of(client).last().unwrap()
}

fn send(world: &mut World, from: &Client, label: &str, packet: &DataPacket) {
    let transport = uplink(world, from);
    let payload: Arc<[u8]> = packet.encode_to_vec().into();
    world.notice(Notice::MessageReceived {
        transport,
        label: Arc::from(label),
        payload,
        message: message_id(1),
        reliable: true,
        passed_on: None,
        linked: Linked::default(),
    });
}

fn delivered(world: &World) -> Vec<(TransportId, String, DataPacket)> {
    let sent = world.new_commands().iter().filter_map(|command| match command {
        Command::Send { to, label, payload, .. } => Some(
            to.iter()
                .map(|transport| (*transport, label.to_string(), DataPacket::decode(&**payload).unwrap())),
        ),
        _ => None,
    });
    sent.flatten().collect()
}

#[test]
fn a_packet_goes_to_everybody_else_under_its_senders_name() {
    let mut world = World::new();
    let (ada, bob, cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Dual),
    );
    world.clear();
    send(&mut world, &ada, "_reliable", &packet(1, &[]));
    let got = delivered(&world);
    let receivers: Vec<_> = got.iter().map(|(transport, ..)| *transport).collect();
    assert_eq!(receivers, [world.transports_of(&bob)[0], world.transports_of(&cat)[0]]);
    for (_, label, packet) in got {
        assert_eq!(label, "_reliable");
        assert_eq!(
            (packet.participant_identity.as_str(), packet.participant_sid.as_str()),
            ("ada", ada.sid.as_str())
        );
        assert_eq!((packet.kind(), packet.sequence), (Kind::Reliable, 1));
    }
}

#[test]
fn a_packet_with_destinations_goes_there_only() {
    let mut world = World::new();
    let (ada, bob, _cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Single),
    );
    world.clear();
    send(&mut world, &ada, "_lossy", &packet(0, &["bob", "nobody"]));
    assert_eq!(
        delivered(&world)
            .iter()
            .map(|(transport, ..)| *transport)
            .collect::<Vec<_>>(),
        world.transports_of(&bob)
    );
    world.clear();
    let mut old = packet(0, &[]);
    if let Some(Value::User(user)) = &mut old.value {
        user.destination_sids = vec!["PA_nobody".to_owned()];
    }
    send(&mut world, &ada, "_lossy", &old);
    assert!(
        delivered(&world).is_empty(),
        "a message to nobody is not a message to all"
    );
}

#[test]
fn a_reliable_packet_that_comes_twice_is_delivered_once() {
    let mut world = World::new();
    let (ada, _bob) = (world.join("ada", Single), world.join("bob", Single));
    world.clear();
    for sequence in [1, 2, 2, 1, 3] {
        send(&mut world, &ada, "_reliable", &packet(sequence, &[]));
    }
    assert_eq!(
        delivered(&world)
            .iter()
            .map(|(.., packet)| packet.sequence)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(world.count(Counter::DuplicateDataPacket), 2);
}

#[test]
fn data_needs_permission_and_nobody_speaks_for_the_server() {
    let mut world = World::new();
    let mut quiet = claims("ada");
    quiet.video.can_publish_data = Some(false);
    let (ada, bob) = (world.join_as(&quiet, Single), world.join("bob", Single));
    world.clear();
    send(&mut world, &ada, "_reliable", &packet(1, &[]));
    let speakers = livekit_protocol::ActiveSpeakerUpdate {
        speakers: vec![SpeakerInfo::default()],
    };
    send(
        &mut world,
        &bob,
        "_reliable",
        &DataPacket {
            value: Some(Value::Speaker(speakers)),
            ..DataPacket::default()
        },
    );
    assert!(delivered(&world).is_empty());
    assert_eq!(world.count(Counter::DataNotAllowed), 2);
}

#[test]
fn bytes_on_an_applications_own_channel_go_to_everybody_else_as_reliable_user_data() {
    let mut world = World::new();
    let mut quiet = claims("cat");
    quiet.video.can_publish_data = Some(false);
    let (ada, bob, cat) = (
        world.join("ada", Single),
        world.join("bob", Dual),
        world.join_as(&quiet, Single),
    );
    world.clear();
    for from in [&ada, &cat] {
        let transport = uplink(&world, from);
        world.notice(Notice::MessageReceived {
            transport,
            label: Arc::from("pubraw"),
            payload: b"hello".to_vec().into(),
            message: message_id(1),
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
    }
    let got = delivered(&world);
    let receivers: Vec<_> = got.iter().map(|(transport, ..)| *transport).collect();
    assert_eq!(receivers, [world.transports_of(&bob)[0], world.transports_of(&cat)[0]]);
    for (_, label, packet) in got {
        assert_eq!((label.as_str(), packet.kind()), ("_reliable", Kind::Reliable));
        assert_eq!((packet.participant_identity.as_str(), packet.sequence), ("ada", 0));
        let Some(Value::User(user)) = packet.value else {
            panic!("not user data")
        };
        assert_eq!(user.payload, b"hello");
    }
    assert_eq!(world.count(Counter::DataNotAllowed), 1);
}

#[test]
fn malformed_packets_are_counted_and_dropped() {
    let mut world = World::new();
    let (ada, _bob) = (world.join("ada", Single), world.join("bob", Single));
    world.clear();
    let transport = uplink(&world, &ada);
    for (label, payload) in [
        ("_reliable", vec![0xff; 20]),
        ("_lossy", vec![0; 70_000]),
        ("_data_track", vec![1]),
    ] {
        world.notice(Notice::MessageReceived {
            transport,
            label: Arc::from(label),
            payload: payload.into(),
            message: message_id(1),
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
    }
    assert!(delivered(&world).is_empty());
    assert_eq!(world.count(Counter::BadDataPacket), 3);
}

/// Packets that an agent may send for somebody else, packets that it sends in its own name, and the
/// name they arrive under.
#[test]
fn an_agent_writes_in_the_name_of_whom_it_writes_down() {
    let text = |header| {
        Value::StreamHeader(data_stream::Header {
            content_header: Some(header),
            ..data_stream::Header::default()
        })
    };
    let sayings = [
        (Value::ChatMessage(ChatMessage::default()), true),
        (
            text(ContentHeader::TextHeader(data_stream::TextHeader::default())),
            true,
        ),
        (
            text(ContentHeader::ByteHeader(data_stream::ByteHeader::default())),
            false,
        ),
        (Value::StreamChunk(data_stream::Chunk::default()), false),
        (Value::User(UserPacket::default()), false),
    ];
    for (kind, grant, is_agent) in [("agent", false, true), ("", true, true), ("sip", false, false)] {
        let mut world = World::new();
        let mut claims = claims("agent");
        (claims.kind, claims.video.agent) = (kind.to_owned(), grant);
        let agent = world.join_as(&claims, Single);
        let _user = world.join("user", Single);
        for (value, is_for_others) in &sayings {
            for named in ["user", "agent", ""] {
                world.clear();
                let packet = DataPacket {
                    participant_identity: named.to_owned(),
                    value: Some(value.clone()),
                    ..DataPacket::default()
                };
                send(&mut world, &agent, "_reliable", &packet);
                let packet = delivered(&world).remove(0).2;
                let speaks_for_user = is_agent && *is_for_others && named == "user";
                let expected = if speaks_for_user { "user" } else { "agent" };
                assert_eq!(packet.participant_identity, expected, "{named:?} {value:?}");
                assert_eq!(packet.participant_sid, agent.sid);
                let generated = match packet.value.unwrap() {
                    Value::ChatMessage(message) => message.generated,
                    Value::StreamHeader(data_stream::Header {
                        content_header: Some(ContentHeader::TextHeader(header)),
                        ..
                    }) => header.generated,
                    _ => false,
                };
                assert_eq!(generated, speaks_for_user);
            }
        }
    }
}

#[test]
fn agents_by_kind_and_by_grant_transcribe_and_nobody_else() {
    for (kind, grant, passes) in [("agent", false, true), ("", true, true), ("", false, false)] {
        let mut world = World::new();
        let mut claims = claims("agent");
        claims.kind = kind.to_owned();
        claims.video.agent = grant;
        let agent = world.join_as(&claims, Single);
        let _user = world.join("user", Single);
        world.clear();
        let packet = DataPacket {
            value: Some(Value::Transcription(Transcription::default())),
            ..DataPacket::default()
        };
        send(&mut world, &agent, "_reliable", &packet);
        assert_eq!(delivered(&world).len(), usize::from(passes), "{kind:?} {grant}");
    }
}

#[test]
fn every_message_is_said_to_be_dealt_with_whatever_became_of_it() {
    let mut world = World::new();
    let (ada, _bob) = (world.join("ada", Single), world.join("bob", Single));
    let transport = uplink(&world, &ada);
    let good: Arc<[u8]> = packet(1, &[]).encode_to_vec().into();
    let cases = [
        (transport, good.clone()),
        (transport, Arc::from([0xff; 9])),
        (TransportId(999), good),
    ];
    for (number, (transport, payload)) in cases.into_iter().enumerate() {
        world.clear();
        let message = message_id(number as u64);
        world.notice(Notice::MessageReceived {
            transport,
            label: Arc::from("_reliable"),
            payload,
            message,
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
        let commands = world.new_commands();
        assert_eq!(commands.last(), Some(&Command::MessageHandled { message }));
        let passed_on = commands
            .iter()
            .any(|command| matches!(command, Command::Send { message: Some(of), .. } if *of == message));
        assert_eq!(passed_on, number == 0);
    }
}

#[test]
fn messages_that_arrived_before_their_sender_left_are_passed_on_in_its_name() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let transport = uplink(&world, &ada);
    let say = |world: &mut World, sequence| {
        world.notice(Notice::MessageReceived {
            transport,
            label: Arc::from("_reliable"),
            payload: packet(sequence, &[]).encode_to_vec().into(),
            message: message_id(1),
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
    };
    say(&mut world, 1);
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    world.clear();
    say(&mut world, 1);
    say(&mut world, 2);
    let got = delivered(&world);
    let [(to, _, packet)] = &got[..] else {
        panic!("only the second is new: {got:?}")
    };
    assert_eq!(*to, world.transports_of(&bob)[0]);
    assert_eq!((packet.participant_identity.as_str(), packet.sequence), ("ada", 2));
    world.advance(controller::limits::LEAVING_TIME);
    say(&mut world, 3);
    assert_eq!((delivered(&world).len(), world.count(Counter::StaleNotice)), (1, 1));
}

#[test]
fn reliable_data_waits_for_a_channel_that_is_not_open_yet() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join_unconnected(&claims("bob"), Dual));
    world.clear();
    send(&mut world, &ada, "_lossy", &packet(0, &[]));
    assert!(delivered(&world).is_empty());
    send(&mut world, &ada, "_reliable", &packet(1, &[]));
    let receivers: Vec<_> = delivered(&world).iter().map(|(transport, ..)| *transport).collect();
    assert_eq!(receivers, world.transports_of(&bob));
}

#[test]
fn a_packet_of_the_size_that_descriptions_say_is_passed_on() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let sized = |size: usize| {
        let mut packet = packet(0, &[]);
        let user = |payload| {
            Some(Value::User(UserPacket {
                payload,
                ..UserPacket::default()
            }))
        };
        packet.value = user(Vec::new());
        packet.value = user(vec![7; size - packet.encoded_len() - 6]);
        packet
    };
    world.clear();
    send(&mut world, &ada, "_reliable", &sized(65_400));
    assert_eq!(delivered(&world).len(), 1);
    send(&mut world, &ada, "_reliable", &sized(65_536));
    assert_eq!((delivered(&world).len(), world.count(Counter::BadDataPacket)), (1, 1));
    let _ = bob;
}
