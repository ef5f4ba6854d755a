//! Once a call is under way, moving its packets asks nothing of the allocator.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{Run, Shard, Transmit};
use dataplane::{Counter, Inject, LegId, Path, Protection, ReplicaId, SrtpProfile, Update};
use support::layers::{Layered, layered_leg, layered_replica, layered_stream};
use support::*;
use wire::codec::Layer;

/// The system's allocator, counting what the current thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn asked() -> u64 {
    ASKED.with(Cell::get)
}

// SAFETY: everything is handed to the system's allocator as it is; counting touches a number of the
// thread's own that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const VIDEO: u32 = 0x11;
const AUDIO: u32 = 0x22;
const RECEIVERS: u32 = 20;

/// Counts what is sent.
#[derive(Default)]
struct Count(u64);

impl Transmit for Count {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        self.0 += runs.map(|run| run.datagrams().len() as u64).sum::<u64>();
        0
    }
}

/// A call over several shards, with everything the packet path does.
struct Call {
    control: Control,
    shards: Vec<Shard>,
    publisher: Peer,
    now: Instant,
    sent: Count,
}

impl Call {
    /// Without anybody in it.
    fn empty(shards: usize, profile: SrtpProfile) -> Self {
        let wakeups: Vec<Arc<Wakeup>> = (0..shards).map(|_| Arc::new(Wakeup::silent())).collect();
        let (control, shards) = Control::new(clock(), &wakeups, Arc::new(Wakeup::silent()));
        Call {
            control,
            shards,
            publisher: Peer::new(profile, 0),
            now: Instant::now(),
            sent: Count::default(),
        }
    }

    fn new(shards: usize, profile: SrtpProfile) -> Self {
        let mut call = Call::empty(shards, profile);
        call.write(Update::SetLeg(LegId(0), leg(publisher_path(), srtp(profile, 0))));
        call.write(Update::SetStream(stream_key(0, VIDEO), video()));
        call.write(Update::SetStream(stream_key(0, AUDIO), audio()));
        for number in 1..=RECEIVERS {
            call.write(Update::SetLeg(
                LegId(number),
                leg(receiver_path(number), protection(profile, number)),
            ));
            let video = replica(number, 1_000 * number, stream_key(0, VIDEO));
            let audio = replica(number, 1_000 * number + 100, stream_key(0, AUDIO));
            call.write(Update::SetReplica(ReplicaId(number), video));
            call.write(Update::SetReplica(ReplicaId(100 + number), audio));
        }
        // A leg that gets no keys keeps the newest key frame.
        let waiting = RECEIVERS + 1;
        call.write(Update::SetLeg(
            LegId(waiting),
            leg(receiver_path(waiting), Protection::Pending),
        ));
        let video = replica(waiting, 1_000 * waiting, stream_key(0, VIDEO));
        call.write(Update::SetReplica(ReplicaId(waiting), video));
        call
    }

    fn write(&mut self, update: Update) {
        self.control.write(update).unwrap();
        self.run(&[]);
    }

    /// One frame's worth of packets, arriving at all shards in turn; returns how often the shards
    /// asked the allocator.
    fn run(&mut self, datagrams: &[Vec<u8>]) -> u64 {
        let before = asked();
        let count = self.shards.len();
        for (datagram, at) in datagrams.iter().zip((0..count).cycle()) {
            self.shards[at].receive(self.now, publisher_path(), datagram);
        }
        let mut busy = true;
        while busy {
            busy = false;
            for shard in &mut self.shards {
                busy |= shard.take_commands(self.now) + shard.take_handoffs(self.now) > 0 || shard.has_work();
                shard.work(self.now);
                shard.flush(&mut self.sent);
                shard.settle(self.now);
            }
        }
        asked() - before
    }

    fn frame(&mut self, number: u16) -> Vec<Vec<u8>> {
        let video = (0..5).map(|part| vp8(VIDEO, 5 * number + part, KEY_FRAME, 1_100 + usize::from(number % 7)));
        let audio = rtp(AUDIO, AUDIO_TYPE, number, &[7; 80]);
        let clear: Vec<Vec<u8>> = video.chain([audio]).collect();
        clear.iter().map(|packet| self.publisher.seal(packet)).collect()
    }

    /// A frame, an answered NACK, and an agent that reads everything; returns how often the shards
    /// asked the allocator.
    fn turn(&mut self, number: u16) -> u64 {
        self.now += Duration::from_millis(33);
        let mut datagrams = self.frame(number);
        datagrams.push(vec![0, 1, 0, 0]);
        let packets = self.run(&datagrams);
        let highest = 100_u16.wrapping_add(5 * number);
        let sequences = [highest, highest.wrapping_add(2)];
        for replica in [1, 2] {
            self.control.inject(Inject::Resend {
                replica: ReplicaId(replica),
                sequences: &sequences,
            });
        }
        let resent = self.run(&[]);
        while self.control.poll().is_some() {}
        packets + resent
    }
}

/// A fourth of all receivers get theirs in clear.
fn protection(profile: SrtpProfile, number: u32) -> Protection {
    match number % 4 {
        0 => Protection::Clear,
        _ => srtp(profile, number as u8),
    }
}

fn receiver_path(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.0.2.{number}:2"))
}

fn publisher_path() -> Path {
    path("10.0.0.1:7882", "10.0.1.1:1")
}

#[test]
fn a_call_under_way_does_not_allocate() {
    for shards in [1, 2, 3] {
        let mut call = Call::new(shards, SrtpProfile::AeadAes128Gcm);
        // Caches fill, buffers find their size.
        let _: u64 = (0..600).map(|number| call.turn(number)).sum();
        let before = call.sent.0;
        let asked: u64 = (600..2_000).map(|number| call.turn(number)).sum();
        assert_eq!(asked, 0, "{shards} shards");
        let turns = 1_400;
        assert_eq!(call.sent.0 - before, turns * (6 * u64::from(RECEIVERS) + 4));
        assert_eq!(call.control.counters()[Counter::Resent], 2_000 * 4);
    }
}

#[test]
fn a_paced_call_does_not_allocate() {
    for shards in [1, 2] {
        let mut call = Call::new(shards, SrtpProfile::AeadAes128Gcm);
        for number in 1..=RECEIVERS {
            // From half of what is sent to nearly twice as much.
            call.write(Update::SetPace(
                LegId(number),
                Some(700_000 + 100_000 * u64::from(number)),
            ));
        }
        let mut turn = |number| {
            let asked = call.turn(number);
            let later = (0..3).map(|_| {
                call.now += Duration::from_millis(11);
                call.run(&[])
            });
            asked + later.sum::<u64>()
        };
        let _: u64 = (0..600).map(&mut turn).sum();
        let asked: u64 = (600..2_000).map(&mut turn).sum();
        assert_eq!(asked, 0, "{shards} shards");
        let counters = call.control.counters();
        assert_eq!(counters[Counter::PaceQueueFull], 0);
        assert!(counters[Counter::Forwarded] >= 1_990 * 6 * u64::from(RECEIVERS));
    }
}

/// A call whose camera comes in layers; everybody gets others of them, and other ones now and then.
struct LayeredCall {
    call: Call,
    camera: Layered,
}

impl LayeredCall {
    fn new(shards: usize) -> Self {
        let profile = SrtpProfile::AeadAes128Gcm;
        let mut call = Call::empty(shards, profile);
        call.write(Update::SetLeg(
            LegId(0),
            layered_leg(publisher_path(), srtp(profile, 0)),
        ));
        call.write(Update::SetStream(stream_key(0, VIDEO), layered_stream()));
        for number in 1..=RECEIVERS {
            let leg = layered_leg(receiver_path(number), protection(profile, number));
            call.write(Update::SetLeg(LegId(number), leg));
        }
        let camera = Layered::new(VIDEO);
        let mut this = LayeredCall { call, camera };
        this.want(0);
        this
    }

    /// Every receiver is to get another layer than in the round before.
    fn want(&mut self, round: u32) {
        for number in 1..=RECEIVERS {
            let of = (number + round) % 9;
            let target = Layer {
                spatial: (of / 3) as u8,
                temporal: (of % 3) as u8,
            };
            let replica = layered_replica(number, 1_000 * number, stream_key(0, VIDEO), target);
            self.call.write(Update::SetReplica(ReplicaId(number), replica));
        }
    }

    /// One picture; returns how often the shards asked the allocator.
    fn turn(&mut self, is_key: bool) -> u64 {
        self.call.now += Duration::from_millis(33);
        let clear = self.camera.picture(is_key, [1, 2, 3], 1_000);
        let datagrams: Vec<Vec<u8>> = clear.iter().map(|packet| self.call.publisher.seal(packet)).collect();
        let asked = self.call.run(&datagrams);
        while self.call.control.poll().is_some() {}
        asked
    }
}

#[test]
fn a_call_in_layers_allocates_only_for_a_key_frames_structure() {
    /// The structure itself, and the lists in it.
    const STRUCTURE: u64 = 8;
    for shards in [1, 2, 3] {
        let mut layered = LayeredCall::new(shards);
        let (mut for_key_frames, mut for_others) = (0, 0);
        for picture in 0..1_200 {
            if picture % 70 == 0 {
                layered.want(picture / 70);
            }
            let is_key = picture % 100 == 0;
            let asked = layered.turn(is_key);
            match is_key {
                // Caches fill, buffers find their size.
                _ if picture < 600 => {}
                true => for_key_frames += asked,
                false => for_others += asked,
            }
        }
        assert_eq!(for_others, 0, "{shards} shards");
        assert!(for_key_frames <= 6 * STRUCTURE, "{shards} shards: {for_key_frames}");
        let counters = layered.call.control.counters();
        assert!(counters[Counter::OutsideTarget] > 0 && counters[Counter::Undecodable] == 0);
        assert_eq!(counters[Counter::Forwarded], layered.call.sent.0);
        assert!(layered.call.sent.0 > 1_200 * u64::from(RECEIVERS));
    }
}

#[test]
fn an_idle_stream_costs_next_to_nothing() {
    let mut call = Call::new(1, SrtpProfile::AeadAes128Gcm);
    let frame = call.frame(0);
    assert!(call.run(&frame) < 400, "buffers are made as packets come");
}
