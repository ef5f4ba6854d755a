//! One peer connection for both directions: the client offers, the server answers.

use controller::PeerMode::Single;
use livekit::Offer;
use livekit_protocol::participant_info::State;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{SimulcastCodec, TrackSource, UpdateSubscription, UpdateTrackSettings, VideoQuality};
use southbound::{Command, DtlsRole};
use wire::sdp::Direction;
use wire::{Codec, MediaKind};

use crate::world::{World, add_track, claims, described};

#[test]
fn the_first_message_says_all_a_client_needs() {
    let mut world = World::new();
    let _ada = world.join("ada", Single);
    let admission = world.admission(&claims("bob"), Single, "");
    let connection = world.open(admission);
    let join = world.expect(connection, "join", |message| match message {
        Message::Join(join) => Some(join.clone()),
        _ => None,
    });
    assert_eq!(join.room.unwrap().name, "lobby");
    assert_eq!(join.participant.unwrap().name, "BOB");
    assert_eq!(
        join.other_participants
            .iter()
            .map(|info| info.identity.as_str())
            .collect::<Vec<_>>(),
        ["ada"]
    );
    assert!(!join.subscriber_primary && join.ping_interval > 0 && join.ping_timeout > join.ping_interval);
    assert!(!join.server_info.unwrap().version.is_empty());
    assert!(
        join.enabled_publish_codecs
            .iter()
            .any(|codec| codec.mime == "video/VP8")
    );
}

#[test]
fn an_offer_is_answered_by_an_ice_lite_server_that_waits_for_the_handshake() {
    let mut world = World::new();
    let mut ada = world.join_unconnected(&claims("ada"), Single);
    let (answer, message) = world.offer(&mut ada);
    assert!(answer.ice_lite && answer.extmap_allow_mixed);
    assert_eq!(message.r#type, "answer");
    assert_eq!(answer.sections[0].candidates.len(), 3);
    assert_eq!(answer.sections[0].candidates[0].address.to_string(), "192.0.2.1:7882");
    assert!(answer.sections[0].candidates[0].priority > answer.sections[0].candidates[1].priority);
    let [Command::Open(open), Command::Connect { remote, transport }] = &world.commands[..] else {
        panic!("{:?}", world.commands)
    };
    assert_eq!(
        (open.transport, remote.dtls, remote.sctp_port),
        (*transport, DtlsRole::Server, Some(5000))
    );
    assert_eq!(answer.sections[0].ice.as_ref().unwrap().ufrag, open.local.ufrag);
    assert!(remote.extensions_in.is_empty(), "nothing comes in yet");
}

#[test]
fn an_offer_that_comes_with_joining_is_answered_too() {
    let mut world = World::new();
    let mut admission = world.admission(&claims("ada"), Single, "");
    let browser = crate::browser::Browser::new(Single);
    admission.offer = Some(Offer::Text(described("offer", browser.offer(), 1)));
    let connection = world.open(admission);
    let order = world
        .take(connection, |_| true)
        .into_iter()
        .map(|message| match message {
            Message::Join(_) => "join",
            Message::Answer(answer) => {
                browser.take_answer(&answer.sdp);
                "answer"
            }
            Message::RefreshToken(_) => "token",
            _ => "other",
        });
    assert_eq!(order.collect::<Vec<_>>(), ["join", "answer", "token"]);
}

#[test]
fn a_published_camera_reaches_everybody_else() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let mut bob = world.join("bob", Single);
    world.clear();
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    assert!(camera.sid.starts_with("TR_VC"));

    let publication = world.publications().remove(0);
    assert_eq!(
        publication
            .encodings
            .iter()
            .map(|encoding| encoding.rid.unwrap().to_string())
            .collect::<Vec<_>>(),
        ["q", "h", "f"]
    );
    assert_eq!(
        publication
            .encodings
            .iter()
            .map(|encoding| encoding.width)
            .collect::<Vec<_>>(),
        [160, 320, 640]
    );
    let vp8 = publication.formats[0];
    assert_eq!(
        (
            vp8.codec,
            vp8.payload_type.get(),
            vp8.rtx.map(|rtx| rtx.get()),
            vp8.nack
        ),
        (Codec::Vp8, 96, Some(97), true)
    );

    let seen = world.seen(bob.connection, "ada").unwrap();
    assert_eq!(
        (seen.tracks[0].sid.as_str(), seen.tracks[0].mime_type.as_str()),
        (camera.sid.as_str(), "video/VP8")
    );
    world.settle(&mut bob);
    let subscription = world.subscriptions().remove(0);
    assert_eq!(
        (subscription.track, subscription.transport),
        (publication.track, world.transports_of(&bob)[0])
    );
    assert!(subscription.settings.enabled && subscription.settings.encoding_max == 2);
    assert!(
        subscription
            .formats
            .iter()
            .any(|(from, to)| from.get() == 96 && to.codec == Codec::Vp8)
    );

    let (answer, message) = world.offer(&mut bob);
    let section = answer
        .sections
        .iter()
        .find(|section| section.direction == Direction::SendOnly)
        .unwrap();
    assert_eq!(section.msids[0].stream, format!("{}|camera", ada.sid));
    assert_eq!(message.mid_to_track_id[section.mid.as_str()], camera.sid);
    assert_eq!(section.media_ssrcs(), [subscription.ssrc]);
    assert_eq!(section.repair_of(subscription.ssrc), subscription.rtx);
    let told = world.take(ada.connection, |message| matches!(message, Message::TrackSubscribed(_)));
    assert_eq!(told.len(), 1);
}

#[test]
fn a_newcomer_gets_what_is_there_with_its_first_answer() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let mut bob = world.join_unconnected(&claims("bob"), Single);
    let (answer, _) = world.offer(&mut bob);
    let sent = answer
        .sections
        .iter()
        .filter(|section| section.direction == Direction::SendOnly)
        .count();
    assert_eq!(sent, 2);
}

#[test]
fn more_tracks_than_sections_make_the_server_ask_for_more() {
    let mut world = World::new();
    let mut bob = world.join("bob", Single);
    let mut publishers: Vec<_> = (0..5)
        .map(|number| world.join(&format!("ada{number}"), Single))
        .collect();
    for ada in &mut publishers {
        world.publish(ada, MediaKind::Video, TrackSource::Camera);
    }
    world.settle(&mut bob);
    let (answer, message) = world.offer(&mut bob);
    assert_eq!(
        answer
            .sections
            .iter()
            .filter(|section| section.direction == Direction::SendOnly)
            .count(),
        5
    );
    assert_eq!(message.mid_to_track_id.len(), 5);
}

#[test]
fn announcement_and_offer_may_come_in_either_order() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.clear();
    let mid = ada.browser.publish(MediaKind::Video, "screen");
    let (answer, _) = world.offer(&mut ada);
    let section = answer.sections.iter().find(|section| section.mid == mid).unwrap();
    assert_eq!(section.direction, Direction::RecvOnly);
    assert!(world.publications().is_empty());
    world.announce(&ada, MediaKind::Video, TrackSource::ScreenShare, "screen");
    assert_eq!(world.publications()[0].mid, Some(mid));
}

#[test]
fn a_track_is_found_by_kind_when_the_browser_changed_its_id() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.clear();
    world.announce(&ada, MediaKind::Audio, TrackSource::Microphone, "microphone");
    ada.browser.publish(MediaKind::Audio, "something else");
    world.offer(&mut ada);
    assert_eq!(world.publications().len(), 1);
}

#[test]
fn the_codec_asked_for_comes_first_in_the_answer() {
    for (name, codec) in [
        ("vp9", Codec::Vp9),
        ("av1", Codec::Av1),
        ("h264", Codec::H264),
        ("vp8", Codec::Vp8),
    ] {
        let mut world = World::new();
        let mut ada = world.join("ada", Single);
        world.clear();
        let mut request = add_track(MediaKind::Video, TrackSource::Camera, "camera");
        let wanted = SimulcastCodec {
            codec: name.to_owned(),
            cid: "camera".to_owned(),
            ..SimulcastCodec::default()
        };
        request.simulcast_codecs = vec![wanted];
        world.say(ada.connection, Said::AddTrack(request));
        let mid = ada.browser.publish(MediaKind::Video, "camera");
        let (answer, _) = world.offer(&mut ada);
        let section = answer.sections.iter().find(|section| section.mid == mid).unwrap();
        assert_eq!(section.formats[0].codec(), Some(codec));
        assert_eq!(section.formats[1].retransmits(), Some(section.formats[0].payload_type));
        let seen = world.expect(ada.connection, "track_published", |message| match message {
            Message::TrackPublished(published) => published.track.clone(),
            _ => None,
        });
        assert_eq!(seen.codecs[0].mime_type, format!("video/{codec}"));
    }
}

#[test]
fn unpublishing_frees_the_section_after_one_inactive_answer() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    let (before, _) = world.offer(&mut bob);
    let used = before
        .sections
        .iter()
        .find(|section| section.direction == Direction::SendOnly)
        .unwrap()
        .clone();
    world.clear();
    let mid = wire::Mid::new("7").unwrap();
    ada.browser.unpublish(mid);
    world.offer(&mut ada);
    assert!(matches!(
        world.new_commands(),
        [Command::Connect { .. }, Command::Unpublish { .. }] | [Command::Unpublish { .. }, Command::Connect { .. }]
    ));
    assert!(world.seen(bob.connection, "ada").unwrap().tracks.is_empty());
    let asked = world.take(bob.connection, |message| {
        matches!(message, Message::MediaSectionsRequirement(_))
    });
    assert_eq!(
        asked.len(),
        1,
        "the receiver is asked to offer, so that it hears of the end"
    );
    let (after, message) = world.offer(&mut bob);
    assert_eq!(
        after
            .sections
            .iter()
            .find(|section| section.mid == used.mid)
            .unwrap()
            .direction,
        Direction::Inactive
    );
    assert!(message.mid_to_track_id.is_empty());

    ada.browser.publish(MediaKind::Video, "again");
    world.announce(&ada, MediaKind::Video, TrackSource::Camera, "again");
    world.negotiate(&mut ada);
    world.settle(&mut bob);
    let (again, message) = world.offer(&mut bob);
    let reused = again.sections.iter().find(|section| section.mid == used.mid).unwrap();
    assert_eq!(reused.direction, Direction::SendOnly);
    assert_ne!(message.mid_to_track_id[used.mid.as_str()], camera.sid);
    assert_ne!(reused.media_ssrcs(), used.media_ssrcs(), "an SSRC is used once");
}

#[test]
fn a_client_chooses_its_tracks_and_how_good_they_are() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    let wanted = |world: &mut World, bob: &crate::world::Client, settings: UpdateTrackSettings| {
        world.clear();
        world.say(bob.connection, Said::TrackSetting(settings));
        world.subscriptions().last().map(|subscription| subscription.settings)
    };
    let track_sids = vec![camera.sid.clone()];
    let low = UpdateTrackSettings {
        track_sids: track_sids.clone(),
        quality: VideoQuality::Low.into(),
        ..Default::default()
    };
    assert_eq!(wanted(&mut world, &bob, low).unwrap().encoding_max, 0);
    let shown = UpdateTrackSettings {
        track_sids: track_sids.clone(),
        width: 300,
        height: 160,
        ..Default::default()
    };
    assert_eq!(wanted(&mut world, &bob, shown).unwrap().encoding_max, 1);
    let huge = UpdateTrackSettings {
        track_sids: track_sids.clone(),
        width: 4000,
        height: 3000,
        ..Default::default()
    };
    assert_eq!(wanted(&mut world, &bob, huge).unwrap().encoding_max, 2);
    let hidden = UpdateTrackSettings {
        track_sids: track_sids.clone(),
        disabled: true,
        ..Default::default()
    };
    assert!(!wanted(&mut world, &bob, hidden).unwrap().enabled);

    world.clear();
    let stop = UpdateSubscription {
        track_sids,
        subscribe: false,
        ..Default::default()
    };
    world.say(bob.connection, Said::Subscription(stop.clone()));
    assert!(matches!(world.new_commands(), [Command::Unsubscribe { .. }]));
    world.settle(&mut bob);
    world.say(
        bob.connection,
        Said::Subscription(UpdateSubscription {
            subscribe: true,
            ..stop
        }),
    );
    world.settle(&mut bob);
    assert_eq!(world.subscriptions().len(), 1);
}

#[test]
fn without_automatic_subscription_nothing_comes_unasked() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    let mut admission = world.admission(&claims("bob"), Single, "");
    admission.settings.auto_subscribe = false;
    let connection = world.open(admission);
    let mut bob = crate::world::Client::at(connection, "bob", Single);
    world.clear();
    world.negotiate(&mut bob);
    assert!(world.subscriptions().is_empty());
    let wish = UpdateSubscription {
        track_sids: vec![camera.sid, "TR_nobody".to_owned()],
        subscribe: true,
        ..Default::default()
    };
    world.say(connection, Said::Subscription(wish));
    world.settle(&mut bob);
    assert_eq!(world.subscriptions().len(), 1);
    let refused = world.take(connection, |message| {
        matches!(message, Message::SubscriptionResponse(_))
    });
    assert_eq!(refused.len(), 1, "the track nobody has");
}

#[test]
fn a_participant_is_active_once_its_media_connects() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let mut bob = world.join_unconnected(&claims("bob"), Single);
    assert_eq!(world.seen(ada.connection, "bob").unwrap().state(), State::Joined);
    world.negotiate(&mut bob);
    world.connect(&bob);
    assert_eq!(world.seen(ada.connection, "bob").unwrap().state(), State::Active);
}
