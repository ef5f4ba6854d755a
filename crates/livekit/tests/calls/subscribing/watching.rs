//! Monitoring learns whose downlinks there are.

use controller::PeerMode::{Dual, Single};
use livekit_protocol::TrackSource;
use wire::MediaKind;

use crate::world::World;

#[test]
fn a_downlink_has_the_names_of_what_it_gets() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Dual));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);

    let downlink = world.controller.downlink("lobby", "bob").expect("he is here");
    let got: Vec<_> = downlink.subscriptions.values().collect();
    assert_eq!(got.len(), 1);
    assert_eq!((got[0].publisher.as_str(), got[0].source.as_str()), ("ada", "camera"));
    assert_eq!(got[0].track, camera.sid);
    assert!(world.controller.downlink("lobby", "eve").is_none());
    assert!(world.controller.downlink("attic", "bob").is_none());
}

#[test]
fn one_room_is_told_from_another() {
    let mut world = World::new();
    world.join("ada", Single);
    let identities = |room| -> Vec<_> { world.controller.downlinks(room).map(|it| it.identity).collect() };
    assert_eq!(identities(Some("lobby")), ["ada"]);
    assert_eq!(identities(None), ["ada"]);
    assert!(identities(Some("attic")).is_empty());
}
