//! Relays over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;
#[path = "support/tos.rs"]
mod tos;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{
    Accept, Counter, DataPlane, Event, Hop, Inject, Path, PuntKind, Relay, RelayProtection, RelayTraffic, Update,
    WriteError,
};
use ports::free_port;
use skip::skipped;
use support::*;
use wire::Ssrc;

const V4: &str = "127.0.0.1";
const V6: &str = "::1";
const STUN: [u8; 20] = [
    0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];
const RTCP: [u8; 8] = [0x80, 0xc9, 0, 1, 0, 0, 0, 7];

struct Net {
    plane: UdpPlane,
    wakes: Arc<AtomicU64>,
    ip: IpAddr,
}

impl Net {
    fn start(ip: &str, workers: usize) -> Self {
        let wakes = Arc::new(AtomicU64::new(0));
        let to_wake = wakes.clone();
        let ip: IpAddr = ip.parse().unwrap();
        let config = UdpConfig {
            addresses: vec![SocketAddr::new(ip, 0)],
            workers,
            ..UdpConfig::default()
        };
        let waker = move || {
            to_wake.fetch_add(1, Ordering::Relaxed);
        };
        let plane = UdpPlane::start(config, clock(), Arc::new(waker)).unwrap();
        Net { plane, wakes, ip }
    }

    /// An address of ours that nobody has.
    fn free(&self) -> SocketAddr {
        SocketAddr::new(self.ip, free_port())
    }

    fn party(&self) -> UdpSocket {
        let socket = UdpSocket::bind((self.ip, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }

    fn set(&mut self, at: SocketAddr, relay: Relay) -> Result<(), WriteError> {
        self.plane.write(Instant::now(), Update::SetRelay(at, Box::new(relay)))
    }

    fn remove(&mut self, at: SocketAddr) -> Result<(), WriteError> {
        self.plane.write(Instant::now(), Update::RemoveRelay(at))
    }

    fn wait_applied(&self) {
        wait_until("the entries are applied", || self.plane.is_applied());
    }

    fn wait_for(&mut self, counter: Counter, count: u64) {
        wait_until(counter.name(), || self.plane.counters()[counter] >= count);
    }

    fn next_event(&mut self) -> Event {
        let mut event = None;
        wait_until("an event", || {
            event = self.plane.poll();
            event.is_some()
        });
        event.unwrap()
    }
}

/// Takes from `from`, and sends both kinds from `local` to `remote`.
fn relay(from: &UdpSocket, local: SocketAddr, remote: &UdpSocket) -> Relay {
    let hop = Hop {
        path: Path {
            local,
            remote: remote.local_addr().unwrap(),
        },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    Relay {
        accept: Accept::Only(from.local_addr().unwrap()),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(hop.clone()),
        rtcp: Some(hop),
    }
}

fn silent() -> Relay {
    Relay {
        accept: Accept::Nobody,
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: None,
        rtcp: None,
    }
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2_000];
    let (len, from) = socket.recv_from(&mut buffer).expect("a datagram within the time");
    (buffer[..len].to_vec(), from)
}

#[test]
fn packets_are_relayed_both_ways_and_from_the_right_ports() {
    for (ip, workers) in [(V4, 1), (V6, 3)] {
        let mut net = Net::start(ip, workers);
        let (a, b) = (net.free(), net.free());
        let (alice, bob) = (net.party(), net.party());
        net.set(a, relay(&alice, b, &bob)).unwrap();
        net.set(b, relay(&bob, a, &alice)).unwrap();
        net.wait_applied();
        for number in 0..100 {
            let packet = rtp(7, 0, number, &[number as u8; 160]);
            alice.send_to(&packet, a).unwrap();
            assert_eq!(receive(&bob), (packet.clone(), b));
            bob.send_to(&packet, b).unwrap();
            assert_eq!(receive(&alice), (packet, a));
        }
        net.wait_for(Counter::Relayed, 200);
    }
}

#[test]
fn a_hop_marks_its_packets() {
    for ip in [V4, V6] {
        let mut net = Net::start(ip, 1);
        let (a, b) = (net.free(), net.free());
        let (alice, bob) = (net.party(), net.party());
        let mut marked = relay(&alice, b, &bob);
        marked.rtp.as_mut().unwrap().tos = Some(184);
        net.set(b, silent()).unwrap();
        net.set(a, marked).unwrap();
        net.wait_applied();
        // The first arrives before anybody asks for what came with it.
        for packet in [&rtp(7, 0, 0, b"a")[..], &rtp(7, 0, 1, b"b"), &RTCP] {
            alice.send_to(packet, a).unwrap();
            let tos = tos::receive(&bob);
            assert_eq!(tos, if packet == RTCP { 0 } else { 184 }, "{ip}");
        }
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let mut net = Net::start(V4, 1);
    let others = UdpSocket::bind((net.ip, 0)).unwrap();
    let taken = others.local_addr().unwrap();
    assert_eq!(net.set(taken, silent()), Err(WriteError::PortTaken));
    assert_eq!(
        net.set("192.0.2.1:5000".parse().unwrap(), silent()),
        Err(WriteError::PortTaken)
    );
    let own = net.plane.local_addr();
    assert_eq!(net.set(own, silent()), Err(WriteError::PortTaken), "legs have it");
    assert_eq!(net.remove(taken), Err(WriteError::UnknownRelay));
    drop(others);
    assert_eq!(net.set(taken, silent()), Ok(()));
    let bound = UdpSocket::bind(taken).map_err(|error| error.kind());
    assert_eq!(bound.unwrap_err(), io::ErrorKind::AddrInUse, "a silent port is open");
}

#[test]
fn a_port_is_free_again_once_its_relay_is_gone() {
    let mut net = Net::start(V4, 2);
    let (a, b) = (net.free(), net.free());
    let (alice, bob) = (net.party(), net.party());
    for round in 0..50 {
        net.set(a, relay(&alice, b, &bob)).unwrap();
        net.set(b, relay(&bob, a, &alice)).unwrap();
        net.wait_applied();
        let packet = rtp(7, 0, round, b"voice");
        alice.send_to(&packet, a).unwrap();
        assert_eq!(receive(&bob), (packet, b));
        net.remove(a).unwrap();
        net.remove(b).unwrap();
    }
    net.wait_applied();
    // The command was taken; the socket closes right after it.
    wait_until("the port is free", || UdpSocket::bind(a).is_ok());
    wait_until("the other port is free", || UdpSocket::bind(b).is_ok());
}

#[test]
fn the_last_report_counts_everything() {
    let mut net = Net::start(V4, 1);
    let (a, b) = (net.free(), net.free());
    let (alice, bob, carol) = (net.party(), net.party(), net.party());
    net.set(b, silent()).unwrap();
    net.set(a, relay(&alice, b, &bob)).unwrap();
    net.wait_applied();
    let before = Instant::now();
    for number in 0..10 {
        alice.send_to(&rtp(7, 0, number, &[1; 8]), a).unwrap();
        carol.send_to(&rtp(7, 0, number, &[1; 8]), a).unwrap();
    }
    net.wait_for(Counter::Received, 20);
    net.remove(a).unwrap();
    let Event::RelayTraffic { at, traffic, last } = net.next_event() else {
        panic!("a report");
    };
    let expected = RelayTraffic {
        packets: 10,
        bytes: 200,
        dropped: 10,
        ssrc: Some(Ssrc(7)),
        ..RelayTraffic::default()
    };
    assert_eq!((at, traffic), (a, expected));
    assert!(last.is_some_and(|last| last >= before && last <= Instant::now()));
}

#[test]
fn the_agent_is_woken_for_punts_and_soon_for_copies_and_answers_from_the_same_port() {
    let mut net = Net::start(V4, 1);
    let a = net.free();
    let alice = net.party();
    let terminated = Relay {
        terminated: true,
        ..relay(&alice, a, &alice)
    };
    net.set(a, terminated).unwrap();
    net.wait_applied();
    let path = Path {
        local: a,
        remote: alice.local_addr().unwrap(),
    };
    for (kind, sent) in [(PuntKind::Stun, &STUN[..]), (PuntKind::Rtcp, &RTCP)] {
        assert_eq!(net.plane.poll(), None);
        let wakes = net.wakes.load(Ordering::Relaxed);
        alice.send_to(sent, a).unwrap();
        wait_until("the agent is woken", || net.wakes.load(Ordering::Relaxed) > wakes);
        let Event::Punt {
            kind: got,
            path: from,
            leg,
            bytes,
            ..
        } = net.next_event()
        else {
            panic!("a punt");
        };
        assert_eq!((got, from, leg, &bytes[..]), (kind, path, None, sent));
    }
    assert_eq!(receive(&alice), (RTCP.to_vec(), a), "it passes all the same");
    net.plane
        .inject(Instant::now(), Inject::Datagram { path, bytes: b"answer" });
    assert_eq!(receive(&alice), (b"answer".to_vec(), a));
}

#[test]
fn thousands_of_ports_are_open_at_once() {
    let mut net = Net::start("127.0.0.7", 2);
    let wanted: u16 = 8_000;
    let most = net.plane.capabilities().relays_max;
    if most < wanted.into() {
        let reason = format!("{most} relays at most with the limit of open files this process has");
        return skipped("thousands of ports were not opened", reason);
    }
    let (alice, bob) = (net.party(), net.party());
    let address = |port| SocketAddr::new(net.ip, port);
    // Below the ports that the system hands out by itself.
    let ports: Vec<SocketAddr> = (20_000..20_000 + wanted).map(address).collect();
    for pair in ports.chunks(2) {
        net.set(pair[0], relay(&alice, pair[1], &bob)).unwrap();
        net.set(pair[1], relay(&bob, pair[0], &alice)).unwrap();
    }
    net.wait_applied();
    for (number, pair) in ports.chunks(2).enumerate() {
        let packet = rtp(7, 0, number as u16, b"voice");
        alice.send_to(&packet, pair[0]).unwrap();
        assert_eq!(receive(&bob), (packet, pair[1]));
    }
    net.wait_for(Counter::Relayed, u64::from(wanted / 2));
    for port in &ports {
        net.remove(*port).unwrap();
    }
}
