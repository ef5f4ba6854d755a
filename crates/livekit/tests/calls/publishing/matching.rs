//! Which announcement a media section is for, and that everybody is told the same of what came of
//! it.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    MuteTrackRequest, ParticipantInfo, SimulcastCodec, TrackSource, UpdateLocalAudioTrack, UpdateLocalVideoTrack,
    UpdateVideoLayers, VideoLayer,
};
use wire::MediaKind::{Audio, Video};

use crate::world::{Client, World, add_track, claims};

/// The tracks of ada's that bob sees, by their ids.
fn seen(world: &mut World, bob: &Client) -> Vec<String> {
    let info = world.seen(bob.connection, "ada").expect("ada is there");
    info.tracks.into_iter().map(|track| track.sid).collect()
}

#[test]
fn a_stale_announcement_does_not_take_the_section_of_a_newer_one() {
    for mode in [Single, Dual] {
        let mut world = World::new();
        let (mut ada, bob) = (world.join("ada", mode), world.join("bob", Single));
        world.announce(&ada, Video, TrackSource::Camera, "old");
        let new = world.announce(&ada, Video, TrackSource::Camera, "new");
        ada.browser.publish(Video, "neither");
        world.offer(&mut ada);
        assert_eq!(seen(&mut world, &bob), [new.sid]);
    }
}

#[test]
fn sections_under_other_names_are_taken_in_the_order_of_the_announcements() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    world.announce(&ada, Video, TrackSource::Camera, "stale");
    let camera = world.announce(&ada, Video, TrackSource::Camera, "camera");
    let microphone = world.announce(&ada, Audio, TrackSource::Microphone, "microphone");
    let screen = world.announce(&ada, Video, TrackSource::ScreenShare, "screen");
    let first = ada.browser.publish(Video, "one");
    let second = ada.browser.publish(Video, "two");
    ada.browser.publish(Audio, "three");
    world.offer(&mut ada);
    assert_eq!(seen(&mut world, &bob), [&camera.sid[..], &microphone.sid, &screen.sid]);
    let mids: Vec<_> = world
        .publications()
        .iter()
        .filter_map(|publication| publication.mid)
        .collect();
    assert!(mids.contains(&first) && mids.contains(&second));
    let info = world.seen(bob.connection, "ada");
    assert!(info.is_none(), "it was all told with the offer");
}

#[test]
fn a_name_counts_before_a_kind() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let old = world.announce(&ada, Video, TrackSource::Camera, "old");
    let new = world.announce(&ada, Video, TrackSource::ScreenShare, "new");
    let by_kind = ada.browser.publish(Video, "neither");
    let by_name = ada.browser.publish(Video, "new");
    world.offer(&mut ada);
    let mut tracks = world.seen(bob.connection, "ada").unwrap().tracks;
    tracks.sort_by_key(|track| track.sid != old.sid);
    let found: Vec<_> = tracks.iter().map(|track| (&track.sid[..], &track.mid[..])).collect();
    assert_eq!(
        found,
        [(&old.sid[..], by_kind.as_str()), (&new.sid[..], by_name.as_str())]
    );
}

#[test]
fn an_announcement_that_is_made_again_is_the_same_track() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let first = world.announce(&ada, Video, TrackSource::Camera, "camera");
    let again = world.announce(&ada, Video, TrackSource::Camera, "camera");
    assert_eq!(first.sid, again.sid);
    ada.browser.publish(Video, "camera");
    world.offer(&mut ada);
    assert_eq!(seen(&mut world, &bob), [first.sid]);
}

#[test]
fn an_announcement_under_the_name_of_a_track_that_is_there_waits_for_its_end() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let first = world.publish(&mut ada, Video, TrackSource::Camera);
    let cid = "ada-Camera";
    world.announce(&ada, Video, TrackSource::Camera, cid);
    let stranger = ada.browser.publish(Video, "neither");
    world.offer(&mut ada);
    assert_eq!(
        seen(&mut world, &bob),
        [first.sid],
        "nobody has announced the other one"
    );
    let screen = world.announce(&ada, Video, TrackSource::ScreenShare, "screen");
    let tracks = world.seen(bob.connection, "ada").unwrap().tracks;
    let found = tracks.iter().find(|track| track.mid == stranger.as_str());
    assert_eq!(found.map(|track| &track.sid), Some(&screen.sid));
}

#[test]
fn a_later_participant_is_told_what_earlier_ones_were() {
    let mut world = World::new();
    let (bob, mut ada) = (world.join("bob", Single), world.join("ada", Single));
    let mut told: Option<ParticipantInfo> = None;
    let mut count = 0;
    let mut check = |world: &mut World, what: &str| {
        told = world.seen(bob.connection, "ada").or(told.take());
        let Some(told) = &told else {
            panic!("nothing was told of {what}");
        };
        count += 1;
        let admission = world.admission(&claims(&format!("later {count}")), Single, "");
        let connection = world.open(admission);
        let join = world.expect(connection, "join", |message| match message {
            Message::Join(join) => Some(join.clone()),
            _ => None,
        });
        let now = join.other_participants.iter().find(|info| info.identity == "ada");
        assert_eq!(now, Some(told), "after {what}");
    };
    let mut request = add_track(Video, TrackSource::Camera, "camera");
    let codec = |name: &str, cid: &str| SimulcastCodec {
        codec: name.to_owned(),
        cid: cid.to_owned(),
        ..SimulcastCodec::default()
    };
    request.simulcast_codecs = vec![codec("vp9", "camera"), codec("vp8", "")];
    check(&mut world, "joining");
    world.say(ada.connection, Said::AddTrack(request));
    check(&mut world, "an announcement");
    let mid = ada.browser.publish(Video, "camera");
    world.negotiate(&mut ada);
    check(&mut world, "a published camera");
    let camera = world.expect(ada.connection, "track_published", |message| match message {
        Message::TrackPublished(published) => published.track.clone(),
        _ => None,
    });
    let microphone = world.publish(&mut ada, Audio, TrackSource::Microphone);
    check(&mut world, "a published microphone");
    let muted = MuteTrackRequest {
        sid: microphone.sid.clone(),
        muted: true,
    };
    world.say(ada.connection, Said::Mute(muted));
    check(&mut world, "muting");
    let features = UpdateLocalAudioTrack {
        track_sid: microphone.sid,
        features: vec![1],
    };
    world.say(ada.connection, Said::UpdateAudioTrack(features));
    check(&mut world, "other features");
    let size = UpdateLocalVideoTrack {
        track_sid: camera.sid.clone(),
        width: 100,
        height: 50,
    };
    world.say(ada.connection, Said::UpdateVideoTrack(size));
    check(&mut world, "another size");
    let layers = UpdateVideoLayers {
        track_sid: camera.sid.clone(),
        layers: vec![VideoLayer {
            quality: 2,
            width: 100,
            height: 50,
            ..VideoLayer::default()
        }],
    };
    world.say(ada.connection, Said::UpdateLayers(layers));
    check(&mut world, "other layers");
    let mut backup = add_track(Video, TrackSource::Camera, "backup");
    backup.sid.clone_from(&camera.sid);
    backup.simulcast_codecs = vec![codec("vp8", "backup")];
    world.say(ada.connection, Said::AddTrack(backup));
    check(&mut world, "the announcement of a second codec");
    ada.browser.publish(Video, "backup");
    world.negotiate(&mut ada);
    check(&mut world, "a second codec");
    ada.browser.change(mid, |section| {
        section
            .formats
            .retain(|format| format.name != "VP9" && format.parameters.0 != "apt=98");
    });
    world.negotiate(&mut ada);
    check(&mut world, "another codec in the same section");
    ada.browser.unpublish(mid);
    world.negotiate(&mut ada);
    check(&mut world, "the end of the camera");
}
