//! Track settings of receivers reach the agent in full.

use controller::PeerMode::Single;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::{
    AddTrackRequest, SimulcastCodec, TrackSource, UpdateTrackSettings, UpdateVideoLayers, VideoLayer, VideoQuality,
};
use southbound::{SubscriptionSettings, TrackSource as Shows};
use wire::MediaKind;

use crate::world::{Client, World, add_track};

/// `ada` publishes a scalable video of 320x180, 640x360 and 1280x720 in one encoding, and `bob`
/// gets it.
struct Scalable {
    world: World,
    ada: Client,
    bob: Client,
    sid: String,
}

fn layer(quality: VideoQuality, width: u32, height: u32) -> VideoLayer {
    VideoLayer {
        quality: quality.into(),
        width,
        height,
        ..VideoLayer::default()
    }
}

fn scalable() -> AddTrackRequest {
    // The order is that of `livekit-client`: the best first.
    let layers = vec![
        layer(VideoQuality::High, 1280, 720),
        layer(VideoQuality::Medium, 640, 360),
        layer(VideoQuality::Low, 320, 180),
    ];
    AddTrackRequest {
        layers,
        simulcast_codecs: vec![SimulcastCodec {
            codec: "vp9".to_owned(),
            cid: "camera".to_owned(),
            ..SimulcastCodec::default()
        }],
        ..add_track(MediaKind::Video, TrackSource::Camera, "camera")
    }
}

impl Scalable {
    fn new() -> Self {
        let mut world = World::new();
        let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
        world.clear();
        world.say(ada.connection, Said::AddTrack(scalable()));
        ada.browser.publish_one_encoding("camera");
        world.negotiate(&mut ada);
        world.settle(&mut bob);
        let sid = world.seen(bob.connection, "ada").unwrap().tracks[0].sid.clone();
        Self { world, ada, bob, sid }
    }

    fn wanted(&mut self, settings: UpdateTrackSettings) -> SubscriptionSettings {
        self.world.clear();
        let settings = UpdateTrackSettings {
            track_sids: vec![self.sid.clone()],
            ..settings
        };
        self.world.say(self.bob.connection, Said::TrackSetting(settings));
        self.world.subscriptions().last().expect("a change").settings
    }

    fn of_quality(&mut self, quality: VideoQuality) -> (u8, u8) {
        let wanted = self.wanted(UpdateTrackSettings {
            quality: quality.into(),
            fps: 30,
            ..UpdateTrackSettings::default()
        });
        (wanted.encoding_max, wanted.spatial_max)
    }

    fn of_size(&mut self, width: u32, height: u32) -> (u8, u8) {
        let wanted = self.wanted(UpdateTrackSettings {
            width,
            height,
            ..UpdateTrackSettings::default()
        });
        assert_eq!(wanted.size, (width as u16, height as u16));
        (wanted.encoding_max, wanted.spatial_max)
    }
}

#[test]
fn the_layers_inside_an_encoding_are_announced_to_the_agent_in_rising_order() {
    let scalable = Scalable::new();
    let publication = scalable.world.publications().remove(0);
    let [encoding] = &publication.encodings[..] else {
        panic!("{publication:?}")
    };
    assert_eq!(encoding.layers, [(320, 180), (640, 360), (1280, 720)]);
    assert_eq!((encoding.width, encoding.height), (1280, 720));
    assert_eq!(publication.source, Shows::Camera);
}

#[test]
fn in_a_scalable_video_the_choice_is_between_layers() {
    let mut scalable = Scalable::new();
    let first = scalable.world.subscriptions().remove(0).settings;
    assert_eq!((first.encoding_max, first.spatial_max), (0, 2));
    assert_eq!(scalable.of_quality(VideoQuality::Low), (0, 0));
    assert_eq!(scalable.of_quality(VideoQuality::Medium), (0, 1));
    assert_eq!(scalable.of_quality(VideoQuality::High), (0, 2));
    assert_eq!(scalable.of_size(300, 150), (0, 0));
    assert_eq!(scalable.of_size(180, 330), (0, 1), "a picture on its side");
    assert_eq!(scalable.of_size(4000, 4000), (0, 2));
}

#[test]
fn a_resized_window_has_layers_of_other_sizes() {
    let mut scalable = Scalable::new();
    scalable.world.clear();
    let layers = vec![layer(VideoQuality::Low, 400, 400), layer(VideoQuality::High, 800, 800)];
    let update = UpdateVideoLayers {
        track_sid: scalable.sid.clone(),
        layers,
    };
    scalable.world.say(scalable.ada.connection, Said::UpdateLayers(update));
    let publication = scalable.world.publications().remove(0);
    assert_eq!(publication.encodings[0].layers, [(400, 400), (800, 800)]);
}

#[test]
fn frame_rate_and_priority_are_passed_on() {
    let mut scalable = Scalable::new();
    let mut of = |fps: u32, priority: u32| {
        let wanted = scalable.wanted(UpdateTrackSettings {
            quality: VideoQuality::High.into(),
            fps,
            priority,
            ..UpdateTrackSettings::default()
        });
        (wanted.fps, wanted.priority)
    };
    assert_eq!(of(15, 0), (15, 0), "most have none");
    let (first, second) = (of(0, 1).1, of(0, 2).1);
    assert!(first > second && second > 0, "1 is the highest");
    assert_eq!(of(1 << 20, u32::MAX), (u16::MAX, 0), "nonsense is harmless");
}

#[test]
fn a_scalable_video_is_wanted_as_a_whole_or_not_at_all() {
    let mut scalable = Scalable::new();
    scalable.of_quality(VideoQuality::Low);
    scalable.world.advance(std::time::Duration::from_secs(10));
    let told = scalable.world.take(scalable.ada.connection, |message| {
        matches!(
            message,
            livekit_protocol::signal_response::Message::SubscribedQualityUpdate(_)
        )
    });
    assert!(told.is_empty(), "a layer cannot be left out by the encoder alone");
}
