//! Receivers hear which tracks they may not have, whenever permissions and tracks meet.

use std::time::Duration;

use controller::PeerMode::Single;
use controller::{Config, ConnectionId};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{SubscriptionPermission, TrackInfo, TrackPermission, TrackSource, UpdateSubscription};
use wire::MediaKind;

use crate::world::{Client, World, claims, keys};

/// The identities that may have all tracks, and no others.
fn permit(world: &mut World, publisher: &Client, identities: &[&str]) {
    let track_permissions = identities.iter().map(|identity| TrackPermission {
        participant_identity: (*identity).to_owned(),
        all_tracks: true,
        ..TrackPermission::default()
    });
    let permission = SubscriptionPermission {
        all_participants: false,
        track_permissions: track_permissions.collect(),
    };
    world.say(publisher.connection, Said::SubscriptionPermission(permission));
}

fn permit_everybody(world: &mut World, publisher: &Client) {
    let permission = SubscriptionPermission {
        all_participants: true,
        ..SubscriptionPermission::default()
    };
    world.say(publisher.connection, Said::SubscriptionPermission(permission));
}

/// The permissions that a client was told, of tracks that it had heard of before.
fn told(world: &mut World, connection: ConnectionId) -> Vec<(String, bool)> {
    let messages = world.take(connection, |_| true);
    let (mut known, mut told) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            Message::Join(join) => known.extend(join.other_participants.into_iter().flat_map(|info| info.tracks)),
            Message::Update(update) => known.extend(update.participants.into_iter().flat_map(|info| info.tracks)),
            Message::SubscriptionPermissionUpdate(update) => {
                assert!(
                    known.iter().any(|track: &TrackInfo| track.sid == update.track_sid),
                    "{update:?}"
                );
                told.push((update.track_sid, update.allowed));
            }
            _ => {}
        }
    }
    told
}

fn camera(world: &mut World, client: &mut Client) -> String {
    world.publish(client, MediaKind::Video, TrackSource::Camera).sid
}

#[test]
fn a_new_track_is_denied_with_its_publication() {
    let mut world = World::new();
    let (mut ada, bob, cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Single),
    );
    permit(&mut world, &ada, &["cat"]);
    assert_eq!(told(&mut world, bob.connection), [], "there is no track yet");
    let sid = camera(&mut world, &mut ada);
    assert_eq!(told(&mut world, bob.connection), [(sid, false)]);
    assert_eq!(told(&mut world, cat.connection), [], "nothing is denied");
    assert_eq!(world.subscriptions().len(), 0, "and cat has not negotiated yet");
}

#[test]
fn a_republished_track_is_denied_again() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    permit(&mut world, &ada, &[]);
    let first = world.announce(&ada, MediaKind::Video, TrackSource::Camera, "first").sid;
    let mid = ada.browser.publish(MediaKind::Video, "first");
    world.offer(&mut ada);
    ada.browser.unpublish(mid);
    world.offer(&mut ada);
    let second = camera(&mut world, &mut ada);
    assert_ne!(first, second);
    assert_eq!(told(&mut world, bob.connection), [(first, false), (second, false)]);
}

#[test]
fn a_later_participant_hears_of_denied_tracks_after_joining() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    permit(&mut world, &ada, &[]);
    let sid = camera(&mut world, &mut ada);
    let bob = world.open(world.admission(&claims("bob"), Single, ""));
    assert_eq!(told(&mut world, bob), [(sid, false)]);
    let mut recorder = claims("rec");
    recorder.video.recorder = true;
    let recorder = world.open(world.admission(&recorder, Single, ""));
    assert_eq!(told(&mut world, recorder), [], "a recorder gets every track");
}

#[test]
fn lists_that_change_are_told_once() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let sid = camera(&mut world, &mut ada);
    world.take(bob.connection, |message| !matches!(message, Message::Update(_)));
    permit(&mut world, &ada, &["cat"]);
    world.advance(Duration::from_secs(60));
    permit(&mut world, &ada, &["dan"]);
    world.advance(Duration::from_secs(60));
    permit_everybody(&mut world, &ada);
    world.advance(Duration::from_secs(60));
    assert_eq!(told(&mut world, bob.connection), [(sid.clone(), false), (sid, true)]);
}

#[test]
fn a_request_for_a_denied_track_is_answered_again() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    permit(&mut world, &ada, &[]);
    let sid = camera(&mut world, &mut ada);
    // The client forgets the denial with its request.
    for subscribe in [false, true] {
        let update = UpdateSubscription {
            track_sids: vec![sid.clone()],
            subscribe,
            participant_tracks: Vec::new(),
        };
        world.say(bob.connection, Said::Subscription(update));
    }
    assert_eq!(told(&mut world, bob.connection), [(sid.clone(), false), (sid, false)]);
}

#[test]
fn a_resumed_session_hears_which_permissions_changed_meanwhile() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    permit(&mut world, &ada, &[]);
    let camera = camera(&mut world, &mut ada);
    told(&mut world, bob.connection);
    world.hang_up(bob.connection);
    permit_everybody(&mut world, &ada);
    world.advance(Duration::from_secs(3));
    let back = world.resume(&bob);
    assert_eq!(told(&mut world, back), [(camera.clone(), true)]);
    world.hang_up(back);
    permit(&mut world, &ada, &[]);
    world.advance(Duration::from_secs(3));
    let back = world.resume(&bob);
    assert_eq!(told(&mut world, back), [(camera, false)]);
}

#[test]
fn a_new_right_to_subscribe_comes_with_the_denied_tracks() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let mut without = claims("bob");
    without.video.can_subscribe = Some(false);
    let bob = world.join_as(&without, Single);
    permit(&mut world, &ada, &[]);
    let sid = camera(&mut world, &mut ada);
    assert_eq!(told(&mut world, bob.connection), []);
    world.hang_up(bob.connection);
    let back = world.resume_as(&claims("bob"), &bob);
    assert_eq!(told(&mut world, back), [(sid, false)]);
}

#[test]
fn in_a_large_room_the_denial_comes_after_the_news_of_the_track() {
    let mut world = World::with(Config::new(keys()));
    let mut ada = world.join("ada", Single);
    permit(&mut world, &ada, &[]);
    let crowd: Vec<_> = (0..60)
        .map(|number| {
            let admission = world.admission(&claims(&format!("listener{number}")), Single, "");
            world.open(admission)
        })
        .collect();
    world.advance(Duration::from_secs(10));
    let sid = camera(&mut world, &mut ada);
    assert_eq!(told(&mut world, crowd[0]), []);
    world.advance(Duration::from_secs(10));
    for connection in crowd {
        assert_eq!(told(&mut world, connection), [(sid.clone(), false)]);
    }
}
