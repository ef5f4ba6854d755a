//! Microphones in G.711, which reach receivers as they are.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::TrackSource;
use wire::{Codec, MediaKind};

use crate::world::World;

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
