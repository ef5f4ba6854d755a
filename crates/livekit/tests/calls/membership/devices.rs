//! Needs of some devices and SDKs: codecs that they are not asked for, and answers that wait until
//! they can be taken.

use std::time::Duration;

use controller::ConnectionId;
use controller::PeerMode::{self, Dual, Single};
use livekit::Offer;
use livekit_protocol::client_info::Sdk;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{ClientInfo, Codec as Named, JoinResponse, SimulcastCodec, TrackSource, TrickleRequest};
use wire::sdp::{Direction, SessionDescription};
use wire::{Codec, MediaKind};

use crate::browser::{Browser, parse};
use crate::world::{Client, World, add_track, claims, described};

fn join(world: &mut World, browser: &str, version: &str, os: &str, mode: PeerMode) -> (Client, JoinResponse) {
    let mut admission = world.admission(&claims("bob"), mode, "");
    admission.client = ClientInfo {
        browser: browser.to_owned(),
        browser_version: version.to_owned(),
        os: os.to_owned(),
        ..admission.client
    };
    let connection = world.open(admission);
    let join = world.expect(connection, "join", |message| match message {
        Message::Join(join) => Some(join.clone()),
        _ => None,
    });
    (Client::at(connection, "bob", mode), join)
}

fn names(codecs: &[Named]) -> Vec<&str> {
    codecs.iter().map(|codec| codec.mime.as_str()).collect()
}

fn has(description: &SessionDescription, direction: Direction, codec: Codec) -> bool {
    let mut sections = description.sections.iter();
    let section = sections.find(|section| {
        section.direction == direction && section.kind == wire::sdp::SectionKind::Media(MediaKind::Video)
    });
    let section = section.unwrap_or_else(|| panic!("no {direction:?} video in {description}"));
    section.formats.iter().any(|format| format.codec() == Some(codec))
}

fn announce(world: &mut World, client: &Client, codec: &str) -> String {
    let mut request = add_track(MediaKind::Video, TrackSource::Camera, "camera");
    request.simulcast_codecs = vec![SimulcastCodec {
        codec: codec.to_owned(),
        cid: "camera".to_owned(),
        ..SimulcastCodec::default()
    }];
    world.say(client.connection, Said::AddTrack(request));
    let track = world.expect(client.connection, "track_published", |message| match message {
        Message::TrackPublished(published) => published.track.clone(),
        _ => None,
    });
    track.codecs[0].mime_type.clone()
}

#[test]
fn a_device_is_told_what_it_does_badly() {
    let mut world = World::new();
    let (_, firefox) = join(&mut world, "Firefox", "140.0", "Linux", Single);
    let disabled = firefox.client_configuration.unwrap().disabled_codecs.unwrap();
    assert_eq!(
        (names(&disabled.codecs), names(&disabled.publish)),
        (vec![], vec!["video/H264"])
    );
    assert_eq!(
        names(&firefox.enabled_publish_codecs),
        [
            "video/VP8",
            "video/VP9",
            "video/AV1",
            "video/H265",
            "audio/opus",
            "audio/red",
            "audio/PCMU",
            "audio/PCMA",
            "video/rtx"
        ]
    );
    let (_, safari) = join(&mut world, "safari", "18.4", "mac os x", Single);
    let disabled = safari.client_configuration.unwrap().disabled_codecs.unwrap();
    assert_eq!(
        (names(&disabled.codecs), names(&disabled.publish)),
        (vec!["video/AV1"], vec!["video/VP9"])
    );
    assert_eq!(
        names(&safari.enabled_publish_codecs),
        [
            "video/VP8",
            "video/H264",
            "video/H265",
            "audio/opus",
            "audio/red",
            "audio/PCMU",
            "audio/PCMA",
            "video/rtx"
        ]
    );
    let (_, chrome) = join(&mut world, "chrome", "140", "linux", Single);
    assert_eq!(chrome.client_configuration.unwrap().disabled_codecs, None);
    assert_eq!(chrome.enabled_publish_codecs.len(), 10);
}

#[test]
fn a_codec_that_a_device_may_not_publish_gives_way_to_vp8() {
    for mode in [Single, Dual] {
        let mut world = World::new();
        let (mut firefox, _) = join(&mut world, "firefox", "140.0", "linux", mode);
        assert_eq!(announce(&mut world, &firefox, "h264"), "video/VP8");
        firefox.browser.publish(MediaKind::Video, "camera");
        let (answer, _) = world.offer(&mut firefox);
        assert!(!has(&answer, Direction::RecvOnly, Codec::H264));
        assert!(has(&answer, Direction::RecvOnly, Codec::Vp8));
    }
}

#[test]
fn a_codec_that_a_device_cannot_receive_is_neither_offered_nor_answered() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    let (safari, _) = join(&mut world, "safari", "18.4", "mac os x", Dual);
    let offer = world.expect(safari.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let offer = parse(&offer.sdp);
    assert!(!has(&offer, Direction::SendOnly, Codec::Av1));
    assert!(
        has(&offer, Direction::SendOnly, Codec::Vp9),
        "it is only publishing that is disabled"
    );

    let (mut safari, _) = join(&mut world, "safari", "18.4", "mac os x", Single);
    let (answer, _) = world.offer(&mut safari);
    assert!(!has(&answer, Direction::SendOnly, Codec::Av1));
    assert!(has(&answer, Direction::SendOnly, Codec::Vp9));
}

/// Joins with an offer, as `sdk`, and says which messages came.
fn join_with_offer(world: &mut World, sdk: Sdk) -> (ConnectionId, Browser) {
    let mut admission = world.admission(&claims("bob"), Single, "");
    admission.client.sdk = sdk.into();
    let browser = Browser::new(Single);
    admission.offer = Some(Offer::Text(described("offer", browser.offer(), 1)));
    admission.tracks = vec![add_track(MediaKind::Audio, TrackSource::Microphone, "microphone")];
    (world.open(admission), browser)
}

fn answers(world: &mut World, connection: ConnectionId) -> usize {
    world
        .take(connection, |message| matches!(message, Message::Answer(_)))
        .len()
}

#[test]
fn a_client_of_the_go_sdk_is_answered_once_it_has_applied_its_offer() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    for number in 0..5 {
        let cid = format!("camera {number}");
        world.announce(&ada, MediaKind::Video, TrackSource::Camera, &cid);
        ada.browser.publish(MediaKind::Video, &cid);
        world.negotiate(&mut ada);
    }
    let (connection, _) = join_with_offer(&mut world, Sdk::Go);
    let early = world.take(connection, |_| true);
    let is_early = |message: &Message| {
        matches!(
            message,
            Message::Join(_) | Message::TrackPublished(_) | Message::RefreshToken(_)
        )
    };
    assert!(early.iter().all(is_early), "{early:?}");
    assert!(matches!(early[0], Message::Join(_)));
    // Candidates are gathered when the offer is applied.
    world.say(connection, Said::Trickle(TrickleRequest::default()));
    assert_eq!(answers(&mut world, connection), 1);
    world.say(connection, Said::Trickle(TrickleRequest::default()));
    world.advance(Duration::from_secs(5));
    assert_eq!(answers(&mut world, connection), 0, "an offer is answered once");
}

#[test]
fn a_client_of_the_go_sdk_that_says_nothing_is_answered_all_the_same() {
    let mut world = World::new();
    let (connection, _) = join_with_offer(&mut world, Sdk::Go);
    assert_eq!(answers(&mut world, connection), 0);
    world.advance(Duration::from_secs(1));
    assert_eq!(answers(&mut world, connection), 1);
}

#[test]
fn clients_that_apply_their_offer_with_the_answer_get_it_at_once() {
    for sdk in [Sdk::Js, Sdk::Rust, Sdk::Swift, Sdk::Unknown] {
        let mut world = World::new();
        let (connection, _) = join_with_offer(&mut world, sdk);
        assert_eq!(answers(&mut world, connection), 1);
    }
}
