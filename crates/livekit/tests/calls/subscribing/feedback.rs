//! Negotiation of the feedback by which receivers say how much their downlink carries.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::TrackSource;
use southbound::{Command, RemoteTransport};
use wire::sdp::{Direction, Feedback, MediaSection};
use wire::{ExtensionKind, ExtensionMap, MediaKind};

use crate::browser::{Browser, parse};
use crate::world::{Client, World, claims, described};

fn remote(world: &World, client: &Client) -> RemoteTransport {
    let transports = world.transports_of(client);
    let mut connects = world.commands.iter().filter_map(|command| match command {
        Command::Connect { transport, remote } if transports.contains(transport) => Some(remote.clone()),
        _ => None,
    });
    connects.next_back().expect("it described itself")
}

fn forget(section: &mut MediaSection, kind: ExtensionKind) {
    section.extensions.retain(|extension| *extension.uri != *kind.uri());
}

fn reports(section: &MediaSection, feedback: &str) -> bool {
    let mut media = section.formats.iter().filter(|format| format.codec().is_some());
    media.any(|format| format.has_feedback(feedback))
}

#[test]
fn packets_are_numbered_across_the_transport_both_ways() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    let RemoteTransport {
        extensions_in,
        extensions_out,
        ..
    } = remote(&world, &ada);
    let same = |kind: ExtensionKind| {
        assert!(extensions_in.id(kind).is_some(), "{extensions_in:?}");
        assert_eq!(extensions_in.id(kind), extensions_out.id(kind));
    };
    same(ExtensionKind::Mid);
    same(ExtensionKind::TransportSequence);
    assert!(extensions_in.id(ExtensionKind::Rid).is_some() && extensions_in.id(ExtensionKind::RepairedRid).is_some());
    assert_eq!(
        extensions_out.id(ExtensionKind::AbsSendTime),
        None,
        "the numbers are enough"
    );
}

#[test]
fn sections_we_send_on_agree_to_reports_on_every_packet_audio_too() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let mut bob = world.join("bob", Single);
    let (answer, _) = world.offer(&mut bob);
    let sent: Vec<_> = answer
        .sections
        .iter()
        .filter(|section| section.direction == Direction::SendOnly)
        .collect();
    assert_eq!(sent.len(), 2);
    for section in sent {
        assert!(reports(section, "transport-cc"));
        let numbers = ExtensionKind::TransportSequence.uri();
        assert!(section.extensions.iter().any(|extension| *extension.uri == *numbers));
    }
}

#[test]
fn an_offer_to_a_receiver_has_all_kinds_of_feedback() {
    let mut world = World::new();
    let mut ada = world.join("ada", Dual);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let bob = world.join_unconnected(&claims("bob"), Dual);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        livekit_protocol::signal_response::Message::Offer(offer) => Some(parse(&offer.sdp)),
        _ => None,
    });
    for section in offer
        .sections
        .iter()
        .filter(|section| section.direction == Direction::SendOnly)
    {
        let mut map = ExtensionMap::default();
        for extension in &section.extensions {
            map.insert(ExtensionKind::from_uri(&extension.uri).unwrap(), extension.id)
                .unwrap();
        }
        assert!(reports(section, "transport-cc"));
        assert!(map.id(ExtensionKind::TransportSequence).is_some() && map.id(ExtensionKind::AbsSendTime).is_some());
        let video = section.formats.iter().any(|format| format.name == "VP8");
        assert_eq!(map.id(ExtensionKind::DependencyDescriptor).is_some(), video);
        assert!(!video || reports(section, "goog-remb"));
    }
}

/// The outcome of an offer that a receiver answers after `change`.
fn answered(change: impl Fn(&mut MediaSection)) -> ExtensionMap {
    let mut world = World::new();
    let mut ada = world.join("ada", Dual);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let bob = world.join_unconnected(&claims("bob"), Dual);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        livekit_protocol::signal_response::Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let mut answer = parse(&Browser::answer(&offer.sdp));
    answer.sections.iter_mut().for_each(change);
    let answer = described("answer", answer.to_string(), offer.id);
    world.say(
        bob.connection,
        livekit_protocol::signal_request::Message::Answer(answer),
    );
    remote(&world, &bob).extensions_out
}

#[test]
fn a_receiver_that_numbers_only_video_estimates_by_sending_times() {
    let all = answered(|_| {});
    assert!(all.id(ExtensionKind::TransportSequence).is_some() && all.id(ExtensionKind::AbsSendTime).is_none());
    assert!(all.id(ExtensionKind::DependencyDescriptor).is_some());
    let firefox = answered(|section| {
        if section.formats.iter().any(|format| format.name == "opus") {
            forget(section, ExtensionKind::TransportSequence);
        }
    });
    assert!(
        firefox.id(ExtensionKind::TransportSequence).is_none(),
        "audio would be missing in its reports"
    );
    assert!(firefox.id(ExtensionKind::AbsSendTime).is_some());
}

#[test]
fn numbers_nobody_reports_on_are_not_sent() {
    let silent = answered(|section| {
        section
            .formats
            .iter_mut()
            .for_each(|format| format.feedback = Feedback::default())
    });
    assert_eq!(silent.id(ExtensionKind::TransportSequence), None);
    assert_eq!(silent.id(ExtensionKind::AbsSendTime), None);
    assert!(silent.id(ExtensionKind::Mid).is_some());
}
