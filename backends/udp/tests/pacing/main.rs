//! The packets sent on a leg with a pace, their order and their times.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

#[path = "../support/mod.rs"]
mod support;

mod call;
mod compared;
mod probes;

use dataplane::{Counter, DataPlane, Inject, LegId, Protection, ReplicaId, Update};

use call::*;
use support::*;

#[test]
fn a_key_frame_is_paced_and_other_legs_do_not_wait() {
    for shards in 1..=3 {
        let mut call = Call::new(shards, 1_000_000);
        (0..40).for_each(|_| call.send_video(KEY_FRAME));
        let unpaced = call.got.iter().filter(|got| got.leg == LegId(2)).count();
        assert_eq!(unpaced, 40);
        call.run_until(ms(1_000));
        let paced = call.paced();
        assert_eq!(paced.len(), 40);
        let bits: usize = paced.iter().map(|got| got.len * 8).sum();
        let took = (paced[39].at - paced[0].at).as_secs_f64();
        let rate = bits as f64 / took;
        assert!((1_000_000.0..1_050_000.0).contains(&rate), "{rate} bit/s");
        assert_eq!(call.sequences(1_000), (100..140).collect::<Vec<_>>());
    }
}

#[test]
fn departures_have_sending_times_and_numbers_without_gaps() {
    let mut call = Call::new(2, 500_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    for step in 0..10 {
        call.run_until(ms(step * 20));
        call.send_audio();
    }
    call.run_until(ms(1_000));
    let (paced, departures) = (call.paced(), call.departures());
    assert_eq!((paced.len(), departures.len()), (20, 20));
    for (number, (got, departure)) in paced.iter().zip(&departures).enumerate() {
        assert_eq!(
            (got.transport, departure.transport_sequence),
            (number as u16, number as u16)
        );
        assert_eq!((got.at, got.len), (departure.at, usize::from(departure.size)));
        assert_eq!(departure.probe, None);
    }
}

#[test]
fn audio_and_retransmissions_overtake() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.inject(Inject::Resend {
        replica: ReplicaId(1),
        sequences: &[100],
    });
    call.send_audio();
    call.run_until(ms(700));
    let ssrcs: Vec<u32> = call.paced().iter().map(|got| got.ssrc.0).collect();
    assert_eq!(ssrcs[..5], [1_000, 2_000, 1_001, 1_000, 1_000]);
    assert_eq!(ssrcs.len(), 12);
    let resent = &call.paced()[2];
    assert_eq!(
        (resent.sequence, &resent.payload[..2]),
        (200, &100_u16.to_be_bytes()[..])
    );
    assert_eq!(call.plane.counters()[Counter::Resent], 1);
}

#[test]
fn waiting_packets_are_dropped_with_their_replica_only() {
    let mut call = Call::new(1, 200_000);
    set_replica(&mut call.plane, 3, replica(1, 3_000, stream_key(0, VIDEO)));
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.inject(Inject::Resend {
        replica: ReplicaId(1),
        sequences: &[100, 101],
    });
    call.write(Update::RemoveReplica(ReplicaId(1)));
    // It takes the place in the tables of the one that is gone.
    set_replica(&mut call.plane, 4, replica(1, 4_000, stream_key(0, VIDEO)));
    (0..2).for_each(|_| call.send_video(KEY_FRAME));
    call.run_until(ms(1_500));
    assert_eq!(call.sequences(1_000), [100]);
    assert_eq!(call.sequences(1_001), [0; 0]);
    assert_eq!(call.sequences(3_000), (100..112).collect::<Vec<_>>());
    assert_eq!(call.sequences(4_000), [100, 101]);
}

#[test]
fn waiting_packets_outlive_their_source() {
    let mut call = Call::new(2, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::RemoveStream(stream_key(0, VIDEO)));
    set_stream(&mut call.plane, stream_key(0, VIDEO), video());
    set_replica(&mut call.plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    call.video = 700;
    (0..3).for_each(|_| call.send_video(KEY_FRAME));
    call.run_until(ms(1_500));
    assert_eq!(call.sequences(1_000), (100..113).collect::<Vec<_>>());
}

#[test]
fn removing_a_leg_drops_its_waiting_packets() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::RemoveLeg(LegId(1)));
    call.run_until(ms(1_000));
    assert_eq!(call.paced().len(), 1);
    call.plane.advance(call.now);
    assert!(call.plane.due().is_none_or(|due| due > call.now));
}

#[test]
fn without_a_pace_nothing_waits_any_more() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    assert_eq!(call.paced().len(), 1);
    call.write(Update::SetPace(LegId(1), None));
    assert_eq!(call.sequences(1_000), (100..110).collect::<Vec<_>>());
}

#[test]
fn a_leg_that_loses_its_keys_loses_its_waiting_packets() {
    let mut call = Call::new(1, 200_000);
    (0..10).for_each(|_| call.send_video(KEY_FRAME));
    call.write(Update::SetLeg(LegId(1), leg(receiver(1), Protection::Pending)));
    call.run_until(ms(1_000));
    assert_eq!(call.paced().len(), 1);
    assert_eq!(call.plane.counters()[Counter::NotReady], 9);
}

#[test]
fn too_much_is_dropped_and_counted() {
    let mut call = Call::new(1, 200_000);
    let packets = pacing::limits::BYTES_MAX / SIZE + 100;
    for _ in 0..packets {
        call.video += 1;
        let packet = vp8(VIDEO, call.video, KEY_FRAME, SIZE);
        call.plane.packet(call.now, 0, publisher(), &packet);
    }
    call.take();
    call.run_until(ms(1_000));
    let dropped = call.plane.counters()[Counter::PaceQueueFull] as usize;
    assert!(dropped > 100, "{dropped}");
    assert_eq!(call.paced().len() + dropped, packets);
    assert!(call.now - call.start >= ms(500));
    let last = call.paced().last().unwrap().at;
    assert!(last - call.start <= ms(501), "{:?}", last - call.start);
}
