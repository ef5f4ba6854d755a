//! Data tracks: published, subscribed to, and their packets passed on.

use std::collections::BTreeMap;
use std::sync::Arc;

use controller::Counter;
use controller::PeerMode::{Dual, Single};
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::update_data_subscription::Update;
use livekit_protocol::{
    DataTrackFrameEncoding, DataTrackInfo, LeaveRequest, PublishDataTrackRequest, PublishDataTrackResponse,
    SubscriptionPermission, SyncState, UnpublishDataTrackRequest, UpdateDataSubscription, data_track_frame_encoding,
};
use southbound::{Command, Linked, Notice, TransportId};

use crate::node::message_id;
use crate::world::{Client, World, claims};

const LABEL: &str = "_data_track";

fn request(handle: u32, name: &str) -> PublishDataTrackRequest {
    PublishDataTrackRequest {
        pub_handle: handle,
        name: name.to_owned(),
        ..PublishDataTrackRequest::default()
    }
}

fn publish(world: &mut World, client: &Client, handle: u32, name: &str) -> DataTrackInfo {
    world.say(client.connection, Said::PublishDataTrackRequest(request(handle, name)));
    let published = world.expect(
        client.connection,
        "publish_data_track_response",
        |message| match message {
            Message::PublishDataTrackResponse(response) => response.info.clone(),
            _ => None,
        },
    );
    assert_eq!((published.pub_handle, &*published.name), (handle, name));
    published
}

fn refusal(world: &mut World, client: &Client, request: PublishDataTrackRequest) -> Reason {
    world.say(client.connection, Said::PublishDataTrackRequest(request));
    world.expect(client.connection, "request_response", |message| match message {
        Message::RequestResponse(response) => Some(response.reason()),
        _ => None,
    })
}

fn subscribe(world: &mut World, client: &Client, sid: &str, subscribe: bool) {
    let update = Update {
        track_sid: sid.to_owned(),
        subscribe,
        options: None,
    };
    let request = UpdateDataSubscription { updates: vec![update] };
    world.say(client.connection, Said::UpdateDataSubscription(request));
}

/// Ids of tracks by the handles that a client was told last; `None` if it was told none.
fn handles(world: &mut World, client: &Client) -> Option<BTreeMap<u32, String>> {
    let told = world.take(client.connection, |message| {
        matches!(message, Message::DataTrackSubscriberHandles(_))
    });
    told.into_iter().last().map(|message| match message {
        Message::DataTrackSubscriberHandles(told) => told
            .sub_handles
            .into_iter()
            .map(|(handle, track)| (handle, track.track_sid))
            .collect(),
        _ => unreachable!(),
    })
}

/// A client whose channel of data tracks is open.
fn join(world: &mut World, identity: &str, mode: controller::PeerMode) -> Client {
    let client = world.join(identity, mode);
    for transport in world.transports_of(&client) {
        let label = Arc::from(LABEL);
        world.notice(Notice::ChannelOpened { transport, label });
    }
    client
}

fn send(world: &mut World, from: &Client, packet: &[u8]) {
    let transport = *world.transports_of(from).last().unwrap();
    world.notice(Notice::MessageReceived {
        transport,
        label: Arc::from(LABEL),
        payload: packet.into(),
        message: message_id(1),
        reliable: true,
        passed_on: None,
        linked: Linked::default(),
    });
}

fn sent(world: &World) -> Vec<(Vec<TransportId>, Vec<u8>)> {
    let sent = world.new_commands().iter().filter_map(|command| match command {
        Command::Send {
            to,
            label,
            payload,
            reliable,
            ..
        } => {
            assert_eq!((&**label, *reliable), (LABEL, false));
            Some((to.clone(), payload.to_vec()))
        }
        _ => None,
    });
    sent.collect()
}

/// A packet of one frame, with an extension of two bytes.
fn packet(handle: u16) -> Vec<u8> {
    let mut packet = vec![0b0001_1100, 0];
    packet.extend(handle.to_be_bytes());
    packet.extend([0, 7, 0, 1, 0, 0, 0, 9]);
    packet.extend([0, 1, 2, 2, 0xAA, 0xBB, 0, 0]);
    packet.extend(b"frame");
    packet
}

#[test]
fn a_packet_goes_to_those_who_subscribed_with_their_handle() {
    for mode in [Single, Dual] {
        let mut world = World::new();
        let (ada, bob) = (join(&mut world, "ada", mode), join(&mut world, "bob", mode));
        let (cat, dan) = (join(&mut world, "cat", mode), join(&mut world, "dan", mode));
        let info = publish(&mut world, &ada, 500, "place");
        let seen = world.seen(bob.connection, "ada").unwrap();
        assert_eq!((seen.data_tracks, seen.is_publisher), (vec![info.clone()], true));
        let late = join(&mut world, "eve", mode);
        for receiver in [&bob, &cat] {
            subscribe(&mut world, receiver, &info.sid, true);
            let told = handles(&mut world, receiver).unwrap();
            assert_eq!(told.values().collect::<Vec<_>>(), [&info.sid]);
        }
        world.clear();
        send(&mut world, &ada, &packet(500));
        let told = sent(&world);
        let [(to, payload)] = &told[..] else {
            panic!("not one message: {told:?}");
        };
        // On two connections the first one that a client has is the one it receives on.
        let expected = [&bob, &cat].map(|client| world.transports_of(client)[0]);
        assert_eq!(to, &expected);
        assert_eq!(payload, &packet(1), "only the handle is another");
        for stranger in [&dan, &late] {
            assert_eq!(handles(&mut world, stranger), None);
        }
        subscribe(&mut world, &bob, &info.sid, false);
        assert_eq!(handles(&mut world, &bob), Some(BTreeMap::new()));
        world.clear();
        send(&mut world, &ada, &packet(500));
        assert_eq!(sent(&world)[0].0, [world.transports_of(&cat)[0]]);
    }
}

#[test]
fn all_tracks_are_subscribed_to_where_the_client_asks_for_that() {
    for mode in [Single, Dual] {
        let mut world = World::new();
        let ada = join(&mut world, "ada", mode);
        let first = publish(&mut world, &ada, 1, "a");
        let mut claims = claims("bob");
        claims.video.can_subscribe = Some(false);
        let mut admission = world.admission(&claims, mode, "");
        admission.settings.auto_subscribe_data_track = Some(true);
        let mut bob = world.enter(admission, mode);
        world.negotiate(&mut bob);
        world.connect(&bob);
        let second = publish(&mut world, &ada, 2, "b");
        assert_eq!(handles(&mut world, &bob), None, "not permitted");
        claims.video.can_subscribe = Some(true);
        bob.connection = world.resume_as(&claims, &bob);
        let sids = |told: Option<BTreeMap<u32, String>>| told.unwrap().into_values().collect::<Vec<_>>();
        assert_eq!(sids(handles(&mut world, &bob)), [&*first.sid, &second.sid]);
        subscribe(&mut world, &bob, &first.sid, false);
        let third = publish(&mut world, &ada, 3, "c");
        assert_eq!(sids(handles(&mut world, &bob)), [&*second.sid, &third.sid]);
    }
}

#[test]
fn a_track_ends_with_its_publisher_its_permission_or_on_request() {
    let mut world = World::new();
    let (ada, bob) = (join(&mut world, "ada", Single), join(&mut world, "bob", Single));
    let (first, second) = (publish(&mut world, &ada, 1, "a"), publish(&mut world, &ada, 2, "b"));
    for track in [&first, &second] {
        subscribe(&mut world, &bob, &track.sid, true);
    }
    assert_eq!(handles(&mut world, &bob).unwrap().len(), 2);
    let request = UnpublishDataTrackRequest { pub_handle: 1 };
    world.say(ada.connection, Said::UnpublishDataTrackRequest(request));
    let gone = world.expect(
        ada.connection,
        "unpublish_data_track_response",
        |message| match message {
            Message::UnpublishDataTrackResponse(response) => response.info.clone(),
            _ => None,
        },
    );
    assert_eq!(gone, first);
    let left = handles(&mut world, &bob).unwrap();
    assert_eq!(left.values().collect::<Vec<_>>(), [&second.sid]);
    assert_eq!(world.seen(bob.connection, "ada").unwrap().data_tracks, [second]);
    world.say(ada.connection, Said::UnpublishDataTrackRequest(request));
    assert_eq!(world.count(Counter::NotFound), 1);
    let third = publish(&mut world, &ada, 1, "a");
    assert_ne!(third.sid, first.sid);
    let mut less = claims("ada");
    less.video.can_publish_data = Some(false);
    world.resume_as(&less, &ada);
    assert_eq!(handles(&mut world, &bob), Some(BTreeMap::new()));
    assert_eq!(world.seen(bob.connection, "ada").unwrap().data_tracks, []);
    let cat = join(&mut world, "cat", Single);
    let fourth = publish(&mut world, &cat, 1, "a");
    subscribe(&mut world, &bob, &fourth.sid, true);
    assert_eq!(handles(&mut world, &bob).unwrap().len(), 1);
    world.say(cat.connection, Said::Leave(LeaveRequest::default()));
    assert_eq!(handles(&mut world, &bob), Some(BTreeMap::new()));
    assert_eq!(world.seen(bob.connection, "cat").unwrap().data_tracks, []);
}

#[test]
fn a_publisher_decides_who_receives_its_data_tracks() {
    let mut world = World::new();
    let (ada, bob) = (join(&mut world, "ada", Single), join(&mut world, "bob", Single));
    let info = publish(&mut world, &ada, 1, "a");
    subscribe(&mut world, &bob, &info.sid, true);
    assert_eq!(handles(&mut world, &bob).unwrap().len(), 1);
    for (all_participants, expected) in [(false, 0), (true, 1)] {
        let permission = SubscriptionPermission {
            all_participants,
            track_permissions: vec![],
        };
        world.say(ada.connection, Said::SubscriptionPermission(permission));
        assert_eq!(handles(&mut world, &bob).unwrap().len(), expected);
        world.clear();
        send(&mut world, &ada, &packet(1));
        assert_eq!(sent(&world).len(), expected);
    }
    let mut deaf = claims("bob");
    deaf.video.can_subscribe = Some(false);
    world.resume_as(&deaf, &bob);
    world.clear();
    send(&mut world, &ada, &packet(1));
    assert_eq!(sent(&world), []);
}

#[test]
fn a_client_that_comes_back_is_told_its_handles() {
    let mut world = World::new();
    let (ada, mut bob) = (join(&mut world, "ada", Single), join(&mut world, "bob", Single));
    let info = publish(&mut world, &ada, 1, "a");
    subscribe(&mut world, &bob, &info.sid, true);
    let before = handles(&mut world, &bob);
    bob.connection = world.resume(&bob);
    assert_eq!(handles(&mut world, &bob), before);
    let unknown = PublishDataTrackResponse {
        info: Some(DataTrackInfo {
            sid: "DTR_nobody".to_owned(),
            ..DataTrackInfo::default()
        }),
    };
    let state = SyncState {
        publish_data_tracks: vec![unknown],
        ..SyncState::default()
    };
    world.say(ada.connection, Said::SyncState(state));
    world.expect_leave(ada.connection);
}

#[test]
fn a_data_track_that_cannot_be_is_refused() {
    let mut world = World::new();
    let mut mute = claims("mute");
    mute.video.can_publish_data = Some(false);
    let mute = world.join_as(&mute, Single);
    assert_eq!(refusal(&mut world, &mute, request(1, "a")), Reason::NotAllowed);
    let ada = join(&mut world, "ada", Single);
    publish(&mut world, &ada, 1, "a");
    let nameless = PublishDataTrackRequest {
        frame_encoding: Some(DataTrackFrameEncoding {
            value: Some(data_track_frame_encoding::Value::Custom(String::new())),
        }),
        ..request(2, "b")
    };
    for (request, reason) in [
        (request(0, "b"), Reason::InvalidHandle),
        (request(65_536, "b"), Reason::InvalidHandle),
        (request(2, ""), Reason::InvalidName),
        (request(2, &"b".repeat(257)), Reason::InvalidName),
        (request(1, "b"), Reason::DuplicateHandle),
        (request(2, "a"), Reason::DuplicateName),
        (nameless, Reason::InvalidRequest),
    ] {
        assert_eq!(refusal(&mut world, &ada, request.clone()), reason, "{request:?}");
    }
    assert_eq!(world.count(Counter::NotAllowed), 8);
    for handle in 2..=64 {
        publish(&mut world, &ada, handle, &handle.to_string());
    }
    assert_eq!(refusal(&mut world, &ada, request(65, "more")), Reason::LimitExceeded);
    subscribe(&mut world, &ada, "DTR_nobody", true);
    assert_eq!(world.count(Counter::NotFound), 1);
}

#[test]
fn malformed_packets_of_a_data_track_are_dropped() {
    let mut world = World::new();
    let (ada, bob) = (join(&mut world, "ada", Single), join(&mut world, "bob", Single));
    let info = publish(&mut world, &ada, 1, "a");
    subscribe(&mut world, &bob, &info.sid, true);
    world.clear();
    let mut endless = packet(1);
    endless[12..14].fill(0xFF);
    for (number, bad) in [&[][..], &packet(1)[..11], &packet(1)[..13], &endless, &packet(2)]
        .into_iter()
        .enumerate()
    {
        send(&mut world, &ada, bad);
        assert_eq!(world.count(Counter::BadDataPacket), number + 1);
    }
    assert_eq!(sent(&world), []);
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
}
