//! Tests of rooms whose packets are copied unchanged: NACKs and estimates of receivers are passed
//! on to the publishers.

use dataplane::{Event, LegId, StreamKey};
use wire::rtcp::RtcpPacket;
use wire::{SequenceNumber, Ssrc};

use super::downlink::*;
use super::world::*;
use crate::{Counter, Feedback};

const CAMERA: StreamKey = StreamKey {
    leg: LegId(1),
    ssrc: Ssrc(11),
};

/// A publisher of one camera and its receivers, all without encryption and without retransmissions.
/// Receiver n gets it with SSRC 100 n.
fn room(receivers: usize) -> (World, usize, Vec<usize>) {
    room_with(receivers, Feedback::Terminated)
}

fn room_with(receivers: usize, feedback: Feedback) -> (World, usize, Vec<usize>) {
    let mut world = World::with(|config| (config.clear_rtp, config.feedback) = (true, feedback));
    let publisher = world.clear_peer();
    let receivers: Vec<usize> = (0..receivers).map(|_| world.clear_peer()).collect();
    let plain = southbound::PayloadFormat { rtx: None, ..vp8() };
    let track = world.publish_video_as(publisher, &[], plain);
    for receiver in &receivers {
        world.subscribe_as(*receiver, track, 100 * *receiver as u32, plain, BEST);
    }
    world.send(publisher, video(11, 1, KEY));
    world.send(publisher, video(11, 2, DELTA));
    world.advance(100);
    (world, publisher, receivers)
}

/// NACKs sent to the publisher, request by request.
fn asked(world: &World, publisher: usize) -> Vec<Vec<u16>> {
    let mut asked = Vec::new();
    world.peers[publisher].each_rtcp(|_, packet| {
        if let RtcpPacket::Nack(nack) = packet {
            assert_eq!(nack.media, CAMERA.ssrc);
            asked.push(nack.sequences().map(|sequence| sequence.0).collect());
        }
    });
    asked
}

fn wanted(world: &mut World, sequences: &[u16]) {
    let event = Event::NackUpstream {
        stream: CAMERA,
        sequences: sequences.to_vec(),
    };
    world
        .agent
        .event(world.now, event, &mut world.model, &mut world.notices);
    world.settle();
}

#[test]
fn a_publisher_is_asked_once_in_a_round_trip_for_all_receivers() {
    let (mut world, publisher, _) = room(2);
    wanted(&mut world, &[1, 2]);
    wanted(&mut world, &[2]);
    assert_eq!(asked(&world, publisher), [[1, 2]]);
    world.advance(100);
    wanted(&mut world, &[2]);
    assert_eq!(asked(&world, publisher), [vec![1, 2], vec![2]]);
    assert_eq!(world.count(Counter::NackSent), 3);
}

#[test]
fn a_retransmission_tells_how_soon_to_ask_again() {
    let (mut world, publisher, _) = room(1);
    wanted(&mut world, &[2]);
    world.advance(30);
    let arrival = dataplane::Arrival {
        at: world.now,
        ssrc: CAMERA.ssrc,
        sequence: 2,
        recovered: true,
        transport_sequence: None,
        size: 100,
        audio_level: None,
        layer: None,
        ends_frame: true,
        needed_above: false,
    };
    let event = Event::Arrivals {
        leg: CAMERA.leg,
        arrivals: vec![arrival],
    };
    world
        .agent
        .event(world.now, event, &mut world.model, &mut world.notices);
    wanted(&mut world, &[2]);
    assert_eq!(asked(&world, publisher), [[2], [2]]);
    world.advance(20);
    wanted(&mut world, &[2]);
    assert_eq!(asked(&world, publisher).len(), 2, "within a round trip");
    world.advance(10);
    wanted(&mut world, &[2]);
    assert_eq!(asked(&world, publisher).len(), 3);
}

#[test]
fn packets_missing_at_the_node_keep_their_own_schedule() {
    let (mut world, publisher, _) = room(1);
    world.send(publisher, video(11, 4, DELTA));
    wanted(&mut world, &[3]);
    world.advance(50);
    assert_eq!(asked(&world, publisher), [[3]]);
}

#[test]
fn a_flood_of_requests_is_bounded() {
    let (mut world, publisher, receivers) = room(1);
    for first in (0..2_000).step_by(100) {
        let sequences: Vec<u16> = (first..first + 100).collect();
        wanted(&mut world, &sequences);
    }
    let total: usize = asked(&world, publisher).iter().map(Vec::len).sum();
    assert_eq!(total, crate::limits::UPSTREAM_NACKS_PER_SECOND_MAX as usize);
    for first in (0..2_000).step_by(100) {
        let sequences = (first..first + 100).map(SequenceNumber);
        world.send_rtcp(receivers[0], |writer| {
            writer.nack(Ssrc(100), sequences);
        });
    }
    let passed_on = world.model_counters()[dataplane::Counter::NoRetransmission];
    assert_eq!(
        passed_on,
        u64::from(crate::limits::UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX)
    );
}

/// The estimates sent to the publisher.
fn told(world: &World, publisher: usize) -> Vec<u64> {
    let mut told = Vec::new();
    world.peers[publisher].each_rtcp(|_, packet| {
        if let RtcpPacket::Remb(remb) = packet {
            assert_eq!(remb.sources().collect::<Vec<_>>(), [CAMERA.ssrc]);
            told.push(remb.bitrate);
        }
    });
    told
}

#[test]
fn a_publisher_is_told_the_best_downlink() {
    let (mut world, publisher, receivers) = room(3);
    for _ in 0..5 {
        for (receiver, rate) in receivers.iter().zip([0, 300_000, 1 << 20]) {
            let about = Ssrc(100 * *receiver as u32);
            world.send_rtcp(*receiver, |writer| {
                writer.remb(rate, &[about]);
            });
        }
        world.live(1_000);
    }
    let told = told(&world, publisher);
    assert!((4..=6).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|rate| *rate == 1 << 20), "{told:?}");
}

/// A camera without encryption, and receivers that report, behind links of these rates. The
/// camera's sizes are one stream's, or streams of their own.
fn reporting_room(in_one_stream: bool, rates: [u64; 2]) -> (World, Camera, [Downlink; 2]) {
    let mut world = World::with(|config| config.clear_rtp = true);
    let publisher = world.clear_peer();
    let (format, rids) = match in_one_stream {
        true => (vp9(), &RIDS[..1]),
        false => (vp8(), &RIDS[..]),
    };
    let track = world.publish_video_as(publisher, rids, format);
    let downlinks = rates.map(|rate| {
        let receiver = world.clear_reporting_peer();
        world.subscribe_as(receiver, track, 100 * receiver as u32, format, BEST);
        Downlink::new(&world, receiver, rate)
    });
    let mut camera = Camera::new(publisher, 11);
    camera.in_one_stream = in_one_stream;
    (world, camera, downlinks)
}

#[test]
fn the_best_estimate_is_sent_until_no_receiver_is_limited() {
    let (mut world, camera, mut downlinks) = reporting_room(true, [300_000, 1_200_000]);
    let mut cameras = [camera];
    play(&mut world, &mut cameras, &mut downlinks, 10_000);
    let limited = *told(&world, 0).last().expect("it is told");
    assert!((900_000..1_400_000).contains(&limited), "{limited}");
    downlinks[1].link.rate = 20_000_000;
    play(&mut world, &mut cameras, &mut downlinks, 20_000);
    let free = *told(&world, 0).last().expect("it is told");
    assert!(free > 2 * (RATES[0] + RATES[1] + RATES[2]), "{free}");
}

#[test]
fn simulcast_publishers_get_no_remb() {
    let (mut world, camera, mut downlinks) = reporting_room(false, [300_000, 1_200_000]);
    play(&mut world, &mut [camera], &mut downlinks, 5_000);
    assert!(told(&world, 0).is_empty());
}

#[test]
fn estimates_are_capped() {
    let (mut world, publisher, receivers) = room(1);
    world.send_rtcp(receivers[0], |writer| {
        writer.remb(1 << 60, &[]);
    });
    world.live(1_100);
    let told = told(&world, publisher);
    let max = crate::limits::ESTIMATE_MAX;
    assert!(
        told.iter().all(|rate| (max - max / 1_000..=max).contains(rate)),
        "{told:?}"
    );
    assert!(!told.is_empty());
}

#[test]
fn a_receiver_that_lost_a_picture_is_heard_by_the_publisher() {
    let (mut world, publisher, receivers) = room(2);
    world.advance(2_000);
    let before = world.now;
    for receiver in receivers {
        let about = Ssrc(100 * receiver as u32);
        world.send_rtcp(receiver, |writer| {
            writer.pli(about);
        });
    }
    world.advance(100);
    assert_eq!(world.peers[publisher].plis(11, before), [0]);
}

/// As of a switch, whose copies carry no transport-wide numbers.
#[test]
fn a_downlink_without_numbered_packets_is_estimated_by_remb_alone_and_not_probed() {
    let (mut world, publisher, receivers) = room(1);
    let receiver = receivers[0];
    let leg = LegId(receiver as u32 + 1);
    assert_eq!(world.model.pace(leg), None, "nothing is known");
    for sequence in 3..8 {
        world.send_rtcp(receiver, |writer| {
            writer.remb(300_000, &[Ssrc(100 * receiver as u32)]);
        });
        world.send(publisher, video(11, sequence, DELTA));
        world.live(1_000);
    }
    let state = world
        .agent
        .receivers()
        .into_iter()
        .find(|known| known.downlink.is_some());
    let downlink = state.and_then(|known| known.downlink).expect("it is estimated");
    assert!(downlink.reports);
    assert!(downlink.estimate.round_trip.is_none());
    assert!(world.model.pace(leg).is_some());
    assert_eq!((downlink.probes, world.count(Counter::ProbeSent)), (0, 0));
}

/// Of the receivers of one camera, so that their reports are about nobody else.
#[test]
fn a_device_forwards_the_estimates_of_the_best_downlink_only() {
    let (mut world, publisher, receivers) = room_with(2, Feedback::Proxied);
    let leg = |receiver: usize| LegId(receiver as u32 + 1);
    let forwarded = |world: &World| {
        receivers
            .iter()
            .map(|it| world.model.feedback(leg(*it)))
            .collect::<Vec<_>>()
    };
    let say = |world: &mut World, rates: [u64; 2]| {
        for _ in 0..6 {
            for (receiver, rate) in receivers.iter().zip(rates) {
                world.send_rtcp(*receiver, |writer| {
                    writer.remb(rate, &[Ssrc(100 * *receiver as u32)]);
                });
            }
            world.live(1_000);
        }
    };
    say(&mut world, [1 << 20, 300_000]);
    assert_eq!(forwarded(&world), [Some(CAMERA.leg), None]);
    say(&mut world, [300_000, 1 << 20]);
    assert_eq!(forwarded(&world), [None, Some(CAMERA.leg)]);
    let mut named = Vec::new();
    world.peers[publisher].each_rtcp(|_, packet| {
        if let RtcpPacket::Remb(remb) = packet {
            named.extend(remb.sources());
        }
    });
    assert!(
        !named.is_empty() && !named.contains(&CAMERA.ssrc),
        "the publisher gets theirs: {named:?}"
    );
    // Nobody reports any more.
    world.live(8_000);
    assert_eq!(forwarded(&world), [None, None]);
}

#[test]
fn estimates_about_several_publishers_are_not_forwarded() {
    let (mut world, publisher, receivers) = room_with(1, Feedback::Proxied);
    let other = world.clear_peer();
    let plain = southbound::PayloadFormat { rtx: None, ..vp8() };
    let track = world.publish_video_as(other, &[], plain);
    world.subscribe_as(receivers[0], track, 900, plain, BEST);
    for _ in 0..4 {
        world.send_rtcp(receivers[0], |writer| {
            writer.remb(1 << 20, &[Ssrc(100 * receivers[0] as u32), Ssrc(900)]);
        });
        world.live(1_000);
    }
    let leg = LegId(receivers[0] as u32 + 1);
    assert_eq!(world.model.feedback(leg), None);
    assert!(!told(&world, publisher).is_empty());
}
