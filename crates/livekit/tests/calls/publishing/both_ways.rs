//! One media section for both directions, as clients on pion use it: they publish on a section that
//! they receive on.

use controller::PeerMode::Single;
use livekit_protocol::TrackSource;
use southbound::Command;
use wire::sdp::{Direction, Msid, SsrcLine};
use wire::{MediaKind, Mid, Ssrc};

use crate::browser::parse;
use crate::world::{Client, World};

/// Has a client send a track on a section that it listens on, as pion's `AddTrack` does.
fn send_on(client: &mut Client, mid: Mid, track: &str, ssrc: u32) {
    client.browser.change(mid, |section| {
        section.direction = Direction::SendRecv;
        section.msids = vec![Msid {
            stream: "stream".to_owned(),
            track: Some(track.to_owned()),
        }];
        section.ssrcs = vec![SsrcLine {
            ssrc: Ssrc(ssrc),
            attribute: "cname".to_owned(),
            value: Some("stream".to_owned()),
        }];
    });
}

fn listen_only(client: &mut Client, mid: Mid) {
    client.browser.change(mid, |section| {
        section.direction = Direction::RecvOnly;
        section.msids.clear();
        section.ssrcs.clear();
    });
}

/// The sections of this kind that a client listens on.
fn listening(client: &Client, kind: MediaKind) -> Vec<Mid> {
    let offer = parse(&client.browser.offer());
    let sections = offer.sections.into_iter();
    sections
        .filter(|section| section.kind == wire::sdp::SectionKind::Media(kind) && section.direction.receives())
        .map(|section| section.mid)
        .collect()
}

#[test]
fn a_client_publishes_on_the_section_it_receives_on() {
    for (kind, source) in [
        (MediaKind::Audio, TrackSource::Microphone),
        (MediaKind::Video, TrackSource::Camera),
    ] {
        let mut world = World::new();
        let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
        let from_ada = world.publish(&mut ada, kind, source);
        let (answer, message) = world.offer(&mut bob);
        let used = answer
            .sections
            .iter()
            .find(|section| section.direction == Direction::SendOnly);
        let used = used.expect("bob gets it").clone();
        assert_eq!(message.mid_to_track_id[used.mid.as_str()], from_ada.sid);

        world.clear();
        let from_bob = world.announce(&bob, kind, source, "from bob");
        send_on(&mut bob, used.mid, "from bob", 77);
        let (answer, message) = world.offer(&mut bob);
        let both = answer.sections.iter().find(|section| section.mid == used.mid).unwrap();
        assert_eq!(both.direction, Direction::SendRecv);
        assert_eq!((&both.msids, both.media_ssrcs()), (&used.msids, used.media_ssrcs()));
        assert_eq!(message.mid_to_track_id[used.mid.as_str()], from_ada.sid);
        let publication = &world.publications()[0];
        assert_eq!(
            (publication.mid, publication.encodings[0].ssrc),
            (Some(used.mid), Some(Ssrc(77)))
        );
        let kept = world
            .new_commands()
            .iter()
            .all(|command| !matches!(command, Command::Unsubscribe { .. }));
        assert!(kept, "what bob receives goes on");
        assert_eq!(world.seen(ada.connection, "bob").unwrap().tracks[0].sid, from_bob.sid);
        let connect = world.new_commands().iter().rev().find_map(|command| match command {
            Command::Connect { remote, .. } => Some(remote.clone()),
            _ => None,
        });
        let connect = connect.expect("the agent hears of both directions");
        assert!(!connect.extensions_in.is_empty() && !connect.extensions_out.is_empty());
    }
}

#[test]
fn a_section_that_a_client_sends_on_takes_a_track_when_no_other_is_free() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let sections = listening(&bob, MediaKind::Audio);
    world.announce(&bob, MediaKind::Audio, TrackSource::Microphone, "from bob");
    send_on(&mut bob, sections[0], "from bob", 77);
    world.offer(&mut bob);
    for number in 0..sections.len() {
        let cid = format!("microphone {number}");
        world.announce(&ada, MediaKind::Audio, TrackSource::Microphone, &cid);
        ada.browser.publish(MediaKind::Audio, &cid);
        world.negotiate(&mut ada);
    }
    let (answer, _) = world.offer(&mut bob);
    let directions: Vec<_> = sections
        .iter()
        .map(|mid| {
            answer
                .sections
                .iter()
                .find(|section| section.mid == *mid)
                .unwrap()
                .direction
        })
        .collect();
    assert_eq!(directions[0], Direction::SendRecv);
    assert!(
        directions[1..]
            .iter()
            .all(|direction| *direction == Direction::SendOnly)
    );
}

#[test]
fn each_direction_of_a_section_ends_and_begins_by_itself() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let (answer, _) = world.offer(&mut bob);
    let mid = answer
        .sections
        .iter()
        .find(|section| section.direction.sends())
        .unwrap()
        .mid;
    let direction = |world: &mut World, bob: &mut Client| {
        let (answer, _) = world.offer(bob);
        answer
            .sections
            .iter()
            .find(|section| section.mid == mid)
            .unwrap()
            .direction
    };
    for round in 0..2 {
        let cid = format!("from bob {round}");
        world.announce(&bob, MediaKind::Audio, TrackSource::Microphone, &cid);
        send_on(&mut bob, mid, &cid, 77 + round);
        assert_eq!(direction(&mut world, &mut bob), Direction::SendRecv);
        world.clear();
        listen_only(&mut bob, mid);
        assert_eq!(direction(&mut world, &mut bob), Direction::SendOnly);
        assert!(world.seen(ada.connection, "bob").unwrap().tracks.is_empty());
    }
    world.announce(&bob, MediaKind::Audio, TrackSource::Microphone, "last");
    send_on(&mut bob, mid, "last", 99);
    world.offer(&mut bob);
    let gone = parse(&ada.browser.offer()).sections.last().unwrap().mid;
    ada.browser.unpublish(gone);
    world.offer(&mut ada);
    assert_eq!(direction(&mut world, &mut bob), Direction::RecvOnly, "ada's has ended");
    assert_eq!(world.seen(ada.connection, "bob").unwrap().tracks.len(), 1);
}

#[test]
fn another_track_on_a_section_ends_the_one_before() {
    let mut world = World::new();
    let (ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let mid = listening(&bob, MediaKind::Audio)[0];
    world.announce(&bob, MediaKind::Audio, TrackSource::Microphone, "first");
    send_on(&mut bob, mid, "first", 1);
    world.offer(&mut bob);
    let second = world.announce(&bob, MediaKind::Audio, TrackSource::Microphone, "second");
    send_on(&mut bob, mid, "second", 2);
    world.clear();
    world.offer(&mut bob);
    let seen = world.seen(ada.connection, "bob").unwrap();
    assert_eq!(
        seen.tracks.iter().map(|track| &track.sid).collect::<Vec<_>>(),
        [&second.sid]
    );
    assert_eq!(world.publications()[0].encodings[0].ssrc, Some(Ssrc(2)));
}
