//! The sizes of a track as others are told of them: in LiveKit's order, with their places and
//! names.

use controller::PeerMode::Single;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::video_layer::Mode;
use livekit_protocol::{AddTrackRequest, SimulcastCodec, TrackSource, UpdateVideoLayers, VideoLayer, VideoQuality};
use wire::MediaKind;

use crate::world::{World, add_track};

fn layer(quality: VideoQuality, width: u32) -> VideoLayer {
    VideoLayer {
        quality: quality.into(),
        width,
        height: width * 9 / 16,
        ..VideoLayer::default()
    }
}

/// Announced with the best first, as `livekit-client` does for screens.
fn announced(codec: &str) -> AddTrackRequest {
    let layers = vec![
        layer(VideoQuality::High, 1_280),
        layer(VideoQuality::Low, 320),
        layer(VideoQuality::Medium, 640),
    ];
    let codec = SimulcastCodec {
        codec: codec.to_owned(),
        cid: "camera".to_owned(),
        ..SimulcastCodec::default()
    };
    AddTrackRequest {
        layers,
        simulcast_codecs: vec![codec],
        ..add_track(MediaKind::Video, TrackSource::Camera, "camera")
    }
}

fn places(layers: &[VideoLayer]) -> Vec<(u32, i32, &str)> {
    let places = layers.iter();
    places
        .map(|layer| (layer.width, layer.spatial_layer, layer.rid.as_str()))
        .collect()
}

#[test]
fn layers_of_simulcast_rise_and_bear_the_names_of_their_encodings() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let bob = world.join("bob", Single);
    world.say(ada.connection, Said::AddTrack(announced("vp8")));
    ada.browser.publish(MediaKind::Video, "camera");
    world.negotiate(&mut ada);
    let track = world.seen(bob.connection, "ada").unwrap().tracks.remove(0);
    let expected = [(320, 0, "q"), (640, 1, "h"), (1_280, 2, "f")];
    assert_eq!(places(&track.layers), expected);
    assert_eq!(places(&track.codecs[0].layers), expected);
    assert_eq!(track.codecs[0].video_layer_mode(), Mode::OneSpatialLayerPerStream);

    let update = UpdateVideoLayers {
        track_sid: track.sid.clone(),
        layers: vec![
            layer(VideoQuality::High, 1_920),
            layer(VideoQuality::Low, 480),
            layer(VideoQuality::Medium, 960),
        ],
    };
    world.say(ada.connection, Said::UpdateLayers(update));
    let track = world.seen(bob.connection, "ada").unwrap().tracks.remove(0);
    let expected = [(480, 0, "q"), (960, 1, "h"), (1_920, 2, "f")];
    assert_eq!(places(&track.layers), expected);
    assert_eq!(places(&track.codecs[0].layers), expected);
}

#[test]
fn layers_inside_one_encoding_have_places_and_no_names() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let bob = world.join("bob", Single);
    world.say(ada.connection, Said::AddTrack(announced("vp9")));
    ada.browser.publish_one_encoding("camera");
    world.negotiate(&mut ada);
    let track = world.seen(bob.connection, "ada").unwrap().tracks.remove(0);
    assert_eq!(places(&track.layers), [(320, 0, ""), (640, 1, ""), (1_280, 2, "")]);
    assert_eq!(track.codecs[0].video_layer_mode(), Mode::MultipleSpatialLayersPerStream);
    assert!(!track.simulcast);
}
