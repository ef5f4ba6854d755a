//! Publishers hear what of their video is wanted.

use std::time::Duration;

use controller::PeerMode::Single;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{TrackSource, UpdateSubscription, UpdateTrackSettings, VideoQuality};
use wire::MediaKind;

use crate::world::{Client, World};

const HYSTERESIS: Duration = Duration::from_secs(5);

/// The qualities the publisher was last told to send, if it was told anything since.
fn wanted(world: &mut World, publisher: &Client) -> Option<Vec<VideoQuality>> {
    let told = world.take(publisher.connection, |message| {
        matches!(message, Message::SubscribedQualityUpdate(_))
    });
    let Some(Message::SubscribedQualityUpdate(update)) = told.into_iter().next_back() else {
        return None;
    };
    let enabled = update.subscribed_codecs[0]
        .qualities
        .iter()
        .filter(|quality| quality.enabled);
    Some(enabled.map(|quality| quality.quality()).collect())
}

fn settings(track_sid: &str, quality: VideoQuality, disabled: bool) -> Said {
    Said::TrackSetting(UpdateTrackSettings {
        track_sids: vec![track_sid.to_owned()],
        quality: quality.into(),
        disabled,
        ..UpdateTrackSettings::default()
    })
}

#[test]
fn layers_that_nobody_watches_need_not_be_sent() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    assert_eq!(wanted(&mut world, &ada), None, "somebody may still come");
    world.advance(HYSTERESIS);
    assert_eq!(wanted(&mut world, &ada), Some(vec![]));
    let mut bob = world.join("bob", Single);
    world.settle(&mut bob);
    let all = vec![VideoQuality::Low, VideoQuality::Medium, VideoQuality::High];
    assert_eq!(wanted(&mut world, &ada), Some(all), "at once");
    world.hang_up(bob.connection);
    world.advance(Duration::from_secs(120));
    assert_eq!(wanted(&mut world, &ada), Some(vec![]));
}

#[test]
fn less_is_wanted_only_after_a_while_and_more_at_once() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    world.say(bob.connection, settings(&camera.sid, VideoQuality::Low, true));
    world.advance(HYSTERESIS / 2);
    assert_eq!(wanted(&mut world, &ada), None);
    world.say(bob.connection, settings(&camera.sid, VideoQuality::High, false));
    world.advance(HYSTERESIS * 2);
    assert_eq!(wanted(&mut world, &ada), None, "it was wanted again in time");
    world.say(bob.connection, settings(&camera.sid, VideoQuality::High, true));
    world.advance(HYSTERESIS);
    assert_eq!(wanted(&mut world, &ada), Some(vec![]));
}

#[test]
fn the_best_anybody_wants_counts() {
    let mut world = World::new();
    let (mut ada, mut bob, mut cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Single),
    );
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    world.settle(&mut cat);
    world.say(bob.connection, settings(&camera.sid, VideoQuality::Low, false));
    world.say(cat.connection, settings(&camera.sid, VideoQuality::Medium, false));
    world.advance(HYSTERESIS);
    assert_eq!(
        wanted(&mut world, &ada),
        Some(vec![VideoQuality::Low, VideoQuality::Medium])
    );
    let unsubscribe = UpdateSubscription {
        track_sids: vec![camera.sid.clone()],
        subscribe: false,
        ..UpdateSubscription::default()
    };
    world.say(cat.connection, Said::Subscription(unsubscribe));
    world.advance(HYSTERESIS);
    assert_eq!(wanted(&mut world, &ada), Some(vec![VideoQuality::Low]));
}

#[test]
fn audio_is_always_wanted() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    world.advance(HYSTERESIS * 2);
    assert_eq!(wanted(&mut world, &ada), None);
}
