//! The cost of protecting a packet: nanoseconds and instructions, video and audio, 100 keys in
//! rotation as in a call of 100 receivers.
//!
//! `cargo bench -p backend-udp --bench srtp`. Compare nanoseconds with each other and with memcpy,
//! not with another day. Counting instructions needs `perf_event_paranoid` of 2 or less; they are
//! zero without.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use backend_udp::srtp::{Opener, Sealer};
use dataplane::{MasterKey, SrtpProfile};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// A packet of a picture, and one of sound.
const LENS: [usize; 2] = [1_200, 100];
/// A header with the stamps a receiver asks for.
const HEADER: usize = 24;
const TRAILER: usize = 16;
const LEGS: usize = 100;
const ROUNDS: u64 = 200;
const RUNS: usize = 9;

fn main() {
    let mut meter = Meter::new();
    for len in LENS {
        println!("{:<30} {:>16} {:>16}", format!("{len} bytes"), "seal", "open");
        println!("{:<30} {}", "memcpy", median(|| memcpy(&mut meter, len)));
        for profile in [
            SrtpProfile::AeadAes128Gcm,
            SrtpProfile::AeadAes256Gcm,
            SrtpProfile::AesCm128HmacSha1_80,
        ] {
            let (seal, open) = (
                median(|| seal(&mut meter, profile, len)),
                median(|| open(&mut meter, profile, len)),
            );
            println!("{:<30} {seal} {open}", profile.name());
        }
    }
}

/// The middle one of several runs, each of which returns what all its packets took, for each
/// packet.
fn median(mut run: impl FnMut() -> Spent) -> String {
    let mut runs: Vec<Spent> = (0..RUNS).map(|_| run()).collect();
    runs.sort_by_key(|run| run.time);
    let packets = LEGS as u64 * ROUNDS;
    let Spent { time, instructions } = runs[RUNS / 2];
    format!(
        "{:>5.0} ns {:>5} i",
        time.as_nanos() as f64 / packets as f64,
        instructions / packets
    )
}

#[derive(Clone, Copy, Default)]
struct Spent {
    time: Duration,
    instructions: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.time += other.time;
        self.instructions += other.instructions;
    }
}

struct Meter(Option<Counter>);

impl Meter {
    fn new() -> Self {
        Meter(Builder::new().kind(Hardware::INSTRUCTIONS).build().ok())
    }

    fn measure(&mut self, work: impl FnOnce()) -> Spent {
        if let Some(counter) = &mut self.0 {
            counter.reset().expect("a counter can be set to zero");
            counter.enable().expect("a counter can be started");
        }
        let start = Instant::now();
        work();
        let time = start.elapsed();
        let instructions = self.0.as_mut().map_or(0, |counter| {
            counter.disable().expect("a counter can be stopped");
            counter.read().expect("a counter can be read")
        });
        Spent { time, instructions }
    }
}

fn memcpy(meter: &mut Meter, len: usize) -> Spent {
    let source = vec![7; len];
    let mut packets = packets(len);
    meter.measure(|| {
        for _ in 0..ROUNDS {
            for packet in &mut packets {
                packet[..len].copy_from_slice(black_box(&source));
                black_box(packet);
            }
        }
    })
}

fn seal(meter: &mut Meter, profile: SrtpProfile, len: usize) -> Spent {
    let mut sealers: Vec<Sealer> = keys(profile).iter().map(Sealer::new).collect();
    let mut packets = packets(len);
    meter.measure(|| {
        for index in 0..ROUNDS {
            seal_round(&mut sealers, &mut packets, len, index);
        }
    })
}

/// Measures the opening only; every packet must have been sealed with a fresh index.
fn open(meter: &mut Meter, profile: SrtpProfile, len: usize) -> Spent {
    let mut sealers: Vec<Sealer> = keys(profile).iter().map(Sealer::new).collect();
    let mut openers: Vec<Opener> = keys(profile).iter().map(Opener::new).collect();
    let mut packets = packets(len);
    let mut spent = Spent::default();
    for index in 0..ROUNDS {
        let sealed_len = seal_round(&mut sealers, &mut packets, len, index);
        spent += meter.measure(|| {
            for (opener, packet) in openers.iter_mut().zip(&mut packets) {
                black_box(
                    opener
                        .open_rtp(&mut packet[..sealed_len], HEADER)
                        .expect("we sealed it"),
                );
            }
        });
    }
    spent
}

fn seal_round(sealers: &mut [Sealer], packets: &mut [Vec<u8>], len: usize, index: u64) -> usize {
    let mut sealed_len = 0;
    for (sealer, packet) in sealers.iter_mut().zip(packets) {
        packet[2..4].copy_from_slice(&(index as u16).to_be_bytes());
        sealed_len = black_box(sealer.seal_rtp(packet, len, HEADER, index));
    }
    sealed_len
}

fn keys(profile: SrtpProfile) -> Vec<MasterKey> {
    let key = |seed: u8| MasterKey::new(profile, &vec![seed; profile.key_len()], &vec![seed; profile.salt_len()]);
    (0..LEGS as u8)
        .map(|seed| key(seed).expect("the profile's lengths"))
        .collect()
}

fn packets(len: usize) -> Vec<Vec<u8>> {
    let mut packet = vec![0; len + TRAILER];
    packet[0] = 0x80;
    vec![packet; LEGS]
}
