//! What a replica costs: nanoseconds per copy of a 1,200-byte packet to 100 receivers with keys, from datagram to egress run.
//!
//! `cargo bench -p backend-udp --bench forward`. The floor is what nobody can save: one copy and one sealing.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Alarm;
use backend_udp::control::Control;
use backend_udp::shard::{Run, Shard, Transmit};
use backend_udp::srtp::Sealer;
use dataplane::{LegId, Protection, ReplicaId, SrtpProfile, Update};
use support::*;

const RECEIVERS: u32 = 100;
const PACKET: usize = 1_200;
const PICTURES: u16 = 200;
const PACKETS_PER_PICTURE: u16 = 8;
const RUNS: usize = 7;
const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;

struct Discard;

impl Transmit for Discard {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        black_box(runs.map(|run| run.bytes.len()).sum::<usize>());
        0
    }
}

fn main() {
    let copies = f64::from(RECEIVERS) * f64::from(PICTURES) * f64::from(PACKETS_PER_PICTURE);
    let per_copy = |run: fn() -> Duration| {
        let mut runs: Vec<f64> = (0..RUNS).map(|_| run().as_nanos() as f64 / copies).collect();
        runs.sort_by(f64::total_cmp);
        runs[RUNS / 2]
    };
    let (floor, sealed, clear) = (per_copy(floor), per_copy(|| forward(true)), per_copy(|| forward(false)));
    println!("{:<30} {floor:>8.0}", "copy and seal (floor)");
    println!(
        "{:<30} {sealed:>8.0} {:>6.2} of the floor",
        "replica, sealed",
        sealed / floor
    );
    println!("{:<30} {clear:>8.0}", "replica, in clear");
}

fn floor() -> Duration {
    let mut sealers: Vec<Sealer> = (1..=RECEIVERS)
        .map(|seed| Sealer::new(&key(PROFILE, seed as u8)))
        .collect();
    let packet = vp8(1, 0, KEY_FRAME, PACKET);
    let mut buffer = vec![0; PACKET + 100];
    let start = Instant::now();
    for index in 0..u64::from(PICTURES) * u64::from(PACKETS_PER_PICTURE) {
        for sealer in &mut sealers {
            buffer[..packet.len()].copy_from_slice(black_box(&packet));
            buffer[2..4].copy_from_slice(&(index as u16).to_be_bytes());
            black_box(sealer.seal_rtp(&mut buffer, packet.len(), 12, index));
        }
    }
    start.elapsed()
}

fn forward(sealed: bool) -> Duration {
    let (mut control, mut shard) = call(sealed);
    let from = path("10.0.0.1:7882", "10.0.1.1:1");
    let now = Instant::now();
    let mut picture = |number: u16| {
        let packets: Vec<Vec<u8>> = (0..PACKETS_PER_PICTURE)
            .map(|part| vp8(1, number * PACKETS_PER_PICTURE + part, KEY_FRAME, PACKET))
            .collect();
        let start = Instant::now();
        packets.iter().for_each(|packet| shard.receive(now, from, packet));
        while shard.has_work() {
            shard.work(now);
            shard.flush(&mut Discard, now);
        }
        let taken = start.elapsed();
        while control.poll().is_some() {}
        taken
    };
    // Caches fill first.
    (0..100).for_each(|number| _ = picture(number));
    (100..100 + PICTURES).map(picture).sum()
}

fn call(sealed: bool) -> (Control, Shard) {
    let (mut control, mut shards) = Control::new(clock(), &[Arc::new(Alarm::silent())], Arc::new(Alarm::silent()));
    let mut shard = shards.pop().expect("there is one for each alarm");
    let mut write = |update| {
        control.write(update).expect("the entries are good");
        shard.take_orders(Instant::now());
    };
    write(Update::SetLeg(
        LegId(0),
        leg(path("10.0.0.1:7882", "10.0.1.1:1"), Protection::Clear),
    ));
    write(Update::SetStream(stream_key(0, 1), video()));
    for number in 1..=RECEIVERS {
        let protection = if sealed {
            srtp(PROFILE, number as u8)
        } else {
            Protection::Clear
        };
        let path = path("10.0.0.1:7882", &format!("10.0.2.{number}:2"));
        write(Update::SetLeg(LegId(number), leg(path, protection)));
        write(Update::SetReplica(
            ReplicaId(number),
            replica(number, 10, stream_key(0, 1)),
        ));
    }
    (control, shard)
}
