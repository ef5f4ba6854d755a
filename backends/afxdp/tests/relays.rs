//! Calls over a cable: their RTP by ring, everything else of them by the ports' own sockets.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod support;
#[path = "../../udp/tests/support/tos.rs"]
mod tos;

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use backend_afxdp::{AfxdpPlane, Counter};
use dataplane::{Accept, DataPlane, Event, Hop, Path, Relay, RelayProtection, RelayTraffic, Update};
use support::*;
use veth::{Pair, pair_or_skip};

const PATIENCE: Duration = Duration::from_secs(5);
const RTCP: [u8; 8] = [0x80, 0xc9, 0, 1, 0, 0, 0, 7];

struct Net<'a> {
    pair: &'a Pair,
    plane: AfxdpPlane,
    /// The next call's first port. Nothing else binds below the ephemeral ports here.
    next_port: Cell<u16>,
}

/// Two phones, and the ports they speak to.
struct Call {
    ports: [SocketAddr; 2],
    phones: [UdpSocket; 2],
    number: u16,
}

impl<'a> Net<'a> {
    fn new(pair: &'a Pair, workers: usize) -> Self {
        let plane = rings(pair, workers).unwrap_or_else(|error| panic!("{error}"));
        Net {
            pair,
            plane,
            next_port: Cell::new(20_000),
        }
    }

    fn count(&self, counter: Counter) -> u64 {
        self.plane.statistics().read()[counter]
    }

    /// A call between phones in one of the families. Nothing is relayed yet.
    fn call(&self, phones: IpAddr) -> Call {
        let near = self.pair.near.address(phones);
        let port = || SocketAddr::new(near, self.next_port.replace(self.next_port.get() + 2));
        let phone = || {
            let socket = far_socket(self.pair, phones);
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        };
        Call {
            ports: [port(), port()],
            phones: [phone(), phone()],
            number: 0,
        }
    }

    fn begin(&mut self, call: &Call, tos: Option<u8>) {
        for (at, relay) in call.relays(tos) {
            let update = Update::SetRelay(at, Box::new(relay));
            let plane = &mut self.plane;
            let written = self.pair.near.run(|| plane.write(Instant::now(), update));
            written.expect("there is room");
        }
        self.wait_applied();
    }

    fn end(&mut self, call: &Call) {
        for at in call.ports {
            self.plane
                .write(Instant::now(), Update::RemoveRelay(at))
                .expect("it is there");
        }
        self.wait_applied();
    }

    fn wait_applied(&self) {
        wait_until("the entries are applied", || self.plane.is_applied());
    }

    /// Has both phones speak until both ways are by ring.
    fn pass_until_by_ring(&self, call: &mut Call) {
        wait_until("rings lead both ways", || {
            let before = self.count(Counter::Sent);
            (0..2).for_each(|phone| call.pass(phone));
            self.count(Counter::Sent) == before + 2
        });
    }

    fn traffic(&mut self, at: SocketAddr) -> RelayTraffic {
        let mut found = None;
        wait_until("a report", || {
            if let Some(Event::RelayTraffic { at: of, traffic, .. }) = self.plane.poll()
                && of == at
            {
                found = Some(traffic);
            }
            found.is_some()
        });
        found.unwrap()
    }
}

impl Call {
    fn relays(&self, tos: Option<u8>) -> [(SocketAddr, Relay); 2] {
        let relay = |from: usize, to: usize| {
            let remote = |phone: usize| self.phones[phone].local_addr().unwrap();
            let hop = Hop {
                path: Path {
                    local: self.ports[to],
                    remote: remote(to),
                },
                egress_protection: RelayProtection::Clear,
                tos,
            };
            let relay = Relay {
                accept: Accept::Only(remote(from)),
                ingress_protection: RelayProtection::Clear,
                terminated: false,
                rtp: Some(hop.clone()),
                rtcp: Some(hop),
            };
            (self.ports[from], relay)
        };
        [relay(0, 1), relay(1, 0)]
    }

    /// Sends the next packet of `phone`.
    fn say(&mut self, phone: usize) -> Vec<u8> {
        self.number += 1;
        let packet = packet(self.number, 172);
        self.phones[phone].send_to(&packet, self.ports[phone]).unwrap();
        packet
    }

    /// Has `phone` say something that the other hears, from the right port.
    fn pass(&mut self, phone: usize) {
        let said = self.say(phone);
        self.hears(1 - phone, &said);
    }

    fn hears(&self, phone: usize, said: &[u8]) {
        let mut buffer = [0; 2_000];
        let (len, from) = self.phones[phone].recv_from(&mut buffer).expect("it arrives");
        assert_eq!((&buffer[..len], from), (said, self.ports[phone]));
    }

    fn hears_nothing(&self, phone: usize) {
        let phone = &self.phones[phone];
        phone.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(phone.recv(&mut [0; 2_000]).is_err());
        phone.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(1));
    }
}

fn families(pair: &Pair) -> [IpAddr; 2] {
    [pair.far.v4.into(), pair.far.v6.into()]
}

#[test]
fn rtp_is_sent_by_ring_and_rtcp_by_socket() {
    let Some(pair) = pair_or_skip(1) else { return };
    for family in families(&pair) {
        let mut net = Net::new(&pair, 1);
        let mut call = net.call(family);
        net.begin(&call, None);
        net.pass_until_by_ring(&mut call);
        let before = (net.count(Counter::Received), net.count(Counter::Sent));
        for _ in 0..100 {
            (0..2).for_each(|phone| call.pass(phone));
        }
        let by_ring = (before.0 + 200, before.1 + 200);
        assert_eq!((net.count(Counter::Received), net.count(Counter::Sent)), by_ring);
        for phone in 0..2 {
            call.phones[phone].send_to(&RTCP, call.ports[phone]).unwrap();
            call.hears(1 - phone, &RTCP);
        }
        assert_eq!((net.count(Counter::Received), net.count(Counter::Sent)), by_ring);
    }
}

#[test]
fn packets_with_a_tos_are_sent_by_ring() {
    let Some(pair) = pair_or_skip(1) else { return };
    for family in families(&pair) {
        let mut net = Net::new(&pair, 1);
        let mut call = net.call(family);
        net.begin(&call, Some(184));
        net.pass_until_by_ring(&mut call);
        let sent = net.count(Counter::Sent);
        call.say(0);
        assert_eq!(tos::receive(&call.phones[1]), 184);
        assert_eq!(net.count(Counter::Sent), sent + 1);
    }
}

#[test]
fn the_last_report_counts_packets_by_ring() {
    let Some(pair) = pair_or_skip(1) else { return };
    let mut net = Net::new(&pair, 1);
    let mut call = net.call(pair.far.v4.into());
    net.begin(&call, None);
    net.pass_until_by_ring(&mut call);
    let stranger = far_socket(&pair, pair.far.v4.into());
    for number in 0..10 {
        stranger.send_to(&packet(number, 50), call.ports[0]).unwrap();
    }
    let dropped = dataplane::Counter::ForeignSource;
    wait_until("strangers are counted", || net.plane.counters()[dropped] == 10);
    net.end(&call);
    let packets = u64::from(call.number / 2);
    let [a, b] = call.ports.map(|at| net.traffic(at));
    assert_eq!((a.packets, a.bytes, a.dropped), (packets, packets * 172, 10));
    assert_eq!((b.packets, b.bytes, b.dropped), (packets, packets * 172, 0));
}

#[test]
fn a_port_is_free_after_its_call() {
    let Some(pair) = pair_or_skip(1) else { return };
    for family in families(&pair) {
        let mut net = Net::new(&pair, 1);
        let mut call = net.call(family);
        net.begin(&call, None);
        net.pass_until_by_ring(&mut call);
        net.end(&call);
        let bind = || UdpSocket::bind(call.ports[0]).ok();
        let mut other = None;
        wait_until("the port is closed", || {
            other = pair.near.run(bind);
            other.is_some()
        });
        let other = other.unwrap();
        other.set_read_timeout(Some(PATIENCE)).unwrap();
        let taken = net.count(Counter::Received);
        let said = call.say(0);
        let mut buffer = [0; 2_000];
        let len = other.recv(&mut buffer).expect("the port's new owner receives it");
        assert_eq!(&buffer[..len], said);
        assert_eq!(net.count(Counter::Received), taken);
        call.hears_nothing(1);
    }
}

/// A packet is handled by the queue where it arrives, whichever worker owns the relay. Calls begin
/// and end meanwhile.
#[test]
fn calls_start_and_end_while_others_continue_at_every_queue() {
    let Some(pair) = pair_or_skip(2) else { return };
    let mut net = Net::new(&pair, 2);
    let mut staying: Vec<Call> = (0..6).map(|_| net.call(pair.far.v4.into())).collect();
    staying.iter().for_each(|call| net.begin(call, None));
    staying.iter_mut().for_each(|call| net.pass_until_by_ring(call));
    for round in 0..60 {
        let mut passing = net.call(families(&pair)[round % 2]);
        net.begin(&passing, None);
        for call in &mut staying {
            let said = call.say(round % 2);
            passing.pass(0);
            passing.pass(1);
            call.hears(1 - round % 2, &said);
        }
        // Said and never heard: the call ends under it.
        (0..2).for_each(|phone| drop(passing.say(phone)));
        net.end(&passing);
    }
    staying.iter().for_each(|call| call.hears_nothing(0));
    assert!(net.count(Counter::Sent) > 500, "{:?}", net.plane.statistics().read());
    assert_eq!(net.count(Counter::Unreadable), 0);
}

/// A port of a call that has the number of the media port, at another address, is heard by its
/// socket alone.
#[test]
fn the_media_ports_number_at_another_address_is_no_leg() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.near.ip("address add 10.77.0.77/32 dev near0").unwrap();
    let mut net = Net::new(&pair, 1);
    let mut call = net.call(pair.far.v4.into());
    call.ports[0] = SocketAddr::new([10, 77, 0, 77].into(), net.plane.local_addr().port());
    net.begin(&call, None);
    for _ in 0..10 {
        (0..2).for_each(|phone| call.pass(phone));
    }
}
