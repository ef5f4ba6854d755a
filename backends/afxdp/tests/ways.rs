//! Paths of packets: by ring where the next hop is known, by socket where it is not, and none is
//! lost.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod support;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use backend_afxdp::{AfxdpError, AfxdpPlane, Counter};
use backend_udp::UdpConfig;
use dataplane::{DataPlane, Event, Protection};
use support::*;
use veth::{Pair, pair_or_skip};

const PATIENCE: Duration = Duration::from_secs(3);

/// A camera at the far end, and one who watches it.
struct Call {
    plane: AfxdpPlane,
    near: SocketAddr,
    camera: UdpSocket,
    receiver: UdpSocket,
    sequence: u16,
}

impl Call {
    fn new(pair: &Pair, receiver: IpAddr) -> Self {
        let mut plane = rings(pair, 1).unwrap_or_else(|error| panic!("{error}"));
        let port = plane.local_addr().port();
        let near = SocketAddr::new(pair.near.address(receiver), port);
        let camera = far_socket(pair, pair.far.address(receiver));
        let receiver = far_socket(pair, receiver);
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        publish(&mut plane, near, camera.local_addr().unwrap());
        watch(&mut plane, 1, near, receiver.local_addr().unwrap(), Protection::Clear);
        while !plane.is_applied() {
            sleep(Duration::from_millis(1));
        }
        Call {
            plane,
            near,
            camera,
            receiver,
            sequence: 0,
        }
    }

    fn count(&self, counter: Counter) -> u64 {
        self.plane.statistics().read()[counter]
    }

    /// Sends one packet and sees it arrive, whichever way.
    fn pass(&mut self, len: usize) {
        self.send(len);
        let mut buffer = [0; 4_096];
        let got = self.receiver.recv(&mut buffer).expect("it arrives");
        // Eight bytes more: a header extension with the transport-wide number.
        assert_eq!(got, len + 8);
        assert_eq!(buffer[20..got], packet(self.sequence, len)[12..], "to the last byte");
    }

    /// Sends one packet; whether it arrived.
    fn try_to_pass(&mut self, len: usize) -> bool {
        self.send(len);
        self.receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let arrived = self.receiver.recv(&mut [0; 4_096]).is_ok();
        self.receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        arrived
    }

    fn send(&mut self, len: usize) {
        self.sequence += 1;
        self.camera.send_to(&packet(self.sequence, len), self.near).unwrap();
    }

    /// Sends packets until they leave by ring, for as long as that may take.
    fn pass_until_by_ring(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let before = self.count(Counter::Sent);
            self.pass(100);
            if self.count(Counter::Sent) > before {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "no ring leads there: {:?}",
                self.plane.statistics().read()
            );
            sleep(Duration::from_millis(2));
        }
    }
}

fn families(pair: &Pair) -> [IpAddr; 2] {
    [pair.far.v4.into(), pair.far.v6.into()]
}

#[test]
fn the_first_packet_is_sent_by_socket_and_the_others_by_ring() {
    let Some(pair) = pair_or_skip(1) else { return };
    for receiver in families(&pair) {
        let mut call = Call::new(&pair, receiver);
        call.pass(1_000);
        assert_eq!((call.count(Counter::SocketNoHop), call.count(Counter::Sent)), (1, 0));
        call.pass_until_by_ring();
        let by_socket = call.count(Counter::SocketNoHop);
        for len in [14, 15, 500, 1_199, 1_200, 1_400] {
            call.pass(len);
        }
        assert_eq!(call.count(Counter::SocketNoHop), by_socket);
        assert!(call.count(Counter::Received) > 7);
    }
}

#[test]
fn datagrams_too_long_for_the_link_are_sent_by_socket_in_fragments() {
    let Some(pair) = pair_or_skip(1) else { return };
    for receiver in families(&pair) {
        let mut call = Call::new(&pair, receiver);
        call.pass_until_by_ring();
        pair.near.ip("link set near0 mtu 1280").unwrap();
        // A packet that just fits on arrival is too long when it is sent with one more header
        // extension.
        let headers = if receiver.is_ipv4() { 28 } else { 48 };
        let deadline = Instant::now() + PATIENCE;
        while call.count(Counter::SocketTooLong) == 0 {
            // Before it was heard of, what does not fit is lost, as to any sender.
            call.try_to_pass(1_280 - headers);
            assert!(Instant::now() < deadline, "the link became narrow");
        }
        call.pass(1_280 - headers);
        let sent = call.count(Counter::Sent);
        call.pass(1_000);
        assert_eq!(call.count(Counter::Sent), sent + 1);
        pair.near.ip("link set near0 mtu 1500").unwrap();
    }
}

#[test]
fn a_route_by_a_gateway_uses_the_gateways_hardware_address() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.far.ip("address add 10.99.0.5/32 dev lo").unwrap();
    pair.near.ip("route add 10.99.0.0/24 via 10.77.0.2").unwrap();
    let mut call = Call::new(&pair, [10, 99, 0, 5].into());
    call.pass_until_by_ring();
    call.pass(1_200);
    assert_eq!(call.count(Counter::SocketTooLong), 0);
    // A route with a limit of its own is kept to.
    pair.near
        .ip("route replace 10.99.0.0/24 via 10.77.0.2 mtu 1000")
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while call.count(Counter::SocketTooLong) == 0 {
        call.pass(1_200);
        assert!(Instant::now() < deadline, "the path became narrow");
    }
}

#[test]
fn a_neighbour_with_another_address_is_followed() {
    let Some(pair) = pair_or_skip(1) else { return };
    let mut call = Call::new(&pair, pair.far.v4.into());
    call.pass_until_by_ring();
    pair.far.ip("link set far0 address 02:00:00:00:00:99").unwrap();
    pair.near
        .ip("neighbour replace 10.77.0.2 lladdr 02:00:00:00:00:99 dev near0 nud reachable")
        .unwrap();
    // Until the change is known, packets are sent to nobody, as by any other sender.
    call.receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        call.send(100);
        if call.receiver.recv(&mut [0; 2_000]).is_ok() {
            break;
        }
        assert!(Instant::now() < deadline, "the new address is not used");
    }
    let sent = call.count(Counter::Sent);
    call.send(100);
    call.receiver.recv(&mut [0; 2_000]).expect("it arrives");
    assert_eq!(call.count(Counter::Sent), sent + 1);
}

#[test]
fn an_unreachable_receiver_causes_no_error() {
    let Some(pair) = pair_or_skip(1) else { return };
    let mut call = Call::new(&pair, pair.far.v4.into());
    call.pass_until_by_ring();
    let near = call.near;
    watch(
        &mut call.plane,
        2,
        near,
        "10.77.0.200:9".parse().unwrap(),
        Protection::Clear,
    );
    watch(
        &mut call.plane,
        3,
        near,
        "192.0.2.1:9".parse().unwrap(),
        Protection::Clear,
    );
    let by_socket = call.count(Counter::SocketNoHop);
    for _ in 0..20 {
        call.pass(300);
    }
    assert_eq!(call.count(Counter::SocketNoHop), by_socket + 40);
}

#[test]
fn bursts_stay_in_order_by_ring_and_by_socket() {
    let Some(pair) = pair_or_skip(1) else { return };
    let mut call = Call::new(&pair, pair.far.v4.into());
    call.pass_until_by_ring();
    // Sizes that make short runs, which go by ring, and in between a long one, which does not.
    let sizes = [300, 900, 200, 700, 700, 700, 700, 250, 1_000, 400, 500];
    let deadline = Instant::now() + 10 * PATIENCE;
    loop {
        let first = call.sequence + 1;
        sizes.iter().for_each(|len| call.send(*len));
        let mut buffer = [0; 2_000];
        for (number, len) in (first..).zip(sizes) {
            let got = call.receiver.recv(&mut buffer).expect("it arrives");
            assert_eq!((got, buffer[got - 1]), (len + 8, number as u8));
        }
        // On a busy machine most bursts are received in parts, which are short runs.
        let counted = call.plane.statistics().read();
        if counted[Counter::Sent] > 100 && counted[Counter::SocketLongRun] > 100 {
            return;
        }
        assert!(Instant::now() < deadline, "{counted:?}");
    }
}

/// Sends from this socket until the plane has heard it.
fn is_heard(plane: &mut AfxdpPlane, peer: &UdpSocket, near: SocketAddr) {
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    let deadline = Instant::now() + PATIENCE;
    loop {
        peer.send_to(&stun, near).unwrap();
        sleep(Duration::from_millis(1));
        let events = std::iter::from_fn(|| plane.poll());
        let is_from =
            |event: &Event| matches!(event, Event::Punt { path, .. } if path.remote == peer.local_addr().unwrap());
        // To the end, so that the next one looks at its own.
        if events.filter(|event| is_from(event)).count() > 0 {
            return;
        }
        assert!(Instant::now() < deadline, "nobody heard it");
    }
}

#[test]
fn few_legs_are_packed_on_the_worker_with_the_ring() {
    let Some(pair) = pair_or_skip(1) else { return };
    let few = UdpConfig {
        pack_legs: 16,
        ..udp(&pair, 3)
    };
    let mut plane = rings_beside(&pair, few).unwrap_or_else(|error| panic!("{error}"));
    let near = SocketAddr::new(pair.near.v4.into(), plane.local_addr().port());
    let peers: Vec<_> = (0..10).map(|_| far_socket(&pair, pair.far.v4.into())).collect();
    for (number, peer) in (0..).zip(&peers) {
        is_heard(&mut plane, peer, near);
        let remote = peer.local_addr().unwrap();
        match number {
            0 => publish(&mut plane, near, remote),
            _ => watch(&mut plane, number, near, remote, Protection::Clear),
        }
    }
    let deadline = Instant::now() + PATIENCE;
    for sequence in 0.. {
        let count = |plane: &AfxdpPlane| plane.statistics().read();
        let before = count(&plane);
        peers[0].send_to(&packet(sequence, 500), near).unwrap();
        sleep(Duration::from_millis(5));
        let after = count(&plane);
        if after[Counter::Sent] == before[Counter::Sent] + 9 {
            break;
        }
        assert!(Instant::now() < deadline, "some go by socket: {after:?}");
    }
}

#[test]
fn an_interface_that_another_leaves_is_waited_for() {
    let Some(pair) = pair_or_skip(1) else { return };
    let start = || rings(&pair, 1);
    let first = start().unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(start().map(drop), Err(AfxdpError::Taken(_))), "it stays");
    let leaves = std::thread::spawn(move || {
        sleep(Duration::from_millis(100));
        drop(first);
    });
    start().unwrap_or_else(|error| panic!("{error}"));
    leaves.join().unwrap();
}

/// Run by the test below, in a process without privileges.
#[test]
#[ignore = "needs to have no privileges"]
fn alone_without_privileges() {
    let config = backend_afxdp::AfxdpConfig {
        interfaces: vec!["near0".to_owned()],
        ..Default::default()
    };
    match AfxdpPlane::start(config, clock(), std::sync::Arc::new(|| {})).map(drop) {
        Err(AfxdpError::NotAllowed(..)) => println!("not allowed, and said so"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_privileges_are_reported() {
    let Some(pair) = pair_or_skip(1) else { return };
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", "alone_without_privileges", "--ignored", "--nocapture"];
    let alone = pair
        .near
        .run(|| Command::new("unshare").arg("--user").arg(this).args(arguments).output());
    let output = alone.expect("unshare is there");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("not allowed, and said so"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
