//! Consequences of who speaks: large rooms hear the loudest few, and video of speakers matters
//! more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use controller::PeerMode::Single;
use controller::{Config, Loudest};
use livekit_protocol::TrackSource;
use southbound::{AudioActivity, Command, Notice, TrackId};
use wire::MediaKind;

use crate::world::{Client, World, keys};

const INTERVAL: Duration = Duration::from_millis(500);

/// A room where two are heard once more than three publish audio.
fn room() -> World {
    let voices = Some(Loudest {
        voices: 2,
        small_room: 3,
        ..Loudest::default()
    });
    World::with(Config {
        voices,
        ..Config::new(keys())
    })
}

fn speakers<const COUNT: usize>(world: &mut World, source: TrackSource) -> [(Client, TrackId); COUNT] {
    std::array::from_fn(|number| {
        let mut client = world.join(&format!("speaker{number}"), Single);
        world.clear();
        world.publish(&mut client, MediaKind::Audio, source);
        let track = world.publications()[0].track;
        (client, track)
    })
}

fn hear(world: &mut World, levels: &[(TrackId, u8)]) {
    let heard = levels.iter().map(|(track, level)| AudioActivity {
        track: *track,
        level: *level,
        active: INTERVAL,
    });
    world.notice(Notice::Audio(heard.collect()));
}

/// The tracks that are held back by all commands so far.
fn held(world: &World) -> BTreeSet<TrackId> {
    let mut held = BTreeSet::new();
    for command in &world.commands {
        match command {
            Command::SetForwarding {
                track,
                forwarding: false,
            } => assert!(held.insert(*track), "commanded once for each change"),
            Command::SetForwarding {
                track,
                forwarding: true,
            } => assert!(held.remove(track), "commanded once for each change"),
            Command::Unpublish { track } => _ = held.remove(track),
            _ => {}
        }
    }
    held
}

#[test]
fn a_small_room_hears_everybody() {
    let mut world = room();
    let people = speakers::<3>(&mut world, TrackSource::Microphone);
    hear(&mut world, &[(people[0].1, 10)]);
    assert!(held(&world).is_empty());
}

#[test]
fn a_large_room_hears_the_loudest_few_by_one_command_for_each_change() {
    let mut world = room();
    let people = speakers::<5>(&mut world, TrackSource::Microphone);
    let [a, b, c, d, e] = std::array::from_fn(|at| people[at].1);
    assert_eq!(held(&world).len(), 5, "nobody has spoken");
    hear(&mut world, &[(a, 10), (b, 20), (c, 40)]);
    assert_eq!(held(&world), [c, d, e].into());
    let before = world.commands.len();
    for _ in 0..5 {
        world.advance(INTERVAL);
        hear(&mut world, &[(a, 12), (b, 18)]);
    }
    let holds = world.commands[before..]
        .iter()
        .filter(|command| matches!(command, Command::SetForwarding { .. }));
    assert_eq!(holds.count(), 0, "nothing has changed");
    world.advance(Duration::from_secs(4));
    hear(&mut world, &[(a, 10), (e, 15)]);
    assert_eq!(held(&world), [b, c, d].into());
}

#[test]
fn a_room_that_empties_hears_everybody_again() {
    let mut world = room();
    let people = speakers::<4>(&mut world, TrackSource::Microphone);
    hear(&mut world, &[(people[0].1, 10)]);
    assert_eq!(held(&world).len(), 3);
    world.say(
        people[0].0.connection,
        livekit_protocol::signal_request::Message::Leave(livekit_protocol::LeaveRequest::default()),
    );
    assert!(held(&world).is_empty());
}

#[test]
fn audio_of_a_screen_is_never_held() {
    let mut world = room();
    speakers::<5>(&mut world, TrackSource::ScreenShareAudio);
    assert!(held(&world).is_empty());
}

#[test]
fn without_the_setting_everybody_is_heard_in_any_room() {
    let mut world = World::with(Config {
        voices: None,
        ..Config::new(keys())
    });
    let people = speakers::<20>(&mut world, TrackSource::Microphone);
    hear(&mut world, &[(people[0].1, 10)]);
    assert!(held(&world).is_empty());
}

/// The places of pictures by all that was commanded so far, and how often.
fn priorities(world: &World) -> (BTreeMap<TrackId, u8>, usize) {
    let (mut places, mut commands) = (BTreeMap::new(), 0);
    for command in &world.commands {
        if let Command::SetSpeakerRank { track, rank } = command {
            commands += 1;
            match rank {
                Some(place) => _ = places.insert(*track, *place),
                None => _ = places.remove(track),
            }
        }
    }
    (places, commands)
}

#[test]
fn the_picture_of_who_speaks_has_the_attention_for_as_long_as_it_lasts() {
    let mut world = World::new();
    let mut people = speakers::<2>(&mut world, TrackSource::Microphone);
    let cameras: Vec<_> = people
        .iter_mut()
        .map(|(client, _)| {
            world.clear();
            world.publish(client, MediaKind::Video, TrackSource::Camera);
            world.publish(client, MediaKind::Video, TrackSource::ScreenShare);
            world.publications()[0].track
        })
        .collect();
    let microphones = people.map(|(_, track)| track);
    hear(&mut world, &[(microphones[0], 5)]);
    assert_eq!(priorities(&world).0, [(cameras[0], 0)].into(), "the screen needs none");
    for _ in 0..10 {
        world.advance(INTERVAL);
        hear(&mut world, &[(microphones[0], 5)]);
    }
    assert_eq!(priorities(&world).1, 1, "said once");
    hear(&mut world, &[(microphones[1], 2)]);
    assert_eq!(priorities(&world).0[&cameras[1]], 0);
    world.advance(Duration::from_secs(20));
    assert!(
        priorities(&world).0.is_empty(),
        "silence is noticed without being reported"
    );
}

#[test]
fn people_who_shout_each_other_down_change_places_once_a_second() {
    let mut world = World::new();
    let mut people = speakers::<2>(&mut world, TrackSource::Microphone);
    for (client, _) in &mut people {
        world.publish(client, MediaKind::Video, TrackSource::Camera);
    }
    let microphones = people.map(|(_, track)| track);
    for round in 0..40 {
        hear(
            &mut world,
            &[(microphones[round % 2], 2), (microphones[(round + 1) % 2], 30)],
        );
        world.advance(INTERVAL);
    }
    let (_, commands) = priorities(&world);
    assert!(commands <= 2 * 21, "{commands} commands in 20 s");
}
