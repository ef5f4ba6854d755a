//! Tokens that are handed out in a call, and those that are come back with.

use std::time::Duration;

use access::{Claims, verify};
use controller::PeerMode::Single;
use controller::{ConnectionId, WallClock};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{ParticipantInfo, TrackSource, UpdateParticipantMetadata};
use wire::MediaKind;

use crate::world::{UNIX, World, claims, keys};

fn tokens(world: &mut World, connection: ConnectionId) -> Vec<Claims> {
    let messages = world.take(connection, |message| matches!(message, Message::RefreshToken(_)));
    let tokens = messages.into_iter().filter_map(|message| match message {
        Message::RefreshToken(token) => Some(token),
        _ => None,
    });
    tokens.map(|token| verify(&token, &keys(), UNIX).unwrap()).collect()
}

fn joined(world: &mut World, claims: &Claims) -> ParticipantInfo {
    let connection = world.open(world.admission(claims, Single, ""));
    world.expect(connection, "join", |message| match message {
        Message::Join(join) => join.participant.clone(),
        _ => None,
    })
}

#[test]
fn a_token_comes_with_joining_and_again_before_it_ends() {
    let mut world = World::new();
    let mut short = claims("ada");
    short.exp = Some(UNIX.as_secs() + 120);
    let ada = world.join_as(&short, Single);
    let first = tokens(&mut world, ada.connection);
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].identity(), first[0].video.room.as_str()), ("ada", "lobby"));
    assert_eq!(first[0].exp, Some(UNIX.as_secs() + 600));
    world.advance(Duration::from_secs(301));
    assert_eq!(tokens(&mut world, ada.connection)[0].exp, Some(UNIX.as_secs() + 900));
}

#[test]
fn a_token_is_good_for_as_long_as_the_one_that_was_signed() {
    let mut world = World::new();
    let mut endless = claims("bob");
    endless.exp = None;
    let (ada, bob) = (world.join("ada", Single), world.join_as(&endless, Single));
    assert_eq!(tokens(&mut world, ada.connection)[0].exp, claims("ada").exp);
    assert_eq!(tokens(&mut world, bob.connection)[0].exp, Some(UNIX.as_secs() + 600));
}

#[test]
fn settings_of_the_call_outlast_starting_over() {
    let mut world = World::new();
    let mut signed = claims("ada");
    signed.video.can_update_own_metadata = Some(true);
    signed.kind = "agent".to_owned();
    signed.attributes = [("role".to_owned(), "guest".to_owned())].into();
    let ada = world.join_as(&signed, Single);
    tokens(&mut world, ada.connection);
    world.say(
        ada.connection,
        Said::UpdateMetadata(UpdateParticipantMetadata {
            name: "Ada L.".to_owned(),
            metadata: "hand up".to_owned(),
            attributes: [("hand".to_owned(), "up".to_owned())].into(),
            request_id: 1,
        }),
    );
    let refreshed = tokens(&mut world, ada.connection);
    assert_eq!(refreshed.len(), 1, "one for each change");
    assert_eq!(refreshed[0].video, signed.video);
    let info = joined(&mut world, &refreshed[0]);
    assert_eq!(
        (info.name.as_str(), info.metadata.as_str(), info.kind),
        ("Ada L.", "hand up", 4)
    );
    assert_eq!(
        (info.attributes["role"].as_str(), info.attributes["hand"].as_str()),
        ("guest", "up")
    );
}

#[test]
fn tokens_go_by_the_calendar_as_it_is_now() {
    let mut world = World::new();
    let mut short = claims("ada");
    short.exp = Some(UNIX.as_secs() + 60);
    let ada = world.join_as(&short, Single);
    tokens(&mut world, ada.connection);
    let corrected = UNIX + Duration::from_secs(540);
    world.controller.set_clock(WallClock {
        now: world.now,
        unix: corrected,
    });
    world.advance(Duration::from_secs(301));
    let expires = tokens(&mut world, ada.connection)[0].exp.unwrap();
    assert_eq!(expires, corrected.as_secs() + 300 + 600);
}

#[test]
fn the_new_token_decides_about_a_returning_participant() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut bob, MediaKind::Audio, TrackSource::Microphone);
    world.settle(&mut ada);
    world.settle(&mut bob);
    assert_eq!(world.controller.population().subscriptions, 2);

    let mut less = claims("ada");
    (less.video.can_publish, less.video.can_subscribe) = (Some(false), Some(false));
    world.hang_up(ada.connection);
    ada.connection = world.resume_as(&less, &ada);
    let ended = world.expect(ada.connection, "track_unpublished", |message| match message {
        Message::TrackUnpublished(response) => Some(response.track_sid.clone()),
        _ => None,
    });
    assert_eq!(ended, camera.sid);
    assert_eq!(world.controller.population().subscriptions, 0);
    let seen = world.seen(bob.connection, "ada").unwrap();
    assert!(seen.tracks.is_empty() && !seen.permission.unwrap().can_publish);
    let refreshed = &tokens(&mut world, ada.connection)[0];
    assert_eq!(refreshed.video, less.video);

    world.hang_up(ada.connection);
    ada.connection = world.resume(&ada);
    world.settle(&mut ada);
    assert_eq!(world.controller.population().subscriptions, 1, "it hears bob again");
}

#[test]
fn a_participant_that_returns_hidden_has_left_for_the_others() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    world.seen(bob.connection, "ada");
    let mut hidden = claims("ada");
    hidden.video.hidden = true;
    ada.connection = world.resume_as(&hidden, &ada);
    let state = |info: ParticipantInfo| info.state().as_str_name().to_owned();
    assert_eq!(
        world.seen(bob.connection, "ada").map(state).as_deref(),
        Some("DISCONNECTED")
    );
    ada.connection = world.resume(&ada);
    assert_eq!(world.seen(bob.connection, "ada").map(state).as_deref(), Some("ACTIVE"));
}
