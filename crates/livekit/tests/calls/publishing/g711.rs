//! Microphones in G.711, which reach receivers as they are.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{AddTrackRequest, SimulcastCodec, TrackSource};
use wire::{Codec, MediaKind};

use crate::world::{Client, World, add_track, claims};

fn codec(name: &str, cid: &str) -> SimulcastCodec {
    SimulcastCodec {
        codec: name.to_owned(),
        cid: cid.to_owned(),
        ..SimulcastCodec::default()
    }
}

/// The codec on the receiver's only subscription.
fn heard(world: &World, client: &Client) -> Option<Codec> {
    let transports = world.transports_of(client);
    let subscriptions = world.subscriptions().into_iter();
    let mut own = subscriptions.filter(|subscription| transports.contains(&subscription.transport));
    Some(own.next_back()?.formats[0].1.codec)
}

#[test]
fn a_publisher_without_opus_is_heard_in_its_codec() {
    for (mode, codec) in [(Single, Codec::Pcmu), (Dual, Codec::Pcma)] {
        let mut world = World::new();
        let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", mode));
        world.announce(&ada, MediaKind::Audio, TrackSource::Microphone, "microphone");
        let mid = ada.browser.publish(MediaKind::Audio, "microphone");
        ada.browser.change(mid, |section| {
            section.formats.retain(|format| format.codec() == Some(codec));
        });
        world.clear();
        let (answer, _) = world.offer(&mut ada);
        let section = answer.sections.iter().find(|section| section.mid == mid).unwrap();
        assert!(!section.rejected);
        world.settle(&mut bob);
        let subscription = world.subscriptions().remove(0);
        let codecs: Vec<_> = subscription.formats.iter().map(|(_, format)| format.codec).collect();
        assert_eq!(codecs, [codec]);
        let seen = world.seen(bob.connection, "ada").unwrap();
        assert_eq!(seen.tracks[0].mime_type, format!("audio/{codec}"));
    }
}

#[test]
fn a_publisher_of_two_codecs_is_heard_in_the_first_where_that_is_decoded() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Dual));
    let announcement = AddTrackRequest {
        simulcast_codecs: vec![codec("audio/PCMU", "telephone"), codec("audio/opus", "")],
        disable_red: true,
        ..add_track(MediaKind::Audio, TrackSource::Microphone, "telephone")
    };
    world.say(ada.connection, Said::AddTrack(announcement));
    ada.browser.publish(MediaKind::Audio, "telephone");
    world.negotiate(&mut ada);
    world.settle(&mut bob);
    assert_eq!(heard(&world, &bob), Some(Codec::Pcmu));
    let seen = world.seen(bob.connection, "ada").unwrap();
    assert_eq!(seen.tracks[0].mime_type, "audio/PCMU");

    let mut cat = world.join_unconnected(&claims("cat"), Single);
    cat.browser.forget("PCMU");
    world.negotiate(&mut cat);
    world.connect(&cat);
    assert_eq!(heard(&world, &cat), None, "Opus is not sent yet");
    let asked = world.expect(
        ada.connection,
        "subscribed_audio_codec_update",
        |message| match message {
            Message::SubscribedAudioCodecUpdate(update) => Some(update.clone()),
            _ => None,
        },
    );
    let wanted = asked.subscribed_audio_codecs.into_iter();
    let wanted: Vec<_> = wanted.map(|codec| (codec.codec, codec.enabled)).collect();
    assert_eq!(wanted, [("pcmu".to_owned(), true), ("opus".to_owned(), true)]);

    let backup = AddTrackRequest {
        sid: asked.track_sid,
        simulcast_codecs: vec![codec("opus", "clone")],
        ..add_track(MediaKind::Audio, TrackSource::Microphone, "clone")
    };
    world.say(ada.connection, Said::AddTrack(backup));
    ada.browser.publish(MediaKind::Audio, "clone");
    world.negotiate(&mut ada);
    world.settle(&mut cat);
    assert_eq!(heard(&world, &cat), Some(Codec::Opus));
    assert_eq!(heard(&world, &bob), Some(Codec::Pcmu));
}
