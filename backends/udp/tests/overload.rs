//! When there is more to do than a shard can: who waits, for how much, and what is left out.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{QUANTUM, Run, Shard, Transmit};
use dataplane::{Counter, LegId, Path, Protection, ReplicaId, Update};
use support::layers::{Layered, layered_leg, layered_replica, layered_stream};
use support::*;
use wire::codec::Layer;
use wire::{RtpPacket, Ssrc};

/// The sent runs, each as its datagrams.
#[derive(Default)]
struct Sent(Vec<Vec<Vec<u8>>>);

impl Transmit for Sent {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        self.0
            .extend(runs.map(|run| run.datagrams().map(<[u8]>::to_vec).collect()));
        0
    }
}

impl Sent {
    fn ssrcs(&self) -> Vec<Ssrc> {
        let datagrams = self.0.iter().flatten();
        datagrams.map(|bytes| RtpPacket::parse(bytes).unwrap().ssrc()).collect()
    }
}

/// One shard and who talks to it.
struct Call {
    control: Control,
    shard: Shard,
    now: Instant,
    sent: Sent,
}

impl Call {
    fn new() -> Self {
        let (control, mut shards) = Control::new(clock(), &[Arc::new(Wakeup::silent())], Arc::new(Wakeup::silent()));
        Call {
            control,
            shard: shards.pop().unwrap(),
            now: Instant::now(),
            sent: Sent::default(),
        }
    }

    fn write(&mut self, update: Update) {
        self.control.write(update).unwrap();
        self.shard.take_commands(self.now);
    }

    fn add_leg(&mut self, number: u32) {
        let leg = layered_leg(address(number), Protection::Clear);
        self.write(Update::SetLeg(LegId(number), leg));
    }

    /// Legs that get a stream, as SSRC 10.
    fn add_receivers(&mut self, numbers: std::ops::Range<u32>, from: u32, ssrc: u32) {
        for number in numbers {
            self.add_leg(number);
            let replica = replica(number, 10, stream_key(from, ssrc));
            self.write(Update::SetReplica(ReplicaId(number), replica));
        }
    }

    fn receive(&mut self, from: u32, packet: &[u8]) {
        self.shard.receive(self.now, address(from), packet);
    }

    /// One turn; how many packets it sent.
    fn turn(&mut self) -> usize {
        let before = self.sent.ssrcs().len();
        self.shard.work(self.now);
        self.shard.flush(&mut self.sent);
        self.sent.ssrcs().len() - before
    }

    fn count(&self, counter: Counter) -> u64 {
        self.control.counters()[counter]
    }
}

fn address(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.1.{}.{}:2", number >> 8, number & 0xff))
}

/// A room of 500 whose camera has just sent a key frame of 60 packets, and a small room whose sound
/// is leg 1000's and whose picture is leg 1001's.
fn two_rooms() -> Call {
    let mut call = Call::new();
    for leg in [0, 1_000, 1_001] {
        call.add_leg(leg);
    }
    call.write(Update::SetStream(stream_key(0, 1), video()));
    call.write(Update::SetStream(stream_key(1_000, 2), audio()));
    call.write(Update::SetStream(stream_key(1_001, 3), video()));
    call.add_receivers(1..501, 0, 1);
    call.add_receivers(1_010..1_011, 1_000, 2);
    call.add_receivers(1_020..1_021, 1_001, 3);
    for sequence in 0..60 {
        call.receive(0, &vp8(1, sequence, KEY_FRAME, 1_000));
    }
    call
}

/// A turn is bounded: about a quarter of a millisecond of writing and as much of sending. That is
/// what sound waits for, however large the picture.
#[test]
fn audio_waits_for_at_most_one_turn_of_another_rooms_video() {
    let mut call = two_rooms();
    let most = QUANTUM + 32;
    assert!((1..=most).contains(&call.turn()));
    call.receive(1_000, &rtp(2, AUDIO_TYPE, 1, b"sound"));
    let before = call.sent.ssrcs().len();
    assert!(call.turn() <= most);
    let runs = &call.sent.0;
    let is_sound = |run: &Vec<Vec<u8>>| run[0].ends_with(b"sound");
    let position = runs.iter().position(is_sound).expect("it left in this turn");
    assert_eq!(
        runs[..position].iter().map(Vec::len).sum::<usize>(),
        before,
        "and left first"
    );
}

#[test]
fn a_small_rooms_picture_does_not_wait_for_all_of_a_large_ones() {
    let mut call = two_rooms();
    call.turn();
    call.receive(1_001, &vp8(3, 1, KEY_FRAME, 77));
    let is_there = |call: &Call| call.sent.0.iter().any(|run| run[0].len() < 200);
    call.turn();
    call.turn();
    assert!(is_there(&call), "it had its turn");
    assert!(call.shard.has_work(), "and the large one goes on");
}

#[test]
fn every_receiver_gets_everything_once_and_in_order() {
    let mut call = two_rooms();
    while call.shard.has_work() {
        call.turn();
    }
    assert_eq!(call.count(Counter::Forwarded), 60 * 500);
    for run in &call.sent.0 {
        let numbers: Vec<u16> = run
            .iter()
            .map(|bytes| RtpPacket::parse(bytes).unwrap().sequence().0)
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a + 1 == *b), "{numbers:?}");
    }
}

#[test]
fn a_frame_cut_into_parts_of_nearly_one_length_is_one_run() {
    let mut call = Call::new();
    call.add_leg(0);
    call.write(Update::SetStream(stream_key(0, 1), video()));
    call.add_receivers(1..2, 0, 1);
    let packets: Vec<Vec<u8>> = [999, 999, 1_000, 1_000, 500]
        .into_iter()
        .zip(1..)
        .map(|(len, sequence)| vp8(1, sequence, KEY_FRAME, len))
        .collect();
    packets.iter().for_each(|packet| call.receive(0, packet));
    call.turn();
    assert_eq!(call.sent.0.len(), 1);
    for (sent, packet) in call.sent.0[0].iter().zip(&packets) {
        let payload = RtpPacket::parse(packet).unwrap().payload().to_vec();
        assert_eq!(
            RtpPacket::parse(sent).unwrap().payload(),
            payload,
            "padding is no payload"
        );
    }
}

/// A camera in layers and its 10 receivers.
fn layered_call() -> (Call, Layered) {
    let mut call = Call::new();
    call.add_leg(0);
    call.write(Update::SetStream(stream_key(0, 1), layered_stream()));
    for number in 1..=10 {
        call.add_leg(number);
        let replica = layered_replica(number, 10, stream_key(0, 1), Layer::HIGHEST);
        call.write(Update::SetReplica(ReplicaId(number), replica));
    }
    (call, Layered::new(1))
}

/// Sends pictures that are served `late`; how many of the replicas of each went out.
fn pictures(call: &mut Call, camera: &mut Layered, late: Duration, count: usize) -> Vec<usize> {
    let picture = |_| {
        let packets = camera.picture(call.count(Counter::Forwarded) == 0, [1, 1, 1], 100);
        packets.iter().for_each(|packet| call.receive(0, packet));
        call.now += late;
        let sent = call.turn();
        call.now += Duration::from_millis(33);
        sent
    };
    (0..count).map(picture).collect()
}

#[test]
fn late_work_is_sent_at_the_lowest_rate_until_it_is_on_time() {
    let (mut call, mut camera) = layered_call();
    let in_time = Duration::from_millis(1);
    let all = pictures(&mut call, &mut camera, in_time, 8);
    assert!(all[1..].iter().all(|sent| *sent == all[1] && *sent > 0), "{all:?}");
    assert_eq!(call.count(Counter::Overloaded), 0);

    let late = pictures(&mut call, &mut camera, Duration::from_millis(30), 8);
    let full = late.iter().filter(|sent| **sent == all[1]).count();
    assert_eq!(
        (full, late.iter().filter(|sent| **sent == 0).count()),
        (2, 6),
        "{late:?}"
    );
    assert!(call.count(Counter::Overloaded) > 0);

    let again = pictures(&mut call, &mut camera, in_time, 8);
    assert!(again[4..].iter().all(|sent| *sent == all[1]), "{again:?}");
}

#[test]
fn waiting_packets_are_limited_and_counted() {
    let mut call = two_rooms();
    for sequence in 60..6_000 {
        call.receive(0, &vp8(1, sequence, KEY_FRAME, 100));
    }
    let refused = call.count(Counter::WorkerQueueFull);
    assert_eq!(refused, 6_000 - 4_096);
    call.now += Duration::from_secs(1);
    call.receive(1_000, &rtp(2, AUDIO_TYPE, 1, b"sound"));
    while call.shard.has_work() {
        call.turn();
    }
    assert_eq!(
        call.count(Counter::WorkerQueueFull) - refused,
        4_096,
        "too old to be of use"
    );
    assert_eq!(call.count(Counter::Forwarded), 1, "sound never is");
}
