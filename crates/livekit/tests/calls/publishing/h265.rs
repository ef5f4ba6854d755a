//! Cameras in H.265, which few devices encode.

use controller::PeerMode::Single;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::{AddTrackRequest, SimulcastCodec, TrackSource};
use wire::sdp::{Format, Parameters};
use wire::{Codec, MediaKind, PayloadType};

use crate::world::{World, add_track, claims};

fn h265(number: u8, parameters: &str) -> Format {
    Format {
        payload_type: PayloadType::new(number).unwrap(),
        name: "H265".to_owned(),
        clock_rate: 90_000,
        channels: 1,
        parameters: Parameters(parameters.to_owned()),
        feedback: ["nack", "nack pli"].into_iter().collect(),
    }
}

/// The formats of the only subscription to a camera with these parameters, by a receiver with
/// those.
fn delivered(sent: &str, received: &str) -> Vec<(u8, Codec)> {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let mut bob = world.join_unconnected(&claims("bob"), Single);
    bob.browser.learn(&h265(60, received));
    world.negotiate(&mut bob);
    world.connect(&bob);
    let announcement = AddTrackRequest {
        simulcast_codecs: vec![SimulcastCodec {
            codec: "h265".to_owned(),
            cid: "camera".to_owned(),
            ..SimulcastCodec::default()
        }],
        ..add_track(MediaKind::Video, TrackSource::Camera, "camera")
    };
    world.say(ada.connection, Said::AddTrack(announcement));
    let mid = ada.browser.publish_one_encoding("camera");
    ada.browser
        .change(mid, |section| section.formats.insert(0, h265(61, sent)));
    world.negotiate(&mut ada);
    world.settle(&mut bob);
    let seen = world.seen(bob.connection, "ada").unwrap();
    assert_eq!(seen.tracks[0].mime_type, "video/H265");
    let subscriptions = world.subscriptions().into_iter();
    let formats = subscriptions.flat_map(|subscription| subscription.formats);
    let of_camera = formats.filter(|(sent, _)| sent.get() == 61);
    of_camera
        .map(|(_, format)| (format.payload_type.get(), format.codec))
        .collect()
}

#[test]
fn a_camera_is_passed_on_to_receivers_that_decode_it() {
    let chromium = "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST";
    assert_eq!(delivered(chromium, "level-id=180;profile-id=1"), [(60, Codec::H265)]);
    assert_eq!(delivered("", chromium), [(60, Codec::H265)], "these are the defaults");
    assert_eq!(
        delivered(chromium, "profile-id=2"),
        [(60, Codec::H265)],
        "Main is part of Main 10"
    );
    assert_eq!(delivered(chromium, "profile-id=3"), [], "another profile");
    assert_eq!(delivered("tier-flag=1", chromium), [], "another tier");
    assert_eq!(delivered(chromium, "tx-mode=MRST"), [], "on several streams");
}
