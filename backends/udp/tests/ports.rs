//! Workers with a port each, over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{DataPlane, Leg, LegId, Path, Protection, Update};
use support::*;
use wire::RtpPacket;

const VIDEO: u32 = 0x11;

fn peer() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn path_of(local: SocketAddr, peer: &UdpSocket) -> Path {
    Path {
        local,
        remote: peer.local_addr().unwrap(),
    }
}

#[test]
fn media_passes_between_ports_and_follows_a_leg_from_one_to_another() {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: 2,
        port_per_worker: true,
        ..UdpConfig::default()
    };
    let mut plane = UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap();
    let ports: [SocketAddr; 2] = plane.local_addrs().try_into().expect("a port for each worker");
    let (publisher, receiver) = (peer(), peer());
    set_leg(&mut plane, 0, path_of(ports[0], &publisher), Protection::Clear);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    set_leg(&mut plane, 1, path_of(ports[1], &receiver), Protection::Clear);
    set_replica(&mut plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    let passes = |plane: &UdpPlane, sequence, port: SocketAddr| {
        wait_until("the entries are applied", || plane.is_applied());
        publisher
            .send_to(&vp8(VIDEO, sequence, KEY_FRAME, 100), ports[0])
            .unwrap();
        let mut buffer = [0; 2_000];
        let (len, from) = receiver.recv_from(&mut buffer).expect("a datagram within the time");
        let replica = RtpPacket::parse(&buffer[..len]).unwrap();
        assert_eq!((replica.sequence().0, from), (100 + sequence, port));
    };
    passes(&plane, 0, ports[1]);
    // A leg stays at its worker; the newest path is the first.
    for (sequence, local) in [(1, [0, 1]), (2, [1, 0])] {
        let moved = Leg {
            paths: local.map(|port| path_of(ports[port], &receiver)).to_vec(),
            ..leg(path_of(ports[0], &receiver), Protection::Clear)
        };
        plane.write(Instant::now(), Update::SetLeg(LegId(1), moved)).unwrap();
        passes(&plane, sequence, ports[local[0]]);
    }
}
