//! A second codec for who cannot decode the first: asked for when somebody needs it, and only then.

use std::time::Duration;

use controller::PeerMode::Single;
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{AddTrackRequest, LeaveRequest, SimulcastCodec, SubscriptionError, TrackInfo, TrackSource};
use southbound::{Command, Subscription, TrackId};
use wire::{Codec, MediaKind, Mid};

use crate::world::{Client, World, add_track, claims};

const HYSTERESIS: Duration = Duration::from_secs(5);

fn codec(name: &str, cid: &str) -> SimulcastCodec {
    SimulcastCodec {
        codec: name.to_owned(),
        cid: cid.to_owned(),
        ..SimulcastCodec::default()
    }
}

/// Publishes a camera in VP9, with VP8 to fall back to.
fn publish(world: &mut World, ada: &mut Client, codecs: &[&str]) -> (TrackInfo, TrackId) {
    let mut codecs: Vec<_> = codecs.iter().map(|name| codec(name, "")).collect();
    codecs[0].cid = "camera".to_owned();
    let request = AddTrackRequest {
        simulcast_codecs: codecs,
        ..add_track(MediaKind::Video, TrackSource::Camera, "camera")
    };
    world.say(ada.connection, Said::AddTrack(request));
    ada.browser.publish_one_encoding("camera");
    world.negotiate(ada);
    (
        published(world, ada, "camera"),
        world.publications().last().unwrap().track,
    )
}

fn published(world: &mut World, ada: &Client, cid: &str) -> TrackInfo {
    world.expect(ada.connection, "track_published", |message| match message {
        Message::TrackPublished(published) if published.cid == cid => published.track.clone(),
        _ => None,
    })
}

fn backup_request(sid: &str) -> AddTrackRequest {
    AddTrackRequest {
        sid: sid.to_owned(),
        simulcast_codecs: vec![codec("vp8", "clone")],
        ..add_track(MediaKind::Video, TrackSource::Camera, "clone")
    }
}

/// The second codec is announced and offered, as `livekit-client` does it.
fn publish_backup(world: &mut World, ada: &mut Client, sid: &str) -> Mid {
    world.say(ada.connection, Said::AddTrack(backup_request(sid)));
    let mid = ada.browser.publish(MediaKind::Video, "clone");
    world.negotiate(ada);
    mid
}

/// Joins with a browser that has never heard of VP9.
fn join_without_vp9(world: &mut World, identity: &str) -> Client {
    let mut client = world.join_unconnected(&claims(identity), Single);
    client.browser.forget("VP9");
    world.negotiate(&mut client);
    world.connect(&client);
    client
}

/// Which codecs the publisher was last told to send, if it was told anything since.
fn asked(world: &mut World, ada: &Client) -> Option<Vec<String>> {
    let told = world.take(ada.connection, |message| {
        matches!(message, Message::SubscribedQualityUpdate(_))
    });
    let Some(Message::SubscribedQualityUpdate(update)) = told.into_iter().next_back() else {
        return None;
    };
    let wanted = update.subscribed_codecs.into_iter();
    let wanted = wanted.filter(|codec| codec.qualities.iter().any(|quality| quality.enabled));
    Some(wanted.map(|codec| codec.codec).collect())
}

fn subscriptions_of(world: &World, client: &Client) -> Vec<Subscription> {
    let transports = world.transports_of(client);
    let all = world.subscriptions().into_iter();
    all.filter(|subscription| transports.contains(&subscription.transport))
        .collect()
}

#[test]
fn each_receiver_gets_the_codec_it_can_decode() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let mut cat = world.join("cat", Single);
    let (camera, primary) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    world.settle(&mut cat);
    assert_eq!(subscriptions_of(&world, &cat)[0].track, primary);
    world.advance(HYSTERESIS);
    assert_eq!(
        asked(&mut world, &ada),
        None,
        "VP9 is sent unasked, and nobody needs VP8"
    );

    let bob = join_without_vp9(&mut world, "bob");
    assert!(subscriptions_of(&world, &bob).is_empty(), "there is nothing for it yet");
    assert_eq!(asked(&mut world, &ada).unwrap(), ["vp9", "vp8"]);

    world.clear();
    publish_backup(&mut world, &mut ada, &camera.sid);
    let told = published(&mut world, &ada, "clone");
    assert_eq!(told.sid, camera.sid, "to clients it is one track");
    let publication = world.publications().remove(0);
    assert_ne!(publication.track, primary);
    assert_eq!(publication.formats[0].codec, Codec::Vp8);
    assert_eq!(
        publication.encodings.len(),
        3,
        "simulcast, though the first codec is scalable"
    );
    let subscription = subscriptions_of(&world, &bob).remove(0);
    assert_eq!(subscription.track, publication.track);
    assert!(
        subscription
            .formats
            .iter()
            .all(|(_, format)| format.codec != Codec::Vp9)
    );
    assert!(
        subscriptions_of(&world, &cat).is_empty(),
        "nothing changes for who has VP9"
    );
    let seen = world.seen(bob.connection, "ada").unwrap();
    assert_eq!(seen.tracks.len(), 1);
    assert_eq!(
        (seen.tracks[0].codecs.len(), seen.tracks[0].mime_type.as_str()),
        (2, "video/VP9")
    );
}

#[test]
fn a_backup_that_nobody_needs_is_no_longer_asked_for() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (camera, _) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    let bob = join_without_vp9(&mut world, "bob");
    publish_backup(&mut world, &mut ada, &camera.sid);
    world.advance(HYSTERESIS);
    assert_eq!(asked(&mut world, &ada).unwrap(), ["vp8"], "nobody watches VP9");
    world.say(bob.connection, Said::Leave(LeaveRequest::default()));
    world.advance(HYSTERESIS);
    assert_eq!(asked(&mut world, &ada).unwrap(), Vec::<String>::new());
    join_without_vp9(&mut world, "cat");
    // The newcomer's codecs are known once its section is agreed on.
    assert!(asked(&mut world, &ada).unwrap().contains(&"vp8".to_owned()), "at once");
    world.advance(HYSTERESIS);
    assert_eq!(asked(&mut world, &ada).unwrap(), ["vp8"]);
}

#[test]
fn a_receiver_that_loses_its_decoder_in_a_call_gets_the_other_codec() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let (camera, primary) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    world.settle(&mut bob);
    let before = subscriptions_of(&world, &bob).remove(0);
    assert_eq!(before.track, primary);
    world.clear();
    bob.browser.forget("VP9");
    world.negotiate(&mut bob);
    let ended = Command::Unsubscribe {
        subscription: before.subscription,
    };
    assert!(world.new_commands().contains(&ended));
    assert!(asked(&mut world, &ada).unwrap().contains(&"vp8".to_owned()));
    publish_backup(&mut world, &mut ada, &camera.sid);
    let after = subscriptions_of(&world, &bob).remove(0);
    assert_ne!(
        (after.track, after.ssrc),
        (primary, before.ssrc),
        "what is on an SSRC has one codec for good"
    );
}

#[test]
fn without_a_second_codec_the_receiver_hears_that_it_cannot_have_the_track() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (camera, _) = publish(&mut world, &mut ada, &["vp9"]);
    let bob = join_without_vp9(&mut world, "bob");
    let refused = world.expect(bob.connection, "subscription_response", |message| match message {
        Message::SubscriptionResponse(response) => Some(response.clone()),
        _ => None,
    });
    assert_eq!(
        (refused.track_sid.as_str(), refused.err()),
        (camera.sid.as_str(), SubscriptionError::SeCodecUnsupported)
    );
}

#[test]
fn a_second_codec_that_ends_is_waited_for_again() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (camera, _) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    let mut bob = join_without_vp9(&mut world, "bob");
    let mid = publish_backup(&mut world, &mut ada, &camera.sid);
    let backup = world.publications().last().unwrap().track;
    world.clear();
    ada.browser.unpublish(mid);
    world.offer(&mut ada);
    assert!(world.new_commands().contains(&Command::Unpublish { track: backup }));
    world.settle(&mut bob);
    assert_eq!(
        world
            .seen(bob.connection, "ada")
            .map(|info| info.tracks.len())
            .unwrap_or(1),
        1
    );
    world.clear();
    publish_backup(&mut world, &mut ada, &camera.sid);
    assert_eq!(subscriptions_of(&world, &bob).len(), 1);
}

#[test]
fn a_track_that_ends_takes_both_codecs_with_it() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (camera, primary) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    let _bob = join_without_vp9(&mut world, "bob");
    publish_backup(&mut world, &mut ada, &camera.sid);
    let backup = world.publications().last().unwrap().track;
    world.clear();
    ada.browser.unpublish(Mid::new("7").unwrap());
    world.offer(&mut ada);
    for track in [primary, backup] {
        assert!(world.new_commands().contains(&Command::Unpublish { track }));
    }
}

#[test]
fn muting_is_for_both_codecs() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (camera, _) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    let _bob = join_without_vp9(&mut world, "bob");
    publish_backup(&mut world, &mut ada, &camera.sid);
    world.clear();
    let mute = livekit_protocol::MuteTrackRequest {
        sid: camera.sid,
        muted: true,
    };
    world.say(ada.connection, Said::Mute(mute));
    assert_eq!(
        world
            .publications()
            .iter()
            .filter(|publication| publication.muted)
            .count(),
        2
    );
}

#[test]
fn only_what_was_announced_is_taken() {
    let mut world = World::new();
    let (mut ada, mut eve) = (world.join("ada", Single), world.join("eve", Single));
    let (camera, _) = publish(&mut world, &mut ada, &["vp9", "vp8"]);
    let (plain, _) = publish(&mut world, &mut eve, &["vp9"]);
    let mut refused = |client: &Client, request: AddTrackRequest| {
        world.say(client.connection, Said::AddTrack(request));
        world.expect(client.connection, "request_response", |message| match message {
            Message::RequestResponse(response) => Some(response.reason()),
            _ => None,
        })
    };
    assert_eq!(refused(&eve, backup_request(&plain.sid)), Reason::UnsupportedType);
    assert_eq!(
        refused(&eve, backup_request(&camera.sid)),
        Reason::NotFound,
        "another's track"
    );
    let other = AddTrackRequest {
        simulcast_codecs: vec![codec("av1", "clone")],
        ..backup_request(&camera.sid)
    };
    assert_eq!(refused(&ada, other), Reason::UnsupportedType);
}
