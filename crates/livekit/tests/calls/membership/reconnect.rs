//! Coming back: with the media still flowing, or all over again.

use std::sync::Arc;
use std::time::Duration;

use controller::ConnectionId;
use controller::PeerMode::{Dual, Single};
use livekit_protocol::leave_request::Action;
use livekit_protocol::participant_info::State;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{
    DataChannelReceiveState, DataPacket, DisconnectReason, SimulateScenario, SyncState, TrackInfo,
    TrackPublishedResponse, TrackSource, UserPacket, data_packet,
};
use prost::Message as _;
use southbound::{CloseReason, Command, Linked, Notice};
use wire::MediaKind;

use crate::node::message_id;
use crate::world::{World, claims};

fn reconnected(world: &mut World, connection: ConnectionId) -> u32 {
    world.expect(connection, "reconnect", |message| match message {
        Message::Reconnect(reconnect) => Some(reconnect.last_message_seq),
        _ => None,
    })
}

#[test]
fn a_resumed_session_keeps_its_media_and_gets_missed_news() {
    let mut world = World::new();
    let (mut ada, bob, cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Single),
    );
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.hang_up(ada.connection);
    world.say(cat.connection, Said::Leave(Default::default()));
    world.advance(Duration::from_secs(3));
    world.clear();
    let connection = world.resume(&ada);
    reconnected(&mut world, connection);
    let updates = world.take(connection, |message| matches!(message, Message::Update(_)));
    let [Message::Update(update)] = &updates[..] else {
        panic!("{updates:?}")
    };
    let states: Vec<_> = update
        .participants
        .iter()
        .map(|info| (info.identity.as_str(), info.state()))
        .collect();
    assert_eq!(
        states,
        [
            ("ada", State::Active),
            ("bob", State::Active),
            ("cat", State::Disconnected)
        ]
    );
    assert_eq!(update.participants[0].tracks[0].sid, camera.sid);
    assert!(
        world
            .take(connection, |message| matches!(message, Message::RoomUpdate(_)))
            .len()
            == 1
    );
    assert!(
        world.new_commands().is_empty(),
        "media is not touched: {:?}",
        world.new_commands()
    );
    assert_eq!(world.seen(bob.connection, "ada"), None, "others notice nothing");

    ada.connection = connection;
    ada.browser.restart_ice();
    world.offer(&mut ada);
    let [Command::Open(open), Command::Connect { transport, remote }] = world.new_commands() else {
        panic!("{:?}", world.new_commands())
    };
    assert_eq!(
        (open.transport, *transport),
        (world.transports_of(&ada)[0], world.transports_of(&ada)[0])
    );
    assert_eq!(remote.credentials.ufrag, "new1");
}

#[test]
fn on_two_connections_the_server_restarts_its_own() {
    let mut world = World::new();
    let mut ada = world.join("ada", Dual);
    world.hang_up(ada.connection);
    world.clear();
    ada.connection = world.resume(&ada);
    reconnected(&mut world, ada.connection);
    let restarted = world
        .new_commands()
        .iter()
        .filter(|command| matches!(command, Command::Open(_)))
        .count();
    assert_eq!(restarted, 1);
    world.settle(&mut ada);
    assert!(matches!(world.new_commands().last(), Some(Command::Connect { .. })));
}

#[test]
fn an_older_connection_gives_way_to_a_newer() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let connection = world.resume(&ada);
    reconnected(&mut world, connection);
    assert!(world.closed.contains_key(&ada.connection));
    world.hang_up(ada.connection);
    world.advance(Duration::from_secs(70));
    assert_eq!(
        world.controller.population().participants,
        1,
        "the end of the old connection means nothing"
    );
}

#[test]
fn an_unknown_session_has_to_start_over() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    ada.sid = "PA_nobody".to_owned();
    let connection = world.resume(&ada);
    let leave = world.expect_leave(connection);
    assert_eq!(
        (leave.reason(), leave.action()),
        (DisconnectReason::StateMismatch, Action::Reconnect)
    );
    assert_eq!(
        world.controller.population().participants,
        1,
        "nobody else is disturbed"
    );
}

#[test]
fn nobody_can_come_back_as_somebody_else() {
    let mut world = World::new();
    let (ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    bob.sid.clone_from(&ada.sid);
    let connection = world.resume(&bob);
    assert_eq!(world.expect_leave(connection).reason(), DisconnectReason::StateMismatch);
}

#[test]
fn a_killed_tab_is_gone_once_its_media_is_silent_too() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let transport = world.transports_of(&ada)[0];
    world.hang_up(ada.connection);
    world.advance(Duration::from_secs(10));
    world.notice(Notice::Disconnected { transport });
    assert_eq!(world.controller.population().participants, 2, "it may come back");
    world.advance(Duration::from_secs(6));
    assert_eq!(world.seen(bob.connection, "ada").unwrap().state(), State::Disconnected);
}

#[test]
fn a_participant_that_leaves_before_media_flowed_is_gone_at_once() {
    let mut world = World::new();
    let bob = world.join("bob", Single);
    let ada = world.join_unconnected(&claims("ada"), Single);
    world.hang_up(ada.connection);
    assert_eq!(world.seen(bob.connection, "ada").unwrap().state(), State::Disconnected);
}

#[test]
fn nobody_is_waited_for_for_ever() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.hang_up(ada.connection);
    world.advance(Duration::from_secs(61));
    assert_eq!(world.controller.population().participants, 0);
}

#[test]
fn a_transport_that_is_gone_means_starting_over() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let transport = world.transports_of(&ada)[0];
    world.notice(Notice::Closed {
        transport,
        reason: CloseReason::ConsentExpired,
    });
    assert_eq!(world.expect_leave(ada.connection).action(), Action::Reconnect);
}

#[test]
fn tracks_that_a_client_claims_to_publish_must_be_known() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    let state = |sid: &str| {
        let track = Some(TrackInfo {
            sid: sid.to_owned(),
            ..TrackInfo::default()
        });
        SyncState {
            publish_tracks: vec![TrackPublishedResponse {
                cid: String::new(),
                track,
            }],
            ..SyncState::default()
        }
    };
    world.say(ada.connection, Said::SyncState(state(&camera.sid)));
    assert!(world.closed.is_empty());
    world.say(ada.connection, Said::SyncState(state("TR_nobody")));
    assert_eq!(
        world.expect_leave(ada.connection).reason(),
        DisconnectReason::StateMismatch
    );
}

#[test]
fn reliable_data_sent_meanwhile_is_sent_again() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let (from, to) = (world.transports_of(&ada)[0], world.transports_of(&bob)[0]);
    for sequence in 1..=3 {
        let user = UserPacket {
            payload: vec![sequence as u8],
            ..UserPacket::default()
        };
        let packet = DataPacket {
            sequence,
            value: Some(data_packet::Value::User(user)),
            ..DataPacket::default()
        };
        let payload = packet.encode_to_vec().into();
        world.notice(Notice::MessageReceived {
            transport: from,
            label: Arc::from("_reliable"),
            payload,
            message: message_id(1),
            reliable: true,
            passed_on: None,
            linked: Linked::default(),
        });
    }
    world.hang_up(bob.connection);
    world.clear();
    let connection = world.resume(&bob);
    assert_eq!(reconnected(&mut world, connection), 0);
    let received = vec![DataChannelReceiveState {
        publisher_sid: ada.sid.clone(),
        last_seq: 1,
    }];
    world.say(
        connection,
        Said::SyncState(SyncState {
            datachannel_receive_states: received,
            ..SyncState::default()
        }),
    );
    let again: Vec<_> = world
        .new_commands()
        .iter()
        .filter_map(|command| match command {
            Command::Send {
                to: receivers, payload, ..
            } if *receivers == [to] => Some(DataPacket::decode(&**payload).unwrap().sequence),
            _ => None,
        })
        .collect();
    assert_eq!(again, [2, 3]);
    world.hang_up(ada.connection);
    let connection = world.resume(&ada);
    assert_eq!(reconnected(&mut world, connection), 3, "the sender learns what arrived");
}

#[test]
fn failures_on_request_happen_to_the_one_who_asks() {
    for (scenario, expected) in [
        (
            Scenario::ServerLeave(true),
            Some((DisconnectReason::ServerShutdown, Action::Disconnect)),
        ),
        (
            Scenario::LeaveRequestFullReconnect(true),
            Some((DisconnectReason::ClientInitiated, Action::Reconnect)),
        ),
        (
            Scenario::Migration(true),
            Some((DisconnectReason::Migration, Action::Resume)),
        ),
        (Scenario::NodeFailure(true), None),
    ] {
        let mut world = World::new();
        let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
        world.say(
            ada.connection,
            Said::Simulate(SimulateScenario {
                scenario: Some(scenario),
            }),
        );
        if let Some(expected) = expected {
            let leave = world.expect_leave(ada.connection);
            assert_eq!((leave.reason(), leave.action()), expected);
        }
        let stays = scenario == Scenario::Migration(true);
        assert_eq!(world.controller.population().participants, if stays { 2 } else { 1 });
        assert!(!world.closed.contains_key(&bob.connection));
    }
}

#[test]
fn a_resume_that_is_made_to_fail_works_the_next_time() {
    for (scenario, told) in [
        (Scenario::DisconnectSignalOnResume(true), true),
        (Scenario::DisconnectSignalOnResumeNoMessages(true), false),
    ] {
        let mut world = World::new();
        let ada = world.join("ada", Single);
        world.say(
            ada.connection,
            Said::Simulate(SimulateScenario {
                scenario: Some(scenario),
            }),
        );
        world.hang_up(ada.connection);
        let first = world.resume(&ada);
        assert_eq!(!world.take(first, |_| true).is_empty(), told);
        assert_eq!(world.closed[&first], 1011);
        world.hang_up(first);
        let second = world.resume(&ada);
        reconnected(&mut world, second);
    }
}
