//! Tests of receivers behind limited downlinks.

use std::time::Duration;

use dataplane::LegId;
use southbound::{Command, Notice, PayloadFormat, Subscription, SubscriptionId, SubscriptionSettings, TrackId};
use wire::{Codec, SequenceNumber, Ssrc};

use super::downlink::*;
use super::world::*;
use crate::receivers::{Granted, Receiver};
use crate::{Counter, Policy};

/// One simulcast camera, and a receiver of it behind a link of this rate.
pub(super) fn call(rate: u64) -> (World, Camera, Downlink) {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.reporting_peer();
    world.subscribe(receiver, track, 500, BEST);
    let downlink = Downlink::new(&world, receiver, rate);
    (world, Camera::new(publisher, 11), downlink)
}

fn state(world: &World, downlink: &Downlink) -> Receiver {
    world
        .agent
        .receiver(world.peers[downlink.peer].transport)
        .expect("it receives")
}

pub(super) fn encoding(world: &World, downlink: &Downlink) -> Option<u8> {
    state(world, downlink).subscriptions[0]
        .current
        .map(|current| current.encoding)
}

/// Lets `seconds` seconds pass, and returns the rate sent in each, in kbit/s.
pub(super) fn seconds(world: &mut World, camera: &mut Camera, downlink: &mut Downlink, seconds: u64) -> Vec<u64> {
    let mut rates = Vec::new();
    for _ in 0..seconds {
        play(
            world,
            std::slice::from_mut(camera),
            std::slice::from_mut(downlink),
            1_000,
        );
        rates.push(downlink.take_rate(Duration::from_secs(1)) / 1_000);
    }
    rates
}

#[test]
fn everybody_gets_the_best_that_fits() {
    for (rate, best) in [(250_000, 0), (1_000_000, 1), (4_000_000, 2), (20_000_000, 2)] {
        let (mut world, mut camera, mut downlink) = call(rate);
        seconds(&mut world, &mut camera, &mut downlink, 4);
        assert_eq!(encoding(&world, &downlink), Some(best), "{rate}");
        let rates = seconds(&mut world, &mut camera, &mut downlink, 10);
        let most = *rates.iter().max().unwrap() * 1_000;
        assert!(most <= rate, "{rate}: {rates:?}");
        world.close_all();
    }
}

#[test]
fn a_link_that_becomes_thin_gets_less_and_one_that_recovers_more() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(2));
    downlink.link.rate = 800_000;
    let after = seconds(&mut world, &mut camera, &mut downlink, 3);
    assert!(after[2] <= 800, "{after:?}");
    downlink.link.rate = 4_000_000;
    seconds(&mut world, &mut camera, &mut downlink, 15);
    assert_eq!(encoding(&world, &downlink), Some(2));
    let pace = world.model.pace(LegId(2)).expect("it is paced");
    assert!(pace >= 2 * RATES[2], "{pace}");
}

/// Changes of the receiver's media while time passes: each change, with the milliseconds after
/// which it was seen.
fn changes<T: PartialEq>(
    (mut world, mut camera, mut downlink): (World, Camera, Downlink),
    millis: u64,
    seen: impl Fn(&World, &Downlink) -> Option<T>,
) -> Vec<(u64, T)> {
    let mut changes: Vec<(u64, T)> = Vec::new();
    for at in (0..millis).step_by(20) {
        let (cameras, downlinks) = (std::slice::from_mut(&mut camera), std::slice::from_mut(&mut downlink));
        play(&mut world, cameras, downlinks, 20);
        let now = seen(&world, &downlink);
        if let Some(now) = now.filter(|now| changes.last().is_none_or(|(_, last)| last != now)) {
            changes.push((at, now));
        }
    }
    changes
}

/// The key frame of the smallest size is through soonest; that of the size which fits does not
/// follow it at once.
#[test]
fn a_large_fall_goes_through_the_smallest_size() {
    for in_one_stream in [false, true] {
        let (mut world, mut camera, mut downlink) = match in_one_stream {
            false => call(4_000_000),
            true => call_in_one_stream(4_000_000),
        };
        seconds(&mut world, &mut camera, &mut downlink, 10);
        downlink.link.rate = 900_000;
        let seen = match in_one_stream {
            false => encoding,
            true => size,
        };
        let changes = changes((world, camera, downlink), 6_000, seen);
        let [(_, 2), (fell, 0), (rose, 1)] = changes[..] else {
            panic!("{in_one_stream}: {changes:?}");
        };
        assert!(
            fell < 1_000 && (2_000..3_500).contains(&(rose - fell)),
            "{in_one_stream}: {changes:?}"
        );
    }
}

/// Retransmissions are tested without a key frame, because packets before one are not sent again.
#[test]
fn retransmissions_wait_until_a_full_path_has_room() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    (camera.sends, camera.layered) = ([false, false, true], true);
    seconds(&mut world, &mut camera, &mut downlink, 10);
    downlink.link.rate = 1_000_000;
    let mut play = |world: &mut World, downlink: &mut Downlink, millis| {
        play(
            world,
            std::slice::from_mut(&mut camera),
            std::slice::from_mut(downlink),
            millis,
        );
    };
    let queue = |world: &World, downlink: &Downlink| state(world, downlink).downlink.unwrap().estimate.queue;
    for _ in 0..50 {
        play(&mut world, &mut downlink, 20);
        if queue(&world, &downlink) > Duration::from_millis(150) {
            break;
        }
    }
    assert!(queue(&world, &downlink) > Duration::from_millis(150));
    let sent = &downlink.numbers[&500];
    let lost: Vec<SequenceNumber> = sent[sent.len() - 12..].iter().copied().map(SequenceNumber).collect();
    // Probes are made of packets that are sent again, too.
    let probes = downlink.numbers[&501].len();
    let resent = |downlink: &Downlink| downlink.numbers[&501].len() - probes;
    world.send_rtcp(downlink.peer, |writer| _ = writer.nack(Ssrc(500), lost));
    play(&mut world, &mut downlink, 10);
    assert!((1..8).contains(&resent(&downlink)), "{}", resent(&downlink));
    play(&mut world, &mut downlink, 500);
    assert_eq!((resent(&downlink), world.count(Counter::NackThrottled)), (12, 0));
}

#[test]
fn a_video_that_does_not_fit_is_paused_with_a_notice() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    camera.sends = [false, false, true];
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(2));
    world.take_notices();
    downlink.link.rate = 500_000;
    seconds(&mut world, &mut camera, &mut downlink, 4);
    let subscription = SubscriptionId(500);
    let paused = |paused| Notice::Paused { subscription, paused };
    assert!(world.take_notices().contains(&paused(true)));
    assert_eq!(state(&world, &downlink).subscriptions[0].granted, Granted::NoRoom);
    downlink.link.rate = 4_000_000;
    seconds(&mut world, &mut camera, &mut downlink, 10);
    assert!(world.take_notices().contains(&paused(false)));
    assert_eq!(encoding(&world, &downlink), Some(2));
}

#[test]
fn a_receiver_that_never_reports_gets_all_it_wants() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    downlink.reports = false;
    seconds(&mut world, &mut camera, &mut downlink, 2);
    assert_eq!(encoding(&world, &downlink), Some(0), "nothing is known yet");
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(2));
    assert_eq!(world.model.pace(LegId(2)), None);
    assert!(!state(&world, &downlink).downlink.unwrap().reports);
}

#[test]
fn a_receiver_s_own_estimate_is_followed() {
    let (mut world, publisher) = (World::new(), 0);
    world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.connected_peer();
    world.subscribe(receiver, track, 500, BEST);
    let (mut camera, mut downlink) = (Camera::new(publisher, 11), Downlink::new(&world, receiver, 4_000_000));
    seconds(&mut world, &mut camera, &mut downlink, 2);
    assert_eq!(encoding(&world, &downlink), Some(2), "nothing limits it");
    for (estimate, expected) in [(700_000, 1), (200_000, 0), (5_000_000, 2)] {
        for _ in 0..4 {
            world.send_rtcp(receiver, |writer| {
                writer.remb(estimate, &[Ssrc(500)]);
            });
            seconds(&mut world, &mut camera, &mut downlink, 1);
        }
        assert_eq!(encoding(&world, &downlink), Some(expected), "{estimate}");
    }
}

/// The two frame rates take 750 kbit/s each.
#[test]
fn a_receiver_s_own_estimate_is_compared_with_all_layers_that_are_sent() {
    let (mut world, publisher) = (World::new(), 0);
    world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.connected_peer();
    world.subscribe(receiver, track, 500, BEST);
    let (mut camera, mut downlink) = (Camera::new(publisher, 11), Downlink::new(&world, receiver, 4_000_000));
    (camera.layered, camera.sends) = (true, [false, false, true]);
    let mut follow = |estimate| {
        for _ in 0..4 {
            world.send_rtcp(receiver, |writer| {
                writer.remb(estimate, &[Ssrc(500)]);
            });
            seconds(&mut world, &mut camera, &mut downlink, 1);
        }
        let current = state(&world, &downlink).subscriptions[0].current;
        current.map(|current| current.layer.temporal)
    };
    assert_eq!(follow(5_000_000), Some(1));
    assert_eq!(follow(1_100_000), Some(0), "less than both, more than either");
}

/// One of the two is displayed large; 2,400 kbit/s carry the largest size once.
#[test]
fn with_thresholds_everybody_gets_the_same_share() {
    for (policy, expected) in [(Policy::Utility, [2, 0]), (Policy::Thresholds, [1, 1])] {
        let mut world = World::with(|config| config.policy = policy);
        let (first, second) = (world.connected_peer(), world.connected_peer());
        let receiver = world.reporting_peer();
        for (publisher, ssrc, size) in [(first, 500, (1_280, 720)), (second, 600, (320, 180))] {
            let track = world.publish_video(publisher, &RIDS);
            world.subscribe(receiver, track, ssrc, SubscriptionSettings { size, ..BEST });
        }
        let mut cameras = [Camera::new(first, 11), Camera::new(second, 21)];
        let mut downlink = Downlink::new(&world, receiver, 2_400_000);
        play(&mut world, &mut cameras, std::slice::from_mut(&mut downlink), 15_000);
        let subscriptions = state(&world, &downlink).subscriptions;
        let encodings: Vec<_> = subscriptions
            .iter()
            .filter_map(|it| Some(it.current?.encoding))
            .collect();
        assert_eq!(encodings, expected, "{policy:?}");
        world.close_all();
    }
}

#[test]
fn without_adaptation_all_is_as_wanted() {
    let mut world = World::with(|config| config.adaptation = false);
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.reporting_peer();
    world.subscribe(receiver, track, 500, BEST);
    let (mut camera, mut downlink) = (Camera::new(publisher, 11), Downlink::new(&world, receiver, 300_000));
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(2));
    assert_eq!(state(&world, &downlink).downlink, None);
    assert_eq!(world.model.pace(LegId(2)), None);
}

#[test]
fn a_held_track_goes_to_nobody_and_nobody_is_told() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 3);
    world.take_notices();
    world.command(set_forwarding(TrackId(100), false));
    seconds(&mut world, &mut camera, &mut downlink, 1);
    assert_eq!(seconds(&mut world, &mut camera, &mut downlink, 1), [0]);
    assert_eq!(state(&world, &downlink).subscriptions[0].granted, Granted::Held);
    world.command(set_forwarding(TrackId(100), true));
    seconds(&mut world, &mut camera, &mut downlink, 2);
    assert_eq!(encoding(&world, &downlink), Some(2));
    let said = world.take_notices();
    assert!(
        !said.iter().any(|notice| matches!(notice, Notice::Paused { .. })),
        "{said:?}"
    );
}

#[test]
fn of_many_videos_the_last_speakers_are_shown() {
    let mut world = World::with(|config| config.last_n = 1);
    let first = world.connected_peer();
    let second = world.connected_peer();
    let receiver = world.connected_peer();
    for (publisher, ssrc) in [(first, 500), (second, 600)] {
        let track = world.publish_video(publisher, &[]);
        world.subscribe(receiver, track, ssrc, BEST);
    }
    let paused = |world: &World| [500, 600].map(|ssrc| world.model.replica_with(ssrc).unwrap().paused);
    assert_eq!(paused(&world), [false, true]);
    let speaks = |track| Command::SetSpeakerRank {
        track: TrackId(track),
        rank: Some(0),
    };
    world.advance(1_000);
    world.command(speaks(101));
    assert_eq!(paused(&world), [true, false]);
    let told = world.take_notices();
    let notice = |id, paused| Notice::Paused {
        subscription: SubscriptionId(id),
        paused,
    };
    assert!(
        told.contains(&notice(500, true)) && told.contains(&notice(600, false)),
        "{told:?}"
    );
}

#[test]
fn the_small_picture_of_many_is_given_up_for_the_large_one() {
    let (mut world, mut camera, mut downlink) = call(1_200_000);
    let other = world.connected_peer();
    let track = world.publish_video(other, &RIDS);
    let shown = |width, height| SubscriptionSettings {
        size: (width, height),
        ..BEST
    };
    world.subscribe(downlink.peer, track, 600, shown(320, 180));
    world.subscribe(downlink.peer, TrackId(100), 500, shown(1_280, 720));
    let mut cameras = [Camera::new(camera.peer, 11), Camera::new(other, 21)];
    std::mem::swap(&mut camera, &mut cameras[0]);
    play(&mut world, &mut cameras, std::slice::from_mut(&mut downlink), 8_000);
    let state = state(&world, &downlink);
    let encodings: Vec<_> = state
        .subscriptions
        .iter()
        .map(|it| it.current.map(|it| it.encoding))
        .collect();
    assert_eq!(encodings, [Some(1), Some(0)]);
}

#[test]
fn one_key_frame_serves_many_new_receivers() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receivers: Vec<usize> = (0..5).map(|_| world.reporting_peer()).collect();
    let mut camera = Camera::new(publisher, 11);
    play(&mut world, std::slice::from_mut(&mut camera), &mut [], 2_000);
    let start = world.now;
    for (index, receiver) in receivers.iter().enumerate() {
        world.subscribe(*receiver, track, 500 + 10 * index as u32, BEST);
    }
    world.advance(20);
    let asked: usize = (11..14)
        .map(|ssrc| world.peers[publisher].plis(ssrc, start).len())
        .sum();
    assert_eq!(asked, 1);
}

#[test]
fn a_frame_rate_that_does_not_fit_is_left_out_without_a_key_frame() {
    let (mut world, mut camera, mut downlink) = call(4_000_000);
    (camera.layered, camera.sends) = (true, [false, false, true]);
    seconds(&mut world, &mut camera, &mut downlink, 4);
    downlink.link.rate = 1_200_000;
    let start = world.now;
    seconds(&mut world, &mut camera, &mut downlink, 3);
    let subscription = &state(&world, &downlink).subscriptions[0];
    let measured: Vec<_> = subscription
        .arrives
        .iter()
        .map(|it| (it.target.layer.temporal, it.fps))
        .collect();
    assert_eq!(measured, [(0, 15), (1, 30)]);
    assert_eq!(subscription.current.map(|current| current.layer.temporal), Some(0));
    let rates = seconds(&mut world, &mut camera, &mut downlink, 4);
    assert!(rates.iter().all(|rate| (600..1_200).contains(rate)), "{rates:?}");
    assert!(world.peers[camera.peer].plis(13, start).is_empty());
}

/// A camera whose three sizes are in one stream and build on one another in key frames only, and a
/// receiver of it behind a link of this rate.
fn call_in_one_stream(rate: u64) -> (World, Camera, Downlink) {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video_as(publisher, &RIDS[..1], vp9());
    let receiver = world.reporting_peer();
    world.subscribe_as(receiver, track, 500, vp9(), BEST);
    let (mut camera, downlink) = (Camera::new(publisher, 11), Downlink::new(&world, receiver, rate));
    camera.in_one_stream = true;
    (world, camera, downlink)
}

fn size(world: &World, downlink: &Downlink) -> Option<u8> {
    let current = state(world, downlink).subscriptions[0].current;
    current.map(|current| current.layer.spatial)
}

/// The three sizes take 2,150 kbit/s together, the largest 1,500. There is room to keep the
/// smallest beside it, so that is counted, but its stream has no dependency descriptor.
#[test]
fn the_cost_of_a_larger_size_includes_the_smaller_layers_it_needs() {
    let (mut world, mut camera, mut downlink) = call_in_one_stream(2_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 17);
    assert_eq!(size(&world, &downlink), Some(2));
    let costs = 1_500..1_650;
    let rates = seconds(&mut world, &mut camera, &mut downlink, 5);
    let probed = rates.iter().filter(|rate| !costs.contains(*rate)).count();
    assert!(probed <= 1, "{rates:?}");
    let allocated = state(&world, &downlink).downlink.expect("it is measured").allocated / 1_000;
    assert!((1_500..1_800).contains(&allocated), "{allocated}");
}

#[test]
fn a_picture_that_is_wanted_smaller_stays_until_it_has_its_size() {
    let (mut world, mut camera, mut downlink) = call_in_one_stream(4_000_000);
    seconds(&mut world, &mut camera, &mut downlink, 10);
    world.subscribe_as(
        downlink.peer,
        TrackId(100),
        500,
        vp9(),
        SubscriptionSettings { spatial_max: 1, ..BEST },
    );
    let mut sizes = Vec::new();
    for _ in 0..50 {
        play(
            &mut world,
            std::slice::from_mut(&mut camera),
            std::slice::from_mut(&mut downlink),
            20,
        );
        sizes.push(size(&world, &downlink).expect("it is sent"));
    }
    sizes.dedup();
    assert_eq!(sizes, [2, 1]);
}

#[test]
fn two_pictures_follow_a_downlink_down_and_up() {
    let (mut world, camera, mut downlink) = call(4_000_000);
    let other = world.connected_peer();
    let track = world.publish_video(other, &RIDS);
    world.subscribe(downlink.peer, track, 600, BEST);
    let mut cameras = [camera, Camera::new(other, 21)];
    for (rate, seconds, expected) in [
        (4_000_000, 5, [2, 2]),
        (1_000_000, 15, [0, 1]),
        (500_000, 15, [0, 0]),
        (4_000_000, 10, [2, 2]),
    ] {
        downlink.link.rate = rate;
        play(
            &mut world,
            &mut cameras,
            std::slice::from_mut(&mut downlink),
            seconds * 1_000,
        );
        let subscriptions = state(&world, &downlink).subscriptions;
        let mut encodings: Vec<_> = subscriptions
            .iter()
            .filter_map(|it| Some(it.current?.encoding))
            .collect();
        // The one with more room depends on their present rates.
        encodings.sort_unstable();
        assert_eq!(encodings, expected, "{rate}");
    }
}

#[test]
fn a_receiver_without_red_gets_the_primary_payload() {
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let format = |value, codec| PayloadFormat {
        payload_type: payload_type(value),
        codec,
        rtx: None,
        nack: false,
    };
    let track = world.publish_audio_as(publisher, vec![format(63, Codec::Red), format(OPUS, Codec::Opus)]);
    world.command(Command::Subscribe(Subscription {
        subscription: SubscriptionId(500),
        transport: world.peers[receiver].transport,
        track,
        ssrc: Ssrc(500),
        rtx: None,
        mid: None,
        formats: [63, OPUS]
            .map(|value| (payload_type(value), format(OPUS, Codec::Opus)))
            .into(),
        settings: BEST,
        fill: false,
    }));
    let replica = world.model.replica_with(500).expect("it is written");
    let primary_only: Vec<_> = replica
        .formats
        .iter()
        .map(|it| (it.source.get(), it.primary_only))
        .collect();
    assert_eq!(primary_only, [(63, true), (OPUS, false)]);
}
