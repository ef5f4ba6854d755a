//! Rooms of a thousand: what everybody is told grows with those on stage, and comes in few
//! messages.

use std::time::Duration;

use controller::PeerMode::Single;
use controller::{Config, ConnectionId, Visible};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{JoinResponse, LeaveRequest, TrackSource, UpdateParticipantMetadata};
use prost::Message as _;
use southbound::Notice;
use wire::MediaKind;

use crate::world::{Client, World, claims, keys};

const STAGE: usize = 10;
const TICK: Duration = Duration::from_millis(200);
/// Longer than anything waits that is told to everybody.
const QUIET: Duration = Duration::from_secs(10);

fn world(visible: Visible) -> World {
    World::with(Config {
        visible,
        ..Config::new(keys())
    })
}

fn join_response(world: &mut World, connection: ConnectionId) -> JoinResponse {
    world.expect(connection, "join", |message| match message {
        Message::Join(join) => Some(join.clone()),
        _ => None,
    })
}

/// Joins without media, as far as signalling goes.
fn sit_down(world: &mut World, number: usize) -> ConnectionId {
    let admission = world.admission(&claims(&format!("listener{number}")), Single, "");
    world.open(admission)
}

/// Ten publish a camera and a microphone.
fn stage(world: &mut World) -> Vec<Client> {
    let people = (0..STAGE).map(|number| {
        let mut client = world.join(&format!("speaker{number}"), Single);
        world.publish(&mut client, MediaKind::Video, TrackSource::Camera);
        world.publish(&mut client, MediaKind::Audio, TrackSource::Microphone);
        client
    });
    people.collect()
}

/// Messages and bytes that were sent since `before`, to everybody together.
fn traffic(world: &World) -> (usize, usize) {
    let sent = world.sent.values();
    sent.fold((0, 0), |sum, sent| (sum.0 + sent.0, sum.1 + sent.1))
}

fn since(world: &World, before: (usize, usize)) -> (usize, usize) {
    let now = traffic(world);
    (now.0 - before.0, now.1 - before.1)
}

#[test]
fn an_audience_of_a_thousand_is_counted_and_not_listed() {
    let mut world = world(Visible::Publishers);
    let _stage = stage(&mut world);
    let mut bytes = Vec::new();
    for number in 0..990 {
        let connection = sit_down(&mut world, number);
        let join = join_response(&mut world, connection);
        assert_eq!(join.other_participants.len(), STAGE);
        bytes.push(join.encoded_len());
        world.clear();
        // Fifty a second.
        world.advance(Duration::from_millis(20));
    }
    world.advance(QUIET);
    let (first, last) = (bytes[0], bytes[989]);
    assert!(
        last <= first + 16,
        "{first} bytes for the first and {last} for the last to join"
    );
    let counted = world.take(ConnectionId(STAGE as u64 + 1), |message| {
        matches!(message, Message::RoomUpdate(_))
    });
    let Some(Message::RoomUpdate(update)) = counted.last() else {
        panic!("everybody hears how many there are")
    };
    assert_eq!(update.room.as_ref().unwrap().num_participants, 1000);

    let before = traffic(&world);
    let listener = sit_down(&mut world, 999);
    world.say(listener, Said::Leave(LeaveRequest::default()));
    let (messages, _) = since(&world, before);
    assert!(messages <= 4, "{messages} messages before the next count");
    println!("a join is told in {first} bytes to the first and {last} to the last of 990");
}

#[test]
fn somebody_on_stage_is_shown_and_stays_shown() {
    let mut world = world(Visible::Publishers);
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    assert_eq!(world.seen(bob.connection, "ada"), None);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    assert_eq!(world.seen(bob.connection, "ada").unwrap().tracks.len(), 1);
    let cat = sit_down(&mut world, 1);
    let others = join_response(&mut world, cat).other_participants;
    assert_eq!(
        others.iter().map(|info| info.identity.as_str()).collect::<Vec<_>>(),
        ["ada"]
    );
    ada.browser.unpublish(wire::Mid::new("7").unwrap());
    world.offer(&mut ada);
    assert!(world.seen(bob.connection, "ada").unwrap().tracks.is_empty());
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    assert!(
        world.seen(bob.connection, "ada").is_some(),
        "those who saw it see it leave"
    );
    world.say(bob.connection, Said::Leave(LeaveRequest::default()));
    assert_eq!(world.seen(cat, "bob"), None);
}

#[test]
fn a_hidden_participant_changes_its_name_in_private() {
    let mut world = world(Visible::Publishers);
    let mut claims = claims("ada");
    claims.video.can_update_own_metadata = Some(true);
    let (ada, bob) = (world.join_as(&claims, Single), world.join("bob", Single));
    let request = UpdateParticipantMetadata {
        name: "Ada L.".to_owned(),
        ..UpdateParticipantMetadata::default()
    };
    world.say(ada.connection, Said::UpdateMetadata(request));
    assert_eq!(world.seen(ada.connection, "ada").unwrap().name, "Ada L.");
    assert_eq!(world.seen(bob.connection, "ada"), None);
}

#[test]
fn in_a_large_room_one_message_tells_each_what_happened_in_a_tick() {
    let mut world = world(Visible::Everybody);
    let listeners: Vec<_> = (0..100).map(|number| sit_down(&mut world, number)).collect();
    world.advance(QUIET);
    world.clear();
    let before = traffic(&world);
    for number in 100..120 {
        sit_down(&mut world, number);
    }
    for connection in &listeners[50..60] {
        world.say(*connection, Said::Leave(LeaveRequest::default()));
    }
    let own = since(&world, before).0;
    assert!(own <= 20 * 3, "only those who join hear anything yet: {own} messages");
    world.advance(TICK);
    let updates = world.take(listeners[0], |message| matches!(message, Message::Update(_)));
    let [Message::Update(update)] = &updates[..] else {
        panic!("{} updates", updates.len())
    };
    assert_eq!(update.participants.len(), 30);
    let (messages, _) = since(&world, before);
    assert!(messages - own <= 110, "{} messages in a tick for 110", messages - own);
}

#[test]
fn a_small_room_hears_at_once() {
    let mut world = world(Visible::Everybody);
    let ada = world.join("ada", Single);
    sit_down(&mut world, 1);
    assert!(world.seen(ada.connection, "listener1").is_some());
}

#[test]
fn a_track_never_comes_before_word_of_its_publisher() {
    let mut world = world(Visible::Publishers);
    let listeners: Vec<_> = (0..60).map(|number| sit_down(&mut world, number)).collect();
    let mut bob = world.join("bob", Single);
    world.advance(QUIET);
    world.clear();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    // Bob offers for reasons of its own, before the tick.
    world.offer(&mut bob);
    assert_eq!(world.subscriptions().len(), 1);
    assert!(
        world
            .seen(bob.connection, "ada")
            .is_some_and(|info| info.tracks.len() == 1)
    );
    world.advance(TICK);
    assert!(world.seen(listeners[0], "ada").is_some());
}

#[test]
fn a_stage_that_fills_costs_each_listener_few_messages() {
    let mut world = world(Visible::Publishers);
    let listeners: Vec<_> = (0..100).map(|number| sit_down(&mut world, number)).collect();
    world.advance(QUIET);
    world.clear();
    let before = world.sent[&listeners[0]];
    stage(&mut world);
    world.advance(TICK);
    let after = world.sent[&listeners[0]];
    let updates = world.take(listeners[0], |message| matches!(message, Message::Update(_)));
    assert_eq!(updates.len(), 1, "ten came and published two tracks each");
    println!("{} messages of {} bytes", after.0 - before.0, after.1 - before.1);
}

#[test]
fn a_connection_is_no_news_to_those_who_receive_nothing_over_it() {
    let mut world = world(Visible::Publishers);
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    world.clear();
    for transport in world.transports_of(&ada) {
        let quality = southbound::TransportQuality::default();
        world.notice(Notice::Quality { transport, quality });
    }
    let told = |world: &mut World, client: &Client| {
        world
            .take(client.connection, |message| {
                matches!(message, Message::ConnectionQuality(_))
            })
            .len()
    };
    assert_eq!((told(&mut world, &ada), told(&mut world, &bob)), (1, 0));
}
