//! A key frame that arrives before a leg has keys, with workers on threads of their own.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Counter, DataPlane, Path, Protection, ReplicaId, SrtpProfile, Update};
use support::*;
use wire::RtpPacket;

const VIDEO: u32 = 0x11;
const PACKETS: u16 = 20;

/// A peer's socket, and the path between it and the device.
fn peer(plane: &UdpPlane) -> (UdpSocket, Path) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, plane.local_addr().port()));
    socket.connect(local).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let remote = socket.local_addr().unwrap();
    (socket, Path { local, remote })
}

/// Sends a key frame to a replica whose leg has no keys, and gives the leg keys. Returns the
/// receiver's socket, if the key frame was forwarded then: on a busy machine it may be too old by
/// the time of the keys.
fn send_before_keys(plane: &mut UdpPlane, publisher: &UdpSocket, number: u32, keys: Protection) -> Option<UdpSocket> {
    let (receiver, path) = peer(plane);
    set_leg(plane, number, path, Protection::Pending);
    set_replica(plane, number, replica(number, 1_000, stream_key(0, VIDEO)));
    wait_until("the entries are applied", || plane.is_applied());
    let before = plane.counters();
    let first = number as u16 * PACKETS;
    for sequence in first..first + PACKETS {
        let frame = if sequence == first { KEY_FRAME } else { DELTA_FRAME };
        publisher.send(&vp8(VIDEO, sequence, frame, 1_000)).unwrap();
    }
    let more = |after: &dataplane::Counters, counter| after[counter] - before[counter];
    wait_until("all packets have arrived", || {
        more(&plane.counters(), Counter::NotReady) == u64::from(PACKETS)
    });
    set_leg(plane, number, path, keys);
    let mut is_forgotten = false;
    wait_until("the key frame is forwarded or forgotten", || {
        let after = plane.counters();
        is_forgotten = more(&after, Counter::EarlyForgotten) > 0;
        is_forgotten || more(&after, Counter::Forwarded) == u64::from(PACKETS)
    });
    (!is_forgotten).then_some(receiver)
}

#[test]
fn a_leg_at_another_worker_is_sent_its_early_key_frame_when_it_has_keys() {
    let profile = SrtpProfile::AeadAes128Gcm;
    let config = UdpConfig {
        addresses: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
        workers: 2,
        ..UdpConfig::default()
    };
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let (publisher, path) = peer(&plane);
    set_leg(&mut plane, 0, path, Protection::Clear);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    // The owner of a leg is its number modulo two.
    for number in (1..100).step_by(2) {
        let keys = srtp(profile, number as u8);
        let Some(receiver) = send_before_keys(&mut plane, &publisher, number, keys) else {
            let gone = Update::RemoveReplica(ReplicaId(number));
            plane.write(Instant::now(), gone).unwrap();
            continue;
        };
        let mut peer = Peer::new(profile, number as u8);
        let mut buffer = [0; 2_000];
        for sequence in 100..100 + PACKETS {
            let len = receiver.recv(&mut buffer).expect("a datagram within the time");
            let clear = peer.open(&buffer[..len]);
            assert_eq!(RtpPacket::parse(&clear).unwrap().sequence().0, sequence);
        }
        return;
    }
    panic!("no leg got its keys within half a second of the key frame");
}
