//! A switch in this process, and the driver of it.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_p4::{Mac, P4Config, P4Relays, P4Rooms, Port, Replication, Route};
use dataplane::{Offload, ReplicaOffload};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use switch_sim::{Options, Output, Server};
use switches::Simulated;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The host behind port 1, and clients behind ports 2 and 3.
pub(crate) const HOST: &str = "10.0.1.9";

/// The longest that is waited for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// A switch of any kind.
pub(crate) struct Switch(RefCell<Box<dyn switches::Switch>>);

impl Switch {
    /// The interpreted program, and BMv2 where it is: a test runs on each.
    pub(crate) fn each(mut test: impl FnMut(&Switch, SocketAddr)) {
        let mut run = |switch: Box<dyn switches::Switch>| {
            let at = switch.address();
            test(&Switch(RefCell::new(switch)), at);
        };
        run(Box::new(Simulated::start(Options::default()).unwrap()));
        if let Some(switch) = switches::bmv2(&[1, 2, 3]) {
            run(Box::new(switch));
        }
    }

    /// An interpreted program that serves at an address, or at any.
    pub(crate) fn start(at: Option<SocketAddr>) -> (Self, SocketAddr) {
        let switch = Restarting::start(at);
        let at = switch.at;
        (Switch(RefCell::new(Box::new(switch))), at)
    }

    /// A packet arrives, for which at least so many are expected; those that are sent, by port.
    pub(crate) fn packet(&self, port: u16, frame: &[u8], expected: usize) -> Vec<(u16, Vec<u8>)> {
        let outputs = self.0.borrow_mut().packet_for(port, frame, expected);
        outputs.into_iter().map(|output| (output.port, output.bytes)).collect()
    }

    /// A packet arrives; nothing is waited for.
    pub(crate) fn send(&self, port: u16, frame: &[u8]) {
        self.0.borrow_mut().send(port, frame);
    }

    /// The frames that were sent since the last look, by port.
    pub(crate) fn frames(&self) -> Vec<(u16, Vec<u8>)> {
        let outputs = self.0.borrow_mut().sent();
        outputs.into_iter().map(|output| (output.port, output.bytes)).collect()
    }

    /// The ports of frames that the controller had it send.
    pub(crate) fn sent(&self) -> Vec<u16> {
        self.0.borrow_mut().sent().iter().map(|output| output.port).collect()
    }
}

/// An interpreted program that serves at an address of its own choice.
struct Restarting {
    at: SocketAddr,
    server: Server,
    runtime: Option<Runtime>,
}

impl Restarting {
    fn start(at: Option<SocketAddr>) -> Self {
        let runtime = Runtime::new().unwrap();
        let at = at.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let listener = until("the address is free", || runtime.block_on(TcpListener::bind(at)).ok());
        let at = listener.local_addr().unwrap();
        let start = Instant::now();
        let server = Server::new(Options::default(), Arc::new(move || start.elapsed()), Arc::new(drop));
        runtime.spawn(server.clone().serve(listener, std::future::pending()));
        Restarting {
            at,
            server,
            runtime: Some(runtime),
        }
    }
}

impl switches::Switch for Restarting {
    fn address(&self) -> SocketAddr {
        self.at
    }

    fn packet(&mut self, port: u16, bytes: &[u8]) -> Vec<Output> {
        self.server.packet(port, bytes)
    }

    fn packet_for(&mut self, port: u16, bytes: &[u8], _count: usize) -> Vec<Output> {
        self.packet(port, bytes)
    }

    fn send(&mut self, port: u16, bytes: &[u8]) {
        self.server.packet(port, bytes);
    }

    fn sent(&mut self) -> Vec<Output> {
        Vec::new()
    }
}

impl Drop for Restarting {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(10));
        }
    }
}

/// The driver of a switch.
pub(crate) struct Driver {
    pub(crate) relays: P4Relays,
    pub(crate) rooms: P4Rooms,
}

impl Driver {
    pub(crate) fn start(at: SocketAddr, replication: Replication) -> Self {
        let (relays, rooms) = backend_p4::start(config(at, replication), Instant::now(), Arc::new(|| {})).unwrap();
        Driver {
            relays,
            rooms: rooms.unwrap(),
        }
    }

    /// Whether the switch is connected and has a lease.
    pub(crate) fn state(&self) -> String {
        let statistics = self.relays.statistics();
        let places = statistics.iter().flat_map(|part| part.places());
        let mut switch = places
            .flat_map(|place| place.lines())
            .filter(|(name, _)| name == "switch");
        switch.next().map(|(_, state)| state).unwrap()
    }

    pub(crate) fn wait_until_connected(&self) {
        until("the switch is connected", || {
            self.state().ends_with(": connected").then_some(())
        });
    }

    /// A sample of `weir_p4_total`.
    pub(crate) fn count(&self, reason: &str) -> u64 {
        self.sample("p4", reason).expect("it is counted")
    }

    /// A sample of `weir_p4_entries`.
    pub(crate) fn entries(&self, table: &str) -> u64 {
        self.sample("p4_entries", table).unwrap_or(0)
    }

    fn sample(&self, family: &str, label: &str) -> Option<u64> {
        let statistics = self.relays.statistics();
        let families = statistics.iter().flat_map(|part| part.families());
        let samples = families.filter(|it| it.name == family).flat_map(|it| it.samples);
        let mut named = samples.filter(|sample| sample.labels[0].1 == label);
        named.next().map(|sample| sample.value)
    }

    /// The next candidate of the rooms.
    pub(crate) fn candidate(&mut self) -> dataplane::Candidate {
        until("there is a candidate", || self.rooms.next_candidate())
    }

    /// The outcome of the next take-over.
    pub(crate) fn taken(&mut self) -> Result<(), dataplane::Refused> {
        until("the take-over is answered", || self.rooms.next_written()).outcome
    }
}

/// Waits until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn config(switch: SocketAddr, replication: Replication) -> P4Config {
    let port = |port: u16| Port {
        port,
        mac: Mac([2, 0, 0, 0, 0, port as u8]),
        addresses: vec![IpAddr::from([10, 0, port as u8, 1])],
        routes: vec![Route {
            to: format!("10.0.{port}.0/24").parse().unwrap(),
            via: Mac([2, 0, 0, 1, 0, port as u8]),
        }],
    };
    P4Config {
        switch,
        device: 1,
        election: 7,
        replication,
        host: 1,
        ports: vec![port(1), port(2), port(3)],
        rooms: true,
    }
}

/// A datagram in a frame.
pub(crate) fn frame(from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
    let [from, to]: [std::net::SocketAddrV4; 2] = [from.parse().unwrap(), to.parse().unwrap()];
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 9, 0, 9], [2, 0, 0, 0, 0, 2])
        .ipv4(from.ip().octets(), to.ip().octets(), 64)
        .udp(from.port(), to.port())
        .write(&mut frame, payload)
        .unwrap();
    frame
}

/// The addresses and the payload of a datagram.
pub(crate) fn datagram(frame: &[u8]) -> (String, String, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (packet.net, packet.transport) else {
        panic!("no datagram")
    };
    let header = ip.header();
    let checksum = udp
        .to_header()
        .calc_checksum_ipv4(&header.to_header(), udp.payload())
        .unwrap();
    assert_eq!(udp.checksum(), checksum);
    assert_eq!(header.ttl(), 63);
    (
        format!("{}:{}", header.source_addr(), udp.source_port()),
        format!("{}:{}", header.destination_addr(), udp.destination_port()),
        udp.payload().to_vec(),
    )
}

/// An RTP packet without extensions.
pub(crate) fn rtp(payload_type: u8, sequence: u16, ssrc: u32) -> Vec<u8> {
    let mut packet = vec![0x80, payload_type];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 960).to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    packet.extend(b"sound");
    packet
}
