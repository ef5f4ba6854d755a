//! Several shards in one thread: what goes between them, and that it makes no difference.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::time::Instant;

use backend_udp::InlinePlane;
use dataplane::{Counter, DataPlane, Event, Inject, LegId, Path, Protection, ReplicaId, SrtpProfile, Update, Verdict};
use support::*;
use wire::RtpPacket;

const VIDEO: u32 = 0x11;

fn publisher() -> Path {
    path("10.0.0.1:7882", "10.0.1.1:1")
}

fn receiver(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.0.2.{number}:2"))
}

/// Leg 0 publishes a video; legs 1 to `receivers` get it. A leg is owned by the shard of its
/// number.
fn call(shards: usize, receivers: u32) -> InlinePlane {
    let mut plane = InlinePlane::new(shards, clock());
    set_leg(&mut plane, 0, publisher(), Protection::Clear);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    for number in 1..=receivers {
        set_leg(&mut plane, number, receiver(number), Protection::Clear);
        set_replica(
            &mut plane,
            number,
            replica(number, 1_000 * number, stream_key(0, VIDEO)),
        );
    }
    plane
}

#[test]
fn every_receiver_gets_the_packet_with_any_shards_of_receiver_and_arrival() {
    for shards in 1..=4 {
        let mut plane = call(shards, 10);
        for sequence in 0..8_u16 {
            let packet = vp8(VIDEO, sequence, KEY_FRAME, 50);
            let verdict = plane.packet(Instant::now(), usize::from(sequence), publisher(), &packet);
            assert_eq!(verdict, Verdict::Forward);
            let mut sent = plane.take_sent();
            sent.sort_by_key(|egress| egress.leg);
            let legs: Vec<_> = sent.iter().map(|egress| egress.leg.unwrap().0).collect();
            assert_eq!(legs, (1..=10).collect::<Vec<_>>(), "{shards} shards");
            for egress in sent {
                let leg = egress.leg.unwrap().0;
                let view = RtpPacket::parse(&egress.bytes).unwrap();
                assert_eq!(egress.path, receiver(leg));
                assert_eq!((view.ssrc().0, view.sequence().0), (1_000 * leg, 100 + sequence));
                assert_eq!(
                    view.extension(3),
                    Some(&sequence.to_be_bytes()[..]),
                    "transport-wide number"
                );
                assert_eq!(view.payload(), RtpPacket::parse(&packet).unwrap().payload());
            }
        }
        let counters = plane.counters();
        assert_eq!((counters[Counter::Received], counters[Counter::Forwarded]), (8, 80));
    }
}

#[test]
fn the_verdict_is_that_of_all_shards_together() {
    let now = Instant::now();
    for shards in 1..=3 {
        let mut plane = call(shards, 2);
        let delta = |sequence| vp8(VIDEO, sequence, DELTA_FRAME, 50);
        let verdict = |plane: &mut InlinePlane, packet: &[u8]| plane.packet(now, 0, publisher(), packet);
        assert_eq!(verdict(&mut plane, &delta(1)), Verdict::Drop(Counter::NotSelected));
        assert_eq!(plane.counters()[Counter::AwaitingKeyFrame], 2);
        assert_eq!(
            verdict(&mut plane, &rtp(VIDEO, VIDEO_TYPE, 2, &[])),
            Verdict::Drop(Counter::PaddingOnly)
        );
        for number in 1..=2 {
            plane.write(now, Update::RemoveReplica(ReplicaId(number))).unwrap();
        }
        assert_eq!(verdict(&mut plane, &delta(3)), Verdict::Drop(Counter::NoReplica));
        // The other shards have told that nobody there listens.
        assert_eq!(verdict(&mut plane, &delta(4)), Verdict::Drop(Counter::NoReplica));
        set_replica(&mut plane, 7, replica(2, 9_000, stream_key(0, VIDEO)));
        assert_eq!(verdict(&mut plane, &vp8(VIDEO, 5, KEY_FRAME, 50)), Verdict::Forward);
    }
}

#[test]
fn a_packet_is_sent_again_from_another_shards_cache() {
    let now = Instant::now();
    for shards in 1..=3 {
        let mut plane = call(shards, 2);
        for sequence in 10..20 {
            plane.packet(now, 0, publisher(), &vp8(VIDEO, sequence, KEY_FRAME, 50));
        }
        plane.take_sent();
        let sequences = [103, 105, 180];
        plane.inject(
            now,
            Inject::Resend {
                replica: ReplicaId(2),
                sequences: &sequences,
            },
        );
        let sent = plane.take_sent();
        let resent: Vec<_> = sent
            .iter()
            .map(|egress| RtpPacket::parse(&egress.bytes).unwrap())
            .collect();
        let named: Vec<_> = resent
            .iter()
            .map(|view| (view.ssrc().0, view.payload_type().get(), view.sequence().0))
            .collect();
        assert_eq!(named, [(2_001, VIDEO_RTX_TYPE, 200), (2_001, VIDEO_RTX_TYPE, 201)]);
        assert_eq!(resent[0].payload()[..2], 103_u16.to_be_bytes());
        assert_eq!(
            resent[0].payload()[2..],
            *RtpPacket::parse(&vp8(VIDEO, 13, KEY_FRAME, 50)).unwrap().payload()
        );
        assert_eq!(
            (plane.counters()[Counter::Resent], plane.counters()[Counter::NotInCache]),
            (2, 1)
        );
    }
}

#[test]
fn a_stream_that_is_added_again_is_another_stream() {
    let now = Instant::now();
    let mut plane = call(2, 1);
    plane.packet(now, 0, publisher(), &vp8(VIDEO, 500, KEY_FRAME, 50));
    plane.write(now, Update::RemoveStream(stream_key(0, VIDEO))).unwrap();
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    set_replica(&mut plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    let verdict = plane.packet(now, 0, publisher(), &vp8(VIDEO, 3, KEY_FRAME, 50));
    assert_eq!(verdict, Verdict::Forward);
    let sent = plane.take_sent();
    let numbers: Vec<u16> = sent
        .iter()
        .map(|egress| RtpPacket::parse(&egress.bytes).unwrap().sequence().0)
        .collect();
    assert_eq!(numbers, [100, 101]);
}

#[test]
fn every_profile_protects_every_copy() {
    for profile in [
        SrtpProfile::AeadAes128Gcm,
        SrtpProfile::AeadAes256Gcm,
        SrtpProfile::AesCm128HmacSha1_80,
    ] {
        let mut plane = call(2, 2);
        let mut sender = Peer::new(profile, 10);
        set_leg(&mut plane, 0, publisher(), srtp(profile, 10));
        let mut peers: Vec<Peer> = [1, 2].map(|seed| Peer::new(profile, seed)).into();
        for number in 1..=2 {
            set_leg(&mut plane, number, receiver(number), srtp(profile, number as u8));
        }
        for sequence in 0..50 {
            let clear = vp8(VIDEO, sequence, KEY_FRAME, 400);
            let sealed = sender.seal(&clear);
            assert_eq!(plane.packet(Instant::now(), 1, publisher(), &sealed), Verdict::Forward);
            assert_eq!(
                plane.packet(Instant::now(), 1, publisher(), &sealed),
                Verdict::Drop(Counter::Duplicate)
            );
            for egress in plane.take_sent() {
                let opened = peers[egress.leg.unwrap().0 as usize - 1].open(&egress.bytes);
                let view = RtpPacket::parse(&opened).unwrap();
                assert_eq!(view.payload(), RtpPacket::parse(&clear).unwrap().payload());
            }
        }
        let mut forged = sender.seal(&vp8(VIDEO, 60, KEY_FRAME, 400));
        forged[100] ^= 1;
        let verdict = plane.packet(Instant::now(), 0, publisher(), &forged);
        assert_eq!(verdict, Verdict::Drop(Counter::Unauthenticated));
    }
}

#[test]
fn a_leg_is_owned_by_the_shard_where_its_stun_arrived() {
    let mut plane = InlinePlane::new(3, clock());
    let stun = [0_u8, 1, 0, 0];
    assert_eq!(plane.packet(Instant::now(), 2, publisher(), &stun), Verdict::Punt);
    assert!(matches!(plane.poll(), Some(Event::Punt { leg: None, .. })));
    set_leg(&mut plane, 0, publisher(), Protection::Clear);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    // A packet at that shard needs no ring: it is counted at once, and by that shard.
    let verdict = plane.packet(Instant::now(), 2, publisher(), &vp8(VIDEO, 1, KEY_FRAME, 50));
    assert_eq!(verdict, Verdict::Drop(Counter::NoReplica));
}

#[test]
fn a_flood_of_stun_costs_strangers_only() {
    let mut plane = call(1, 1);
    for number in 0..5_000_u16 {
        let stranger = path("10.0.0.1:7882", &format!("10.9.{}.{}:9", number >> 8, number & 0xff));
        plane.packet(Instant::now(), 0, stranger, &[0, 1, 0, 0]);
    }
    let verdict = plane.packet(Instant::now(), 0, publisher(), &[0x80, 200, 0, 1, 0, 0, 0, 1]);
    assert_eq!(verdict, Verdict::Punt, "the RTCP of a leg still gets through");
    let counters = plane.counters();
    assert_eq!(counters[Counter::PuntedStun] + counters[Counter::PuntQueueFull], 5_000);
    assert!(counters[Counter::PuntQueueFull] > 3_000);
    let punts = events(&mut plane).into_iter().filter(|event| {
        matches!(
            event,
            Event::Punt {
                leg: Some(LegId(0)),
                ..
            }
        )
    });
    assert_eq!(punts.count(), 1);
    assert_eq!(
        plane.packet(Instant::now(), 0, publisher(), &[0, 1, 0, 0]),
        Verdict::Punt,
        "and there is room again"
    );
}

#[test]
fn removing_a_leg_removes_everything_of_it() {
    let now = Instant::now();
    let mut plane = call(3, 5);
    assert_eq!(plane.len(), (6, 1, 5));
    plane.write(now, Update::RemoveLeg(LegId(2))).unwrap();
    assert_eq!(plane.len(), (5, 1, 4));
    plane.write(now, Update::RemoveLeg(LegId(0))).unwrap();
    assert_eq!(plane.len(), (4, 0, 4));
    let verdict = plane.packet(now, 0, publisher(), &vp8(VIDEO, 1, KEY_FRAME, 50));
    assert_eq!(verdict, Verdict::Drop(Counter::UnknownSource));
}
