//! Datagrams in connections, over the loopback interface.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Counter, DataPlane, Event, Inject, LegId, Path, Protection, PuntKind, Sample, Update};
use ports::free_port;
use support::*;
use wire::RtpPacket;
use wire::framing::{self, Deframer};

const VIDEO: u32 = 0x11;
const OTHER_VIDEO: u32 = 0x22;
const STUN: [u8; 20] = [
    0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

fn start(bind: &str, workers: usize) -> UdpPlane {
    let config = UdpConfig {
        addresses: vec![bind.parse().unwrap()],
        tcp_port: Some(0),
        workers,
        ..UdpConfig::default()
    };
    UdpPlane::start(config, clock(), Arc::new(|| {})).unwrap()
}

/// The other end of a connection.
struct TcpPeer {
    stream: TcpStream,
    deframer: Deframer,
    received: VecDeque<Vec<u8>>,
}

impl TcpPeer {
    fn connect(plane: &UdpPlane, ip: &str) -> Self {
        let port = plane.tcp_addrs()[0].port();
        let stream = TcpStream::connect(SocketAddr::new(ip.parse().unwrap(), port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_nodelay(true).unwrap();
        TcpPeer {
            stream,
            deframer: Deframer::new(2_000),
            received: VecDeque::new(),
        }
    }

    fn path(&self) -> Path {
        Path {
            local: self.stream.peer_addr().unwrap(),
            remote: self.stream.local_addr().unwrap(),
        }
    }

    /// Sends STUN, and waits until the agent hears it.
    fn check(&mut self, plane: &mut UdpPlane) -> Path {
        self.send(&STUN);
        let expected = self.path();
        wait_until("the agent hears a check", || match plane.poll() {
            Some(Event::Punt { kind, path, bytes, .. }) => {
                assert_eq!((kind, path, &bytes[..]), (PuntKind::Stun, expected, &STUN[..]));
                true
            }
            _ => false,
        });
        expected
    }

    fn send(&mut self, datagram: &[u8]) {
        let mut frame = Vec::new();
        framing::write(datagram, &mut frame);
        self.stream.write_all(&frame).unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut buffer = [0; 4_096];
        loop {
            if let Some(datagram) = self.received.pop_front() {
                return datagram;
            }
            let len = self.stream.read(&mut buffer).expect("a datagram within the time");
            assert!(len > 0, "the connection is open");
            let received = &mut self.received;
            self.deframer
                .push(&buffer[..len], |datagram| received.push_back(datagram.to_vec()))
                .unwrap();
        }
    }

    /// Whether the device closes it before it sends anything.
    fn is_closed(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        match self.stream.read(&mut [0; 1]) {
            Ok(len) => len == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// A leg over UDP, and its peer.
fn udp_leg(plane: &mut UdpPlane, id: u32) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let local = SocketAddr::new("127.0.0.1".parse().unwrap(), plane.local_addr().port());
    socket.connect(local).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let path = Path {
        local,
        remote: socket.local_addr().unwrap(),
    };
    set_leg(plane, id, path, Protection::Clear);
    socket
}

/// A leg over TCP, and its peer.
fn tcp_leg(plane: &mut UdpPlane, id: u32) -> TcpPeer {
    let mut peer = TcpPeer::connect(plane, "127.0.0.1");
    let path = peer.check(plane);
    set_leg(plane, id, path, Protection::Clear);
    peer
}

fn sequence(packet: &[u8]) -> u16 {
    RtpPacket::parse(packet).unwrap().sequence().0
}

fn receive_udp(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2_000];
    let len = socket.recv(&mut buffer).expect("a datagram within the time");
    buffer[..len].to_vec()
}

fn wait_applied(plane: &UdpPlane) {
    wait_until("the entries are applied", || plane.is_applied());
}

#[test]
fn media_passes_between_udp_and_connections() {
    for (bind, workers) in [("127.0.0.1:0", 1), ("[::]:0", 3)] {
        let mut plane = start(bind, workers);
        let by_udp = udp_leg(&mut plane, 0);
        set_stream(&mut plane, stream_key(0, VIDEO), video());
        let mut by_tcp: Vec<TcpPeer> = (1..=4).map(|id| tcp_leg(&mut plane, id)).collect();
        for id in 1..=4 {
            set_replica(&mut plane, id, replica(id, 1_000 * id, stream_key(0, VIDEO)));
        }
        set_stream(&mut plane, stream_key(1, OTHER_VIDEO), video());
        set_replica(&mut plane, 10, replica(0, 9_000, stream_key(1, OTHER_VIDEO)));
        wait_applied(&plane);
        for first in (0..100).step_by(20) {
            // Sockets' buffers need not hold more.
            for number in first..first + 20 {
                by_udp.send(&vp8(VIDEO, number, KEY_FRAME, 1_000)).unwrap();
                by_tcp[0].send(&vp8(OTHER_VIDEO, number, KEY_FRAME, 900));
            }
            for number in first..first + 20 {
                for peer in &mut by_tcp {
                    assert_eq!(sequence(&peer.receive()), 100 + number);
                }
                assert_eq!(sequence(&receive_udp(&by_udp)), 100 + number);
            }
        }
        assert_eq!(plane.counters()[Counter::SendFailed], 0);
    }
}

#[test]
fn a_leg_moves_to_a_connection_of_any_worker() {
    let mut plane = start("127.0.0.1:0", 3);
    let publisher = udp_leg(&mut plane, 0);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    let receiver = udp_leg(&mut plane, 1);
    set_replica(&mut plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    wait_applied(&plane);
    publisher.send(&vp8(VIDEO, 0, KEY_FRAME, 500)).unwrap();
    assert_eq!(sequence(&receive_udp(&receiver)), 100);
    // One connection for each worker, and one more.
    for number in 1..=4 {
        let mut peer = TcpPeer::connect(&plane, "127.0.0.1");
        let path = peer.check(&mut plane);
        set_leg(&mut plane, 1, path, Protection::Clear);
        wait_applied(&plane);
        publisher.send(&vp8(VIDEO, number, KEY_FRAME, 500)).unwrap();
        assert_eq!(sequence(&peer.receive()), 100 + number);
    }
}

#[test]
fn an_answer_reaches_a_connection_that_is_no_legs() {
    let mut plane = start("[::]:0", 3);
    for ip in ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.1"] {
        let mut peer = TcpPeer::connect(&plane, ip);
        let path = peer.check(&mut plane);
        plane.inject(Instant::now(), Inject::Datagram { path, bytes: b"answer" });
        assert_eq!(peer.receive(), b"answer");
    }
}

#[test]
fn a_connection_begins_with_stun_and_keeps_to_the_size_of_datagrams() {
    let mut plane = start("127.0.0.1:0", 2);
    let mut other = TcpPeer::connect(&plane, "127.0.0.1");
    other.send(&vp8(VIDEO, 0, KEY_FRAME, 100));
    assert!(other.is_closed(), "media before a check");
    let mut http = TcpPeer::connect(&plane, "127.0.0.1");
    http.stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(http.is_closed(), "another protocol");
    let mut peer = TcpPeer::connect(&plane, "127.0.0.1");
    peer.check(&mut plane);
    peer.stream.write_all(&[0xff, 0xff]).unwrap();
    assert!(peer.is_closed(), "a frame of 65 535 bytes");
}

/// How many connections were closed because they sent something other than STUN.
fn not_stun(plane: &UdpPlane) -> u64 {
    let families = plane
        .statistics()
        .into_iter()
        .flat_map(|statistics| statistics.families());
    let mut samples = families.flat_map(|family| family.samples);
    let is_not_stun = |sample: &Sample| sample.labels.iter().any(|(_, value)| value == "not_stun");
    samples.find(is_not_stun).expect("there is a TCP port").value
}

#[test]
fn a_connection_sends_only_stun_until_it_is_a_legs() {
    for workers in [1, 3] {
        let mut plane = start("127.0.0.1:0", workers);
        let mut refused: Vec<TcpPeer> = (0..3).map(|_| TcpPeer::connect(&plane, "127.0.0.1")).collect();
        for peer in &mut refused {
            peer.check(&mut plane);
            peer.check(&mut plane);
            peer.send(&vp8(VIDEO, 0, KEY_FRAME, 100));
        }
        assert!(refused.iter_mut().all(TcpPeer::is_closed));
        wait_until("all are counted", || not_stun(&plane) == 3);
        // A leg's may send media as soon as its check is answered.
        for id in 0..20 {
            let mut peer = tcp_leg(&mut plane, id);
            for answer in [&b"first"[..], b"second"] {
                let path = peer.path();
                plane.inject(Instant::now(), Inject::Datagram { path, bytes: answer });
                assert_eq!(peer.receive(), answer);
                peer.send(&vp8(VIDEO, 0, KEY_FRAME, 100));
            }
        }
        assert_eq!(not_stun(&plane), 3);
    }
}

#[test]
fn silent_and_slow_connections_are_closed() {
    let plane = start("127.0.0.1:0", 1);
    let mut silent = TcpPeer::connect(&plane, "127.0.0.1");
    let mut slow = TcpPeer::connect(&plane, "127.0.0.1");
    slow.stream.write_all(&[0, 20, 0]).unwrap();
    assert!(silent.is_closed());
    assert!(slow.is_closed());
}

#[test]
fn a_slow_receiver_loses_only_its_own_packets() {
    let mut plane = start("127.0.0.1:0", 2);
    let publisher = udp_leg(&mut plane, 0);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    let mut slow = tcp_leg(&mut plane, 1);
    let prompt = udp_leg(&mut plane, 2);
    for id in [1, 2] {
        set_replica(&mut plane, id, replica(id, 1_000 * id, stream_key(0, VIDEO)));
    }
    wait_applied(&plane);
    for number in 0..8_000_u16 {
        publisher.send(&vp8(VIDEO, number, KEY_FRAME, 1_000)).unwrap();
        // Sockets' buffers need not hold more.
        if number % 20 == 19 {
            for earlier in number - 19..=number {
                assert_eq!(sequence(&receive_udp(&prompt)), 100 + earlier);
            }
        }
    }
    assert!(plane.counters()[Counter::SendFailed] > 0);
    // Everything it gets is whole and in order, up to the newest packet that found room.
    let mut last = sequence(&slow.receive());
    assert_eq!(last, 100);
    for _ in 0..100 {
        let next = sequence(&slow.receive());
        assert!(next > last, "{next} after {last}");
        last = next;
    }
}

#[test]
fn the_ports_of_udp_and_tcp_differ() {
    let plane = start("127.0.0.1:0", 1);
    let config = |tcp_port| UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        tcp_port: Some(tcp_port),
        workers: 1,
        ..UdpConfig::default()
    };
    let taken = UdpPlane::start(config(plane.tcp_addrs()[0].port()), clock(), Arc::new(|| {}));
    assert_eq!(
        taken.err().map(|error| error.kind()),
        Some(std::io::ErrorKind::AddrInUse)
    );
    let same = (0..100).find_map(|_| {
        let port = free_port();
        let config = UdpConfig {
            addresses: vec![SocketAddr::new("127.0.0.1".parse().unwrap(), port)],
            ..config(port)
        };
        let error = UdpPlane::start(config, clock(), Arc::new(|| {})).err();
        let kind = error.expect("one port for both").kind();
        // Another program may have the port.
        (kind != std::io::ErrorKind::AddrInUse).then_some(kind)
    });
    assert_eq!(same, Some(std::io::ErrorKind::InvalidInput));
    assert!(start("127.0.0.1:0", 1).statistics().len() == 1);
}

#[test]
fn a_leg_without_a_connection_loses_what_is_sent() {
    let mut plane = start("127.0.0.1:0", 1);
    let peer = tcp_leg(&mut plane, 1);
    drop(peer);
    let publisher = udp_leg(&mut plane, 0);
    set_stream(&mut plane, stream_key(0, VIDEO), video());
    set_replica(&mut plane, 1, replica(1, 1_000, stream_key(0, VIDEO)));
    wait_applied(&plane);
    let mut number = 0;
    wait_until("packets are lost", || {
        publisher.send(&vp8(VIDEO, number, KEY_FRAME, 100)).unwrap();
        number += 1;
        plane.counters()[Counter::SendFailed] > 0
    });
    plane.write(Instant::now(), Update::RemoveLeg(LegId(1))).unwrap();
}
