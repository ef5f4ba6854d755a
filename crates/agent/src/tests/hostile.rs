//! Hostile peers: their packets are counted and at worst end their own transport, and never cause a
//! panic.

use super::world::*;
use crate::Counter;
use crate::channels::{Channels, Effect, Letter};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{Channel, DtlsRole};

const ROUNDS: usize = 3_000;

fn mutate(rng: &mut StdRng, bytes: &[u8], from: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..6) {
        if bytes.len() <= from {
            break;
        }
        let at = rng.random_range(from..bytes.len());
        match rng.random_range(0..5) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random(),
            2 => bytes[at] = *[0, 1, 0x7f, 0x80, 0xff].get(rng.random_range(0..5)).unwrap(),
            3 => bytes.truncate(at),
            _ => bytes.insert(at, rng.random()),
        }
    }
    bytes
}

#[test]
fn mutated_checks_and_noise_reach_nobody_else() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut world = World::new();
    let (victim, peer) = (world.connected_peer(), world.add_peer(DtlsRole::Server, Vec::new()));
    world.check(peer, true);
    let (path, good) = (world.peers[peer].path, world.peers[peer].request(true));
    for round in 0..ROUNDS {
        let mut bytes = mutate(&mut rng, &good, 0);
        if round % 3 == 0 {
            bytes = (0..rng.random_range(0..200)).map(|_| rng.random()).collect();
        }
        world.deliver(path, bytes);
    }
    world.check(victim, true);
    assert!(world.peers[victim].stun.len() == 2);
    world.close_all();
}

#[test]
fn mutated_handshakes_end_at_most_themselves() {
    let mut rng = StdRng::seed_from_u64(2);
    for role in [DtlsRole::Server, DtlsRole::Client] {
        for _ in 0..ROUNDS / 60 {
            let mut world = World::new();
            let peer = world.add_peer(role, Vec::new());
            world.check(peer, true);
            let mut dtls_seed = StdRng::seed_from_u64(rng.random());
            world.peers[peer].tamper = Some(Box::new(move |bytes| {
                if dtls_seed.random_bool(0.5) {
                    bytes
                } else {
                    mutate(&mut dtls_seed, &bytes, 0)
                }
            }));
            world.start_dtls(peer);
            world.advance(2_000);
            world.close_all();
        }
    }
}

/// CRC-32C as SCTP computes it, with its own field zero.
fn seal(packet: &mut [u8]) {
    if packet.len() < 12 {
        return;
    }
    packet[8..12].fill(0);
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    let crc = !packet.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    });
    packet[8..12].copy_from_slice(&crc.to_le_bytes());
}

fn packets(effects: Vec<Effect>) -> impl Iterator<Item = Vec<u8>> {
    effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(packet) => Some(packet),
        _ => None,
    })
}

/// Two ends, the first of which gets everything mutated now and then.
#[test]
fn mutated_sctp_ends_at_most_its_association() {
    let start = std::time::Instant::now();
    for seed in 0..ROUNDS as u64 / 10 {
        let mut rng = StdRng::seed_from_u64(seed);
        let channel = Channel {
            label: "x".into(),
            ordered: seed % 2 == 0,
            retransmits_max: Some(0).filter(|_| seed % 3 == 0),
            stream: None,
        };
        let mut ends = [
            Channels::new(vec![channel.clone()], start),
            Channels::new(vec![channel], start),
        ];
        let mut queues: [Vec<Vec<u8>>; 2] = Default::default();
        for (end, role) in [DtlsRole::Server, DtlsRole::Client].into_iter().enumerate() {
            let mut effects = Vec::new();
            ends[end].start(role, 5000, start, &mut effects);
            queues[1 - end].extend(packets(effects));
        }
        for step in 0..60 {
            let now = start + std::time::Duration::from_millis(step * 100);
            for end in 0..2 {
                let mut effects = Vec::new();
                for packet in std::mem::take(&mut queues[end]) {
                    let mut packet = packet;
                    if end == 0 && rng.random_bool(0.2) {
                        packet = mutate(&mut rng, &packet, 0);
                        seal(&mut packet);
                    }
                    ends[end].receive(now, packet, &mut effects);
                }
                ends[end].handle_timeout(now, &mut effects);
                if step > 5 {
                    let letter = Letter {
                        label: &"x".into(),
                        payload: vec![1; rng.random_range(0..4_000)].into(),
                        reliable: true,
                        message: None,
                        unpaced_max: None,
                    };
                    ends[end].send(now, letter, &mut effects);
                }
                queues[1 - end].extend(packets(effects));
            }
        }
    }
}

#[test]
fn mutated_rtcp_affects_only_its_sender() {
    let mut rng = StdRng::seed_from_u64(4);
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let track = world.publish_video(publisher, &[]);
    world.subscribe(receiver, track, 500, BEST);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    let mut seeds = vec![sender_report(500, wire::NtpTime(5), 1)];
    let mut compound = Vec::new();
    wire::rtcp::RtcpWriter::receiver_report(&mut compound, wire::Ssrc(1), "x", &[Default::default()])
        .pli(wire::Ssrc(500))
        .nack(wire::Ssrc(500), (0..50).map(wire::SequenceNumber))
        .fir(wire::rtcp::FirEntry {
            media: wire::Ssrc(500),
            sequence: 1,
        })
        .remb(100_000, &[wire::Ssrc(500)])
        .bye(&[wire::Ssrc(500)]);
    seeds.push(compound);
    let path = world.peers[receiver].path;
    for _ in 0..ROUNDS {
        let seed = &seeds[rng.random_range(0..seeds.len())];
        let bytes = mutate(&mut rng, seed, 4);
        world.deliver(path, bytes);
    }
    assert!(world.peers[publisher].plis(11, world.start).len() <= 2);
    world.close_all();
}

/// A channel of a connected pair, and a packet of the client's with DATA alone and its place.
fn established(now: std::time::Instant) -> (Channels, Vec<u8>) {
    let channel = Channel {
        label: "x".into(),
        ordered: true,
        retransmits_max: None,
        stream: None,
    };
    let mut ends = [Channels::new(Vec::new(), now), Channels::new(vec![channel], now)];
    let mut queues: [Vec<Vec<u8>>; 2] = Default::default();
    let mut last = Vec::new();
    for (end, role) in [DtlsRole::Server, DtlsRole::Client].into_iter().enumerate() {
        let mut effects = Vec::new();
        ends[end].start(role, 5000, now, &mut effects);
        queues[1 - end].extend(packets(effects));
    }
    while queues.iter().any(|queue| !queue.is_empty()) {
        for end in 0..2 {
            let mut effects = Vec::new();
            for packet in std::mem::take(&mut queues[end]) {
                if end == 0 && packet[12] == 0 {
                    last.clone_from(&packet);
                }
                ends[end].receive(now, packet, &mut effects);
            }
            queues[1 - end].extend(packets(effects));
        }
    }
    let [server, _] = ends;
    (server, last)
}

/// A peer may send messages in pieces that are never complete, or after a piece that never arrives.
/// Neither makes long lists.
#[test]
fn pieces_that_never_become_messages_are_bounded() {
    let now = std::time::Instant::now();
    for (flags, first) in [(2, 1), (6, 1), (3, 2)] {
        let (mut server, seed) = established(now);
        let tsn = u32::from_be_bytes(seed[16..20].try_into().unwrap());
        let mut counted = [0; 2];
        for number in 0..600 {
            let mut packet = seed[..12].to_vec();
            for piece in 0..50_u32 {
                let tsn = tsn.wrapping_add(first + number * 50 + piece);
                packet.extend([0, flags, 0, 17]);
                packet.extend(tsn.to_be_bytes());
                packet.extend([0, 0]);
                packet.extend(((number * 50 + piece) as u16).wrapping_add(5).to_be_bytes());
                packet.extend([0, 0, 0, 53, 7, 0, 0, 0]);
            }
            seal(&mut packet);
            let mut effects = Vec::new();
            server.receive(now, packet, &mut effects);
            for effect in effects {
                counted[0] += u32::from(matches!(effect, Effect::Count(Counter::SctpMalformed)));
                counted[1] += u32::from(matches!(effect, Effect::Count(Counter::SctpPutOff)));
            }
        }
        match flags {
            3 => assert!(counted[0] == 0 && counted[1] > 500, "{counted:?}"),
            _ => assert_eq!(counted, [1, 0]),
        }
    }
}
