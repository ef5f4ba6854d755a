//! Workers of a running device: which owns what, and whether they answer.

use std::net::UdpSocket;

use dataplane::{Leg, LegId, Path, Protection};
use wire::{ExtensionMap, NtpTime};

use super::*;

fn start(workers: usize, pack_legs: usize) -> UdpPlane {
    start_with(UdpConfig {
        workers,
        pack_legs,
        ..UdpConfig::default()
    })
}

fn start_with(config: UdpConfig) -> UdpPlane {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        ..config
    };
    let clock = Clock {
        origin: Instant::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    };
    UdpPlane::start(config, clock, Arc::new(|| {})).unwrap()
}

/// The path of a new peer, which sends STUN to this address of the device again and again.
fn path_of_new(plane: &mut UdpPlane, at: SocketAddr, peer: &UdpSocket) -> Path {
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    for _ in 0..5_000 {
        peer.send_to(&stun, at).unwrap();
        thread::sleep(Duration::from_millis(1));
        // Datagrams of the previous peer may still arrive.
        let heard = std::iter::from_fn(|| plane.poll()).find_map(|event| match event {
            Event::Punt { path, .. } if path.remote == peer.local_addr().unwrap() => Some(path),
            _ => None,
        });
        if let Some(path) = heard {
            while plane.poll().is_some() {}
            return path;
        }
    }
    panic!("nobody heard it");
}

fn connect(plane: &mut UdpPlane, id: u32) -> UdpSocket {
    connect_at(plane, id, plane.local_addr())
}

fn connect_at(plane: &mut UdpPlane, id: u32, at: SocketAddr) -> UdpSocket {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let leg = Leg {
        paths: vec![path_of_new(plane, at, &peer)],
        shared: None,
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    };
    plane.write(Instant::now(), Update::SetLeg(LegId(id), leg)).unwrap();
    peer
}

#[test]
fn legs_that_connect_together_are_packed_onto_one_worker() {
    let mut plane = start(3, 4);
    let peers: Vec<UdpSocket> = (0..12).map(|id| connect(&mut plane, id)).collect();
    assert_eq!(plane.control.legs(), [4, 4, 4]);
    drop(peers);
    for id in 0..11 {
        plane.write(Instant::now(), Update::RemoveLeg(LegId(id))).unwrap();
    }
    assert_eq!(plane.control.legs(), [0, 0, 1]);
    let _peers = [connect(&mut plane, 20), connect(&mut plane, 21)];
    assert_eq!(plane.control.legs(), [2, 0, 1]);
}

#[test]
fn without_packing_source_ports_decide() {
    let mut plane = start(4, 0);
    let _peers: Vec<UdpSocket> = (0..32).map(|id| connect(&mut plane, id)).collect();
    assert!(plane.control.legs().iter().all(|legs| *legs < 32));
}

#[test]
fn with_ports_of_their_own_workers_own_the_legs_at_their_port() {
    let mut plane = start_with(UdpConfig {
        workers: 3,
        pack_legs: 4,
        port_per_worker: true,
        ..UdpConfig::default()
    });
    let ports: Vec<SocketAddr> = plane.local_addrs().to_vec();
    let mut peers = Vec::new();
    for (worker, count) in [(0, 1), (1, 5), (2, 2)] {
        for _ in 0..count {
            let id = peers.len() as u32;
            peers.push(connect_at(&mut plane, id, ports[worker]));
        }
    }
    assert_eq!(plane.control.legs(), [1, 5, 2]);
}

#[test]
fn sleeping_workers_answer_a_ping() {
    let mut plane = start(2, 0);
    assert!(plane.workers_answered(), "nobody was asked");
    plane.ping_workers();
    let answered = (0..5_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        plane.workers_answered()
    });
    assert!(answered);
    plane.shutdown();
    plane.ping_workers();
    thread::sleep(Duration::from_millis(20));
    assert!(!plane.workers_answered(), "they are gone");
}
