//! Media as receivers get it.

use super::world::*;
use crate::Counter;
use southbound::{Command, DtlsRole, Notice, SubscriptionId, SubscriptionSettings};
use std::time::Duration;
use wire::rtcp::{FirEntry, ReportBlock, RtcpPacket, SenderInfo};
use wire::{NtpTime, RtpPacket, SequenceNumber, Ssrc};

/// A publisher, and a receiver of its track as SSRC 500.
fn call(rids: &[&str]) -> (World, usize, usize) {
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let track = world.publish_video(publisher, rids);
    world.subscribe(receiver, track, 500, BEST);
    (world, publisher, receiver)
}

fn source(world: &World, replica: u32) -> Option<u32> {
    world
        .model
        .replica(dataplane::ReplicaId(replica))
        .unwrap()
        .source
        .map(|source| source.ssrc.0)
}

#[test]
fn a_new_receiver_asks_once_and_again_until_it_is_served() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    let start = world.now;
    world.advance(1_200);
    assert_eq!(world.peers[publisher].plis(11, start), [0, 500, 1_000]);
    assert!(world.peers[receiver].rtp.is_empty());
    world.send(publisher, video(11, 2, KEY));
    assert_eq!(world.peers[receiver].rtp.len(), 1);
    assert!(world.take_notices().contains(&Notice::SubscriptionStarted {
        subscription: SubscriptionId(500)
    }));
    world.live(5_000);
    assert_eq!(world.peers[publisher].plis(11, start).len(), 3);
    world.close_all();
}

/// A publisher of video, and a receiver that subscribes to it and whose handshake is held up.
fn call_in_handshake() -> (World, usize, usize) {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &[]);
    world.send(publisher, video(11, 1, DELTA));
    world.idle_hands = false;
    let receiver = world.add_peer(DtlsRole::Server, Vec::new());
    world.subscribe(receiver, track, 500, BEST);
    world.check(receiver, true);
    world.start_dtls(receiver);
    (world, publisher, receiver)
}

#[test]
fn a_key_frame_is_asked_for_during_the_handshake_and_sent_after_it() {
    let (mut world, publisher, receiver) = call_in_handshake();
    let start = world.now;
    assert_eq!(world.peers[publisher].plis(11, start), [0]);
    world.send(publisher, video(11, 2, KEY));
    world.send(publisher, video(11, 3, DELTA));
    assert!(world.peers[receiver].rtp.is_empty());

    world.advance(20);
    world.idle_hands = true;
    world.settle();
    assert!(world.peers[receiver].keys.is_some());
    assert_eq!(world.peers[receiver].rtp.len(), 2);
    world.live(2_000);
    assert_eq!(world.peers[publisher].plis(11, start), [0]);
    world.close_all();
}

/// The request is old enough to be repeated, and its key frame new enough to be sent.
#[test]
fn a_key_frame_that_was_kept_is_not_asked_for_again() {
    for (is_sent, plis) in [(true, &[0][..]), (false, &[0, 570])] {
        let (mut world, publisher, receiver) = call_in_handshake();
        let start = world.now;
        world.live(100);
        if is_sent {
            world.send(publisher, video(11, 2, KEY));
        }
        world.live(450);
        world.idle_hands = true;
        world.settle();
        assert_eq!(world.peers[receiver].rtp.len(), usize::from(is_sent));
        world.live(400);
        assert_eq!(world.peers[publisher].plis(11, start), plis);
        world.close_all();
    }
}

#[test]
fn a_key_frame_is_asked_for_again_after_a_long_handshake_and_not_during_it() {
    let (mut world, publisher, _) = call_in_handshake();
    let start = world.now;
    world.live(1_600);
    assert_eq!(world.peers[publisher].plis(11, start), [0]);
    world.idle_hands = true;
    world.settle();
    assert_eq!(world.peers[publisher].plis(11, start), [0, 1_600]);
    world.close_all();
}

#[test]
fn asking_slows_down_and_ends() {
    let (mut world, publisher, _) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    let start = world.now;
    world.live(60_000);
    let plis = world.peers[publisher].plis(11, start);
    assert_eq!(plis[..6], [0, 500, 1_000, 1_500, 2_500, 3_500]);
    assert_eq!(plis.len(), 31);
}

#[test]
fn the_last_of_many_receivers_gets_a_key_frame() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    let track = southbound::TrackId(100);
    // There is always a waiting subscription, and all are served in turn.
    for step in 0..100_u16 {
        world.subscribe(receiver, track, 600 + 2 * u32::from(step), BEST);
        world.live(300);
        world.send(publisher, video(11, 2 * step + 2, KEY));
        world.live(50);
    }
    world.subscribe(receiver, track, 1_000, BEST);
    world.subscribe(receiver, track, 1_002, BEST);
    let start = world.now;
    world.live(2_000);
    assert!(world.peers[publisher].plis(11, start).len() >= 3);
}

#[test]
fn late_joiners_and_their_requests_share_one_key_frame() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    world.advance(2_000);
    let start = world.now;
    let track = southbound::TrackId(100);
    for ssrc in 600..620 {
        world.subscribe(receiver, track, ssrc * 2, BEST);
    }
    for _ in 0..10 {
        world.send_rtcp(receiver, |writer| {
            writer.pli(Ssrc(500)).fir(FirEntry {
                media: Ssrc(500),
                sequence: 3,
            });
        });
    }
    assert_eq!(world.peers[publisher].plis(11, start).len(), 1);
    world.send(publisher, video(11, 3, KEY));
    world.live(5_000);
    assert_eq!(world.peers[publisher].plis(11, start).len(), 1);
}

#[test]
fn a_picture_loss_and_an_intra_request_reach_the_publisher() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    let start = world.now;
    world.advance(1_000);
    world.send_rtcp(receiver, |writer| {
        writer.pli(Ssrc(500));
    });
    world.advance(1_000);
    for _ in 0..3 {
        world.send_rtcp(receiver, |writer| {
            writer.fir(FirEntry {
                media: Ssrc(500),
                sequence: 7,
            });
        });
        world.advance(1_000);
    }
    assert_eq!(world.peers[publisher].plis(11, start)[1..], [1_000, 2_000]);
}

#[test]
fn a_receiver_gets_the_best_encoding_that_arrives_and_is_wanted() {
    let (mut world, publisher, receiver) = call(&["q", "h", "f"]);
    let send = |world: &mut World, rids: &[(&str, u32)], sequence: u16, payload: &'static [u8]| {
        for (rid, ssrc) in rids {
            world.send(
                publisher,
                Packet {
                    rid,
                    ..video(*ssrc, sequence, payload)
                },
            );
        }
    };
    let (all, low) = ([("q", 11), ("h", 12), ("f", 13)], [("q", 11)]);
    send(&mut world, &low, 1, KEY);
    send(&mut world, &low, 2, KEY);
    assert_eq!(source(&world, 1), Some(11));
    send(&mut world, &all, 3, DELTA);
    send(&mut world, &all, 4, DELTA);
    assert_eq!(source(&world, 1), Some(13), "it wants the best");
    assert_eq!(world.peers[publisher].plis(13, world.start).len(), 1);
    send(&mut world, &all, 5, KEY);
    let track = southbound::TrackId(100);
    world.subscribe(
        receiver,
        track,
        500,
        SubscriptionSettings {
            enabled: true,
            encoding_max: 1,
            ..SubscriptionSettings::BEST
        },
    );
    assert_eq!(source(&world, 1), Some(12));
    world.advance(500);
    assert!(!world.peers[publisher].plis(12, world.start).is_empty());
    for sequence in 6..40 {
        send(&mut world, &low, sequence, DELTA);
        world.advance(100);
    }
    assert_eq!(source(&world, 1), Some(11), "the middle one has stopped");
    world.subscribe(
        receiver,
        track,
        500,
        SubscriptionSettings {
            enabled: false,
            encoding_max: 1,
            ..SubscriptionSettings::BEST
        },
    );
    assert!(world.model.replica(dataplane::ReplicaId(1)).unwrap().paused);
    world.close_all();
}

#[test]
fn lost_packets_are_sent_again_but_not_twice_at_once() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    for sequence in 2..10 {
        world.send(publisher, video(11, sequence, KEY));
    }
    let first = RtpPacket::parse(&world.peers[receiver].rtp[0]).unwrap().sequence();
    let before = world.peers[receiver].rtp.len();
    let ask = |world: &mut World| {
        world.send_rtcp(receiver, |writer| {
            writer.nack(Ssrc(500), [first.wrapping_add(1), first.wrapping_add(2)]);
        });
    };
    ask(&mut world);
    ask(&mut world);
    assert_eq!(
        (
            world.peers[receiver].rtp.len() - before,
            world.count(Counter::NackThrottled)
        ),
        (2, 2)
    );
    world.advance(30);
    ask(&mut world);
    assert_eq!(world.peers[receiver].rtp.len() - before, 4);
    world.send_rtcp(publisher, |writer| {
        writer.nack(Ssrc(500), [SequenceNumber(1)]);
    });
    assert_eq!(world.count(Counter::RtcpNotTheirs), 1, "only its receiver may ask");
}

#[test]
fn sender_reports_carry_the_publisher_s_clock_on_in_ours() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    world.send(publisher, video(11, 3, DELTA));
    // By the publisher's clock the time is 1,000 s and its timestamp 90,000; by ours it is
    // `reported`.
    let reported = world.now;
    let path = world.peers[publisher].path;
    world.deliver(path, sender_report(11, NtpTime(1_000 << 32), 90_000));
    world.live(1_500);
    let mut reports: Vec<(std::time::Instant, SenderInfo)> = Vec::new();
    world.peers[receiver].each_rtcp(|at, packet| {
        if let RtcpPacket::SenderReport(report) = packet {
            assert_eq!(report.sender, Ssrc(500));
            reports.push((at, report.info));
        }
    });
    let (at, info) = reports[0];
    assert_eq!((info.packets, info.octets), (2, 2 * KEY.len() as u32));
    assert_eq!(
        info.ntp,
        dataplane::Clock {
            origin: world.start,
            ntp: NtpTime(3_900_000_000 << 32)
        }
        .ntp(at)
    );
    let elapsed = (at - reported).as_micros() as i64 * 90 / 1_000;
    let ticks = i64::from(info.rtp.0) - 90_000;
    assert!((ticks - elapsed).abs() <= 1, "{ticks} {elapsed}");
}

#[test]
fn reports_of_receivers_become_round_trip_loss_and_jitter() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    world.live(1_000);
    world.take_notices();
    let clock = dataplane::Clock {
        origin: world.start,
        ntp: NtpTime(3_900_000_000 << 32),
    };
    for round in 1..=5_u32 {
        let sent = clock.ntp(world.now - Duration::from_millis(80)).middle_32();
        let block = ReportBlock {
            ssrc: Ssrc(500),
            highest_sequence: round * 100,
            cumulative_lost: round as i32 * 25,
            jitter: 450,
            last_sender_report: sent,
            delay_since_last_sender_report: 0,
            ..ReportBlock::default()
        };
        let mut compound = Vec::new();
        wire::rtcp::write_receiver_report(&mut compound, Ssrc(1), &[block]);
        let path = world.peers[receiver].path;
        world.deliver(path, compound);
        world.live(1_000);
    }
    let quality = world.take_notices().into_iter().find_map(|notice| match notice {
        Notice::Quality { transport, quality } if transport == world.peers[receiver].transport => Some(quality),
        _ => None,
    });
    let quality = quality.expect("quality is said");
    assert_eq!(quality.downlink_loss, 0.25);
    assert_eq!(quality.jitter, Duration::from_millis(5));
    let round_trip = quality.round_trip.unwrap().as_millis();
    assert!((79..=81).contains(&round_trip), "{round_trip}");
}

#[test]
fn the_end_of_a_subscription_is_said_to_its_receiver() {
    let (mut world, publisher, receiver) = call(&[]);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    world.command(Command::Unsubscribe {
        subscription: SubscriptionId(500),
    });
    let mut ended = Vec::new();
    world.peers[receiver].each_rtcp(|_, packet| {
        if let RtcpPacket::Bye(bye) = packet {
            ended.extend(bye.sources());
        }
    });
    assert_eq!(ended, [Ssrc(500)]);
    assert_eq!(world.model.len().2, 0);
    world.close_all();
}

#[test]
fn a_publisher_that_leaves_takes_its_subscriptions_with_it() {
    let (mut world, publisher, _) = call(&["q", "f"]);
    world.send(
        publisher,
        Packet {
            rid: "q",
            ..video(11, 1, KEY)
        },
    );
    world.command(Command::Close {
        transport: world.peers[publisher].transport,
    });
    assert_eq!(world.model.len(), (1, 0, 0));
    world.close_all();
}

#[test]
fn a_subscription_may_come_before_its_track_and_its_receiver() {
    let mut world = World::new();
    let receiver = world.add_peer(southbound::DtlsRole::Server, Vec::new());
    let publisher = world.connected_peer();
    world.subscribe(receiver, southbound::TrackId(101), 500, BEST);
    world.publish_video(publisher, &[]);
    world.check(receiver, true);
    world.start_dtls(receiver);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    assert_eq!(world.peers[receiver].rtp.len(), 1);
    world.close_all();
}
