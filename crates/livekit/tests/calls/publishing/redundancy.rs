//! Redundant audio (RFC 2198): who can send it does, who cannot read it gets what is in it.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{AddTrackRequest, TrackSource};
use southbound::Subscription;
use wire::sdp::MediaSection;
use wire::{Codec, MediaKind};

use crate::browser::{Browser, parse};
use crate::world::{Client, World, add_track, claims, described};

/// `ada` publishes a microphone; the answer to it.
fn publish(world: &mut World, ada: &mut Client, disable_red: bool) -> MediaSection {
    let request = AddTrackRequest {
        disable_red,
        ..add_track(MediaKind::Audio, TrackSource::Microphone, "microphone")
    };
    world.say(ada.connection, Said::AddTrack(request));
    let mid = ada.browser.publish(MediaKind::Audio, "microphone");
    let (answer, _) = world.offer(ada);
    answer.sections.into_iter().find(|section| section.mid == mid).unwrap()
}

fn codecs(section: &MediaSection) -> Vec<Option<Codec>> {
    section.formats.iter().map(|format| format.codec()).collect()
}

/// From what to what a subscription translates.
fn translations(subscription: &Subscription) -> Vec<(u8, u8, Codec)> {
    let formats = subscription.formats.iter();
    formats
        .map(|(from, to)| (from.get(), to.payload_type.get(), to.codec))
        .collect()
}

#[test]
fn a_publisher_sends_redundant_audio_unless_it_asked_not_to() {
    let mut world = World::new();
    let (mut ada, mut eve) = (world.join("ada", Single), world.join("eve", Single));
    world.clear();
    let section = publish(&mut world, &mut ada, false);
    assert_eq!(
        codecs(&section),
        [Some(Codec::Red), Some(Codec::Opus)],
        "the first is what a browser sends"
    );
    assert_eq!(section.formats[0].parameters.0, "111/111");
    let kinds = world.publications()[0]
        .formats
        .iter()
        .map(|format| format.codec)
        .collect::<Vec<_>>();
    assert_eq!(kinds, [Codec::Red, Codec::Opus]);
    let plain = publish(&mut world, &mut eve, true);
    assert_eq!(codecs(&plain), [Some(Codec::Opus)]);
    let seen = world.seen(ada.connection, "eve").unwrap();
    assert!(seen.tracks[0].disable_red);
}

#[test]
fn a_receiver_that_reads_it_gets_it_whole() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    world.clear();
    publish(&mut world, &mut ada, false);
    world.settle(&mut bob);
    let subscription = world.subscriptions().remove(0);
    assert_eq!(
        translations(&subscription),
        [(63, 63, Codec::Red), (111, 111, Codec::Opus)]
    );
}

/// The subscriptions of a receiver whose answer `section` changes.
fn received(change: impl Fn(&mut MediaSection)) -> Vec<(u8, u8, Codec)> {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    publish(&mut world, &mut ada, false);
    let bob = world.join_unconnected(&claims("bob"), Dual);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let mut answer = parse(&Browser::answer(&offer.sdp));
    answer.sections.iter_mut().for_each(change);
    world.clear();
    world.say(
        bob.connection,
        Said::Answer(described("answer", answer.to_string(), offer.id)),
    );
    translations(&world.subscriptions().remove(0))
}

#[test]
fn a_receiver_that_does_not_gets_the_opus_in_it() {
    let all = received(|_| {});
    assert_eq!(all, [(63, 63, Codec::Red), (111, 111, Codec::Opus)]);
    let plain = received(|section| section.formats.retain(|format| format.name != "red"));
    assert_eq!(plain, [(63, 111, Codec::Opus), (111, 111, Codec::Opus)]);
}

#[test]
fn redundancy_of_anything_but_opus_is_not_taken() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let request = add_track(MediaKind::Audio, TrackSource::Microphone, "microphone");
    world.say(ada.connection, Said::AddTrack(request));
    for nonsense in ["0/0", "111/", "", "111/63", "999999/111"] {
        let mid = ada.browser.publish(MediaKind::Audio, "microphone");
        ada.browser.change(mid, |section| {
            for format in section.formats.iter_mut().filter(|format| format.name == "red") {
                format.parameters.0 = nonsense.to_owned();
            }
        });
        let (answer, _) = world.offer(&mut ada);
        let section = answer.sections.into_iter().find(|section| section.mid == mid).unwrap();
        assert_eq!(codecs(&section), [Some(Codec::Opus)], "{nonsense:?}");
    }
}
