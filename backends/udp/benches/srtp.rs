//! What protecting a packet costs: nanoseconds per 1,200-byte packet, 100 keys in rotation as in a call of 100 receivers.
//!
//! `cargo bench -p backend-udp --bench srtp`. Compare the lines with each other and with memcpy, not with another day.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use backend_udp::srtp::{Opener, Sealer};
use dataplane::{MasterKey, SrtpProfile};

const PACKET: usize = 1_200;
const ROOM: usize = PACKET + 16;
const LEGS: usize = 100;
const ROUNDS: u64 = 200;
const RUNS: usize = 9;

fn main() {
    println!("{:<30} {:>8} {:>8}", "ns per packet", "seal", "open");
    println!("{:<30} {:>8.0}", "memcpy", median(memcpy));
    for profile in [
        SrtpProfile::AeadAes128Gcm,
        SrtpProfile::AeadAes256Gcm,
        SrtpProfile::AesCm128HmacSha1_80,
    ] {
        let (seal, open) = (median(|| seal(profile)), median(|| open(profile)));
        println!("{:<30} {seal:>8.0} {open:>8.0}", profile.name());
    }
}

/// The middle one of several runs, each of which returns what all its packets took.
fn median(mut run: impl FnMut() -> Duration) -> f64 {
    let mut runs: Vec<Duration> = (0..RUNS).map(|_| run()).collect();
    runs.sort();
    runs[RUNS / 2].as_nanos() as f64 / (LEGS as u64 * ROUNDS) as f64
}

fn memcpy() -> Duration {
    let source = [7; PACKET];
    let mut packets = packets();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for packet in &mut packets {
            packet[..PACKET].copy_from_slice(black_box(&source));
            black_box(packet);
        }
    }
    start.elapsed()
}

fn seal(profile: SrtpProfile) -> Duration {
    let mut sealers: Vec<Sealer> = keys(profile).iter().map(Sealer::new).collect();
    let mut packets = packets();
    let start = Instant::now();
    for index in 0..ROUNDS {
        seal_round(&mut sealers, &mut packets, index);
    }
    start.elapsed()
}

/// Times the opening only; every packet must have been sealed with a fresh index.
fn open(profile: SrtpProfile) -> Duration {
    let mut sealers: Vec<Sealer> = keys(profile).iter().map(Sealer::new).collect();
    let mut openers: Vec<Opener> = keys(profile).iter().map(Opener::new).collect();
    let mut packets = packets();
    let mut spent = Duration::ZERO;
    for index in 0..ROUNDS {
        let sealed_len = seal_round(&mut sealers, &mut packets, index);
        let start = Instant::now();
        for (opener, packet) in openers.iter_mut().zip(&mut packets) {
            black_box(opener.open_rtp(&mut packet[..sealed_len], 12).expect("we sealed it"));
        }
        spent += start.elapsed();
    }
    spent
}

fn seal_round(sealers: &mut [Sealer], packets: &mut [[u8; ROOM]], index: u64) -> usize {
    let mut sealed_len = 0;
    for (sealer, packet) in sealers.iter_mut().zip(packets) {
        packet[2..4].copy_from_slice(&(index as u16).to_be_bytes());
        sealed_len = black_box(sealer.seal_rtp(packet, PACKET, 12, index));
    }
    sealed_len
}

fn keys(profile: SrtpProfile) -> Vec<MasterKey> {
    let key = |seed: u8| MasterKey::new(profile, &vec![seed; profile.key_len()], &vec![seed; profile.salt_len()]);
    (0..LEGS as u8)
        .map(|seed| key(seed).expect("the profile's lengths"))
        .collect()
}

fn packets() -> Vec<[u8; ROOM]> {
    let mut packet = [0; ROOM];
    packet[0] = 0x80;
    vec![packet; LEGS]
}
