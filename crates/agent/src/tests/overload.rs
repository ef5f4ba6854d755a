//! A device that loses packets itself: repairing them must not make it lose more.

use dataplane::Counter::ReceiveOverflow;
use wire::{SequenceNumber, Ssrc};

use super::downlink::*;
use super::world::*;
use crate::Counter;
use crate::limits::RESENDS_PER_SECOND_MIN;

#[test]
fn nacks_are_limited_to_a_small_share_of_arrivals_while_packets_are_lost_here() {
    // A lost packet never arrives, and is asked for ten times.
    for (losing, at_least, at_most) in [(false, 3_000, 5_000), (true, 30, 1_000 / 16)] {
        let mut world = World::new();
        let peer = world.connected_peer();
        world.publish_video(peer, &[]);
        world.send(peer, video(11, 1, KEY));
        // One of each three is lost.
        for place in 0..500_u16 {
            if losing {
                world.model.lose(ReceiveOverflow, 1);
            }
            world.send(peer, video(11, 3 + 3 * place, DELTA));
            world.send(peer, video(11, 4 + 3 * place, DELTA));
            world.advance(10);
        }
        let asked = world.count(Counter::NackSent);
        assert!((at_least..=at_most).contains(&asked), "{losing}: {asked}");
    }
}

#[test]
fn receivers_are_sent_little_again_while_packets_are_lost_here_and_as_ever_later() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.reporting_peer();
    world.subscribe(receiver, track, 500, BEST);
    let mut camera = Camera::new(publisher, 11);
    let mut downlink = Downlink::new(&world, receiver, 10_000_000);
    play(
        &mut world,
        std::slice::from_mut(&mut camera),
        std::slice::from_mut(&mut downlink),
        3_000,
    );
    let mut first = 0;
    let mut answered = |world: &mut World| {
        let count = |world: &World| world.count(Counter::NackReceived) - world.count(Counter::NackThrottled);
        let before = count(world);
        for _ in 0..10 {
            let numbers = (first..first + 30).map(SequenceNumber);
            first += 30;
            world.send_rtcp(receiver, |writer| _ = writer.nack(Ssrc(500), numbers));
        }
        count(world) - before
    };
    world.model.lose(ReceiveOverflow, 1);
    let (least, most) = (u64::from(RESENDS_PER_SECOND_MIN) / 2, u64::from(RESENDS_PER_SECOND_MIN));
    assert!((least..=most).contains(&answered(&mut world)), "some of them twice");
    world.advance(1_100);
    assert!(answered(&mut world) > 200);
}

#[test]
fn key_frames_are_asked_for_seldom_while_packets_are_lost_here_and_no_request_is_given_up() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let track = world.publish_video(peer, &[]);
    let receiver = world.connected_peer();
    world.subscribe(receiver, track, 500, BEST);
    world.send(peer, video(11, 1, DELTA));
    let start = world.now;
    // This is longer than requests are repeated.
    for _ in 0..400 {
        world.model.lose(ReceiveOverflow, 1);
        world.live(100);
    }
    let asked = world.peers[peer].plis(11, start).len();
    assert!((10..=15).contains(&asked), "{asked}");
    world.live(4_000);
    assert!(world.peers[peer].plis(11, start).len() > asked + 3);
}
