//! Shards that run in any order, with entries that come and go between their steps.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{QUANTUM, Run, Shard, Transmit};
use dataplane::{Counter, Event, Inject, LegId, Path, Protection, ReplicaId, Update};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use support::*;
use wire::{RtpPacket, Ssrc};

/// Remembers what went to whom.
#[derive(Default)]
struct Sent(Vec<(LegId, Vec<u8>)>);

impl Transmit for Sent {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        for run in runs {
            let leg = run.leg.expect("only media here");
            self.0.extend(run.datagrams().map(|datagram| (leg, datagram.to_vec())));
        }
        0
    }
}

fn shards(count: usize) -> (Control, Vec<Shard>) {
    let wakeups: Vec<Arc<Wakeup>> = (0..count).map(|_| Arc::new(Wakeup::silent())).collect();
    Control::new(clock(), &wakeups, Arc::new(Wakeup::silent()))
}

fn path_of(leg: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.0.2.{leg}:2"))
}

const LEGS: u32 = 6;
const STREAMS: u32 = 3;

/// The state of a random history so far.
struct History {
    random: StdRng,
    control: Control,
    shards: Vec<Shard>,
    now: Instant,
    sent: Sent,
    sequences: HashMap<(u32, u32), u16>,
    /// SSRCs are never used again on a leg; this one was not yet.
    fresh_ssrc: u32,
    replicas: HashMap<u32, dataplane::Replica>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let (control, shards) = shards(random.random_range(1..=4));
        History {
            random,
            control,
            shards,
            now: Instant::now(),
            sent: Sent::default(),
            sequences: HashMap::new(),
            fresh_ssrc: 1_000,
            replicas: HashMap::new(),
        }
    }

    /// Everybody is there and sends everything.
    fn set_up(&mut self) {
        for id in 0..LEGS {
            self.control
                .write(Update::SetLeg(LegId(id), leg(path_of(id), Protection::Clear)))
                .unwrap();
            for ssrc in 0..STREAMS {
                self.control
                    .write(Update::SetStream(stream_key(id, ssrc), video()))
                    .unwrap();
            }
        }
        (0..30).for_each(|_| self.set_or_remove_replica());
    }

    fn step(&mut self) {
        self.now += Duration::from_micros(500);
        let shard = self.random.random_range(0..self.shards.len());
        match self.random.random_range(0..100) {
            0 => self.set_or_remove_leg(),
            1 => self.set_pace(),
            2 => self.probe(),
            3..=4 => self.set_or_remove_stream(),
            5..=8 => self.set_or_remove_replica(),
            9..=11 => self.resend(),
            12..=50 => self.packet(shard),
            51..=60 => _ = self.shards[shard].take_commands(self.now),
            61..=75 => _ = self.shards[shard].take_handoffs(self.now),
            76..=90 => self.shards[shard].work(self.now),
            91..=95 => self.shards[shard].flush(&mut self.sent),
            _ => while self.control.poll().is_some() {},
        }
    }

    fn set_or_remove_leg(&mut self) {
        let id = self.random.random_range(0..LEGS);
        if self.random.random_ratio(1, 6) {
            // A leg that comes back has forgotten its SSRCs; its replicas go with it, and get
            // others.
            self.replicas.retain(|_, replica| replica.leg != LegId(id));
            let _ = self.control.write(Update::RemoveLeg(LegId(id)));
            return;
        }
        // A leg takes an address that may be another's just now.
        let path = path_of(if self.random.random_ratio(1, 4) {
            self.random.random_range(0..LEGS)
        } else {
            id
        });
        let protection = match self.random.random_ratio(1, 4) {
            true => Protection::Pending,
            false => Protection::Clear,
        };
        let _ = self.control.write(Update::SetLeg(LegId(id), leg(path, protection)));
    }

    fn set_pace(&mut self) {
        let pace = self.random.random_range(100_000..2_000_000);
        let pace = Some(pace).filter(|_| self.random.random_ratio(3, 4));
        let leg = LegId(self.random.random_range(0..LEGS));
        let _ = self.control.write(Update::SetPace(leg, pace));
    }

    fn probe(&mut self) {
        self.control.inject(Inject::Probe {
            leg: LegId(self.random.random_range(0..LEGS)),
            probe: self.random.random(),
            rate: self.random.random_range(0..5_000_000),
            bytes: self.random.random_range(0..3_000),
            packets: self.random.random_range(0..10),
        });
    }

    fn set_or_remove_stream(&mut self) {
        let key = stream_key(self.random.random_range(0..LEGS), self.random.random_range(0..STREAMS));
        let update = match self.random.random_ratio(1, 12) {
            true => Update::RemoveStream(key),
            false => Update::SetStream(key, video()),
        };
        if self.control.write(update).is_ok() && self.random.random_ratio(1, 20) {
            self.sequences.insert((key.leg.0, key.ssrc.0), self.random.random());
        }
    }

    fn set_or_remove_replica(&mut self) {
        let id = self.random.random_range(0..12);
        if self.random.random_ratio(1, 5) {
            self.replicas.remove(&id);
            let _ = self.control.write(Update::RemoveReplica(ReplicaId(id)));
            return;
        }
        self.fresh_ssrc += 2;
        let source = stream_key(self.random.random_range(0..LEGS), self.random.random_range(0..STREAMS));
        let fresh = replica(self.random.random_range(0..LEGS), self.fresh_ssrc, source);
        let mut entry = self.replicas.get(&id).cloned().unwrap_or(fresh);
        entry.source = Some(source).filter(|_| self.random.random_ratio(4, 5));
        entry.paused = self.random.random_ratio(1, 6);
        if self
            .control
            .write(Update::SetReplica(ReplicaId(id), entry.clone()))
            .is_ok()
        {
            self.replicas.insert(id, entry);
        } else {
            // Its leg may be gone, and the replica with it.
            self.replicas.remove(&id);
        }
    }

    fn resend(&mut self) {
        let (replica, from) = (self.random.random_range(0..12), self.random.random_range(100..200));
        let sequences = [from, from + 1];
        self.control.inject(Inject::Resend {
            replica: ReplicaId(replica),
            sequences: &sequences,
        });
    }

    fn packet(&mut self, shard: usize) {
        let (leg, ssrc) = (self.random.random_range(0..LEGS), self.random.random_range(0..STREAMS));
        let sequence = self.sequences.entry((leg, ssrc)).or_insert(65_500);
        *sequence = sequence.wrapping_add(self.random.random_range(0..3));
        let frame = if self.random.random_ratio(1, 3) {
            KEY_FRAME
        } else {
            DELTA_FRAME
        };
        let packet = vp8(ssrc, *sequence, frame, 30);
        self.shards[shard].receive(self.now, path_of(leg), &packet);
    }

    fn finish(&mut self) {
        for id in 0..LEGS {
            let _ = self.control.write(Update::RemoveLeg(LegId(id)));
        }
        for _ in 0..100 {
            for shard in &mut self.shards {
                shard.take_commands(self.now);
                shard.take_handoffs(self.now);
                shard.work(self.now);
                shard.flush(&mut self.sent);
            }
        }
    }
}

#[test]
fn in_any_order_nothing_is_sent_twice_and_nothing_is_left() {
    let mut sent = 0;
    for seed in 0..150 {
        let mut history = History::new(seed);
        history.set_up();
        (0..2_000).for_each(|_| history.step());
        history.finish();
        for shard in &history.shards {
            assert!(
                shard.is_empty() && !shard.has_work() && !shard.has_messages(),
                "seed {seed}"
            );
        }
        let mut numbers = HashMap::new();
        let mut transport = HashMap::new();
        for (leg, bytes) in &history.sent.0 {
            let view = RtpPacket::parse(bytes).unwrap();
            // Transport-wide numbers are in the order of leaving, until a leg is another leg.
            let stamp = view
                .extension(3)
                .map(|value| u16::from_be_bytes([value[0], value[1]]))
                .unwrap();
            let next = transport.insert(*leg, stamp.wrapping_add(1)).unwrap_or(0);
            assert!(stamp == next || stamp == 0, "seed {seed}: {stamp} instead of {next}");
            let number = (*leg, view.ssrc(), view.sequence().0);
            assert_eq!(
                numbers.insert(number, bytes),
                None,
                "seed {seed}: {number:?} was sent twice"
            );
        }
        let counters = history.control.counters();
        let counted = counters[Counter::Forwarded] + counters[Counter::Resent] + counters[Counter::Probed];
        assert!(
            history.sent.0.len() as u64 <= counted,
            "a leg may go before its run is sent"
        );
        sent += history.sent.0.len();
    }
    assert!(sent > 10_000, "the histories send something: {sent}");
}

const CROWD: u32 = 2 * QUANTUM as u32 + 100;

/// One shard; leg 0 publishes video to a crowd and audio to some.
fn crowd() -> (Control, Shard) {
    crowd_of(Protection::Clear)
}

fn crowd_address(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.1.{}.{}:2", number >> 8, number & 0xff))
}

/// The same with this protection of the receivers' legs.
fn crowd_of(protection: Protection) -> (Control, Shard) {
    let (mut control, mut shards) = shards(1);
    let mut shard = shards.pop().unwrap();
    control
        .write(Update::SetLeg(LegId(0), leg(crowd_address(0), Protection::Clear)))
        .unwrap();
    control.write(Update::SetStream(stream_key(0, 1), video())).unwrap();
    control.write(Update::SetStream(stream_key(0, 2), audio())).unwrap();
    for number in 1..=CROWD {
        control
            .write(Update::SetLeg(
                LegId(number),
                leg(crowd_address(number), protection.clone()),
            ))
            .unwrap();
        // Even numbers, so that others can come between.
        let video = Update::SetReplica(ReplicaId(2 * number), replica(number, 10, stream_key(0, 1)));
        control.write(video).unwrap();
        if number <= 10 {
            let audio = Update::SetReplica(ReplicaId(100_000 + number), replica(number, 20, stream_key(0, 2)));
            control.write(audio).unwrap();
        }
        shard.take_commands(Instant::now());
    }
    (control, shard)
}

#[test]
fn audio_overtakes_a_large_picture() {
    let (_control, mut shard) = crowd();
    let (now, mut sent) = (Instant::now(), Sent::default());
    let from = path("10.0.0.1:7882", "10.1.0.0:2");
    shard.receive(now, from, &vp8(1, 1, KEY_FRAME, 100));
    shard.work(now);
    shard.flush(&mut sent);
    assert_eq!(sent.0.len(), QUANTUM);
    shard.receive(now, from, &rtp(2, AUDIO_TYPE, 1, b"sound"));
    shard.work(now);
    shard.flush(&mut sent);
    let ssrcs: Vec<Ssrc> = sent
        .0
        .iter()
        .map(|(_, bytes)| RtpPacket::parse(bytes).unwrap().ssrc())
        .collect();
    // Each receiver's packets go together; whose audio was written first goes first.
    assert!(ssrcs[QUANTUM..QUANTUM + 10].contains(&Ssrc(20)));
    assert_eq!(sent.0.len(), 2 * QUANTUM + 10);
    assert!(shard.has_work());
    shard.work(now);
    shard.flush(&mut sent);
    assert_eq!(sent.0.len(), CROWD as usize + 10);
    assert!(!shard.has_work());
}

#[test]
fn early_packets_are_sent_in_turns_and_before_packets_after_them() {
    const EARLY: u16 = 100;
    let (mut control, mut shard) = crowd_of(Protection::Pending);
    let (now, mut sent) = (Instant::now(), Sent::default());
    let from = crowd_address(0);
    for sequence in 0..EARLY {
        let frame = if sequence == 0 { KEY_FRAME } else { DELTA_FRAME };
        shard.receive(now, from, &vp8(1, sequence, frame, 100));
        while shard.has_work() {
            shard.work(now);
        }
    }
    for number in 1..=10 {
        let keyed = leg(crowd_address(number), Protection::Clear);
        control.write(Update::SetLeg(LegId(number), keyed)).unwrap();
    }
    shard.take_commands(now);
    shard.receive(now, from, &vp8(1, EARLY, DELTA_FRAME, 100));
    shard.receive(now, from, &rtp(2, AUDIO_TYPE, 1, b"sound"));
    let mut turns = 0;
    while shard.has_work() {
        shard.work(now);
        shard.flush(&mut sent);
        turns += 1;
        // The first turn has audio for ten receivers besides.
        let most = turns * QUANTUM + 10;
        assert!(sent.0.len() <= most, "{} packets in {turns} turns", sent.0.len());
    }
    let mut numbers: HashMap<LegId, Vec<u16>> = HashMap::new();
    for (leg, bytes) in &sent.0 {
        let view = RtpPacket::parse(bytes).unwrap();
        if view.ssrc() == Ssrc(10) {
            numbers.entry(*leg).or_default().push(view.sequence().0);
        }
    }
    let all: Vec<u16> = (100..=100 + EARLY).collect();
    assert!(numbers.len() == 10 && numbers.values().all(|got| *got == all));
}

#[test]
fn a_list_that_changes_midway_sends_no_packet_twice() {
    let (mut control, mut shard) = crowd();
    let (now, mut sent) = (Instant::now(), Sent::default());
    let from = path("10.0.0.1:7882", "10.1.0.0:2");
    shard.receive(now, from, &vp8(1, 1, KEY_FRAME, 100));
    shard.work(now);
    // Some before and some behind the place where the work was interrupted go, and others come.
    for number in (1..CROWD).step_by(7) {
        control.write(Update::RemoveReplica(ReplicaId(2 * number))).unwrap();
        let late = replica(number + 1, 50, stream_key(0, 1));
        control
            .write(Update::SetReplica(ReplicaId(2 * number + 1), late))
            .unwrap();
    }
    while shard.take_commands(now) > 0 || shard.has_work() {
        shard.work(now);
    }
    shard.flush(&mut sent);
    let mut seen = HashMap::new();
    for (leg, bytes) in &sent.0 {
        let ssrc = RtpPacket::parse(bytes).unwrap().ssrc();
        assert_eq!(seen.insert((*leg, ssrc), ()), None);
    }
    let kept = (1..=CROWD).filter(|number| number % 7 != 1);
    kept.for_each(|number| assert!(seen.contains_key(&(LegId(number), Ssrc(10)))));
    while let Some(event) = control.poll() {
        assert!(!matches!(event, Event::Punt { .. }));
    }
}
