//! A P4 switch in front of a base without sockets: the driver, the compiled program and the base
//! together.
//!
//! Peers are behind two ports of the switch and the base is behind a third. Datagrams are frames
//! that arrive at a peer's port. A copy must arrive at its receiver's port, with right checksums.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use backend_p4::{Direct, Mac, P4Config, P4Relays, P4Rooms, Port, Replication, Route, Switch};
use backend_udp::InlinePlane;
use dataplane::{Clock, Counter, Counters, DataPlane, Event, Inject, Path, Update, WriteError};
use layered::{RelayLayer, ReplicaLayer};
use veth::frame::Frame;

use super::moves::{Handover, Log, Watched};
use super::{Datagram, Device, STARTED_AT};
use crate::coverage;

/// The port of the host.
const HOST: u16 = 1;

/// The ports of the peers: all others; and the first, the third, the fifth, and those from 32,768
/// on.
const PEERS: [u16; 2] = [2, 3];

/// The longest time that passes between two exchanges of driver and switch.
const TURN: Duration = Duration::from_millis(100);

/// Frames of less than so many bytes are filled behind the datagram when they arrive: of eight one
/// with one of these bytes, and one with six.
const FILLED_MAX: usize = 1_400;
const FILL: u8 = 0xa5;
const FILLED: [usize; 8] = [0, 1, 0, 0, 0, 6, 0, 0];

/// The octet of services of packets that arrive, of which copies have nothing.
const ARRIVING_TOS: u8 = 0xb9;

/// After a leap of more than this, only its end is simulated.
const LEAP_MAX: Duration = Duration::from_secs(120);

/// The driver reads counters as often as this.
const READ_EVERY: Duration = Duration::from_secs(1);

/// A switch whose packets are calls.
pub trait Ports: Switch {
    /// The name in reports.
    fn name(&self) -> String;

    /// Has a frame arrive at a port, and returns the frames that are sent, with their ports.
    fn frame(&mut self, now: Instant, port: u16, bytes: &[u8]) -> Vec<(u16, Vec<u8>)>;

    /// The time is this.
    fn at(&mut self, now: Instant);

    /// Whether the times that it writes into packets are the given ones.
    fn stamps_virtual_time(&self) -> bool;
}

type Plane = RelayLayer<ReplicaLayer<Watched<InlinePlane>, P4Rooms>, P4Relays>;

/// A switch with its driver and a base as a device.
pub struct SwitchDevice<S> {
    switch: S,
    driver: Direct,
    plane: Plane,
    log: Log,
    now: Instant,
    /// The time of the last reading of counters.
    read_at: Instant,
    /// How far the device's clock is ahead of the caller's.
    ahead: Duration,
    /// How long everything waits before each packet.
    lead: Duration,
    sent: Vec<Datagram>,
    events: VecDeque<Event>,
    copied: u64,
    count: Rc<Cell<u64>>,
    taken: u64,
    /// Packets that the base leaves to the switch, and of which the switch has sent no copy.
    unsent: u64,
    /// Packets that the base leaves to the switch.
    left: u64,
    /// Whether the vector itself names a stream that an offload copies.
    is_told: bool,
    /// The octets of services of the next packet, as it arrives and as it is sent.
    tos: (u8, u8),
    /// How many packets have arrived.
    arrived: usize,
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

/// Routes to every address of [`path_of`](crate::step::path_of) and of relays: local ones behind
/// the host's port, some peers behind one port, and all others behind the other.
fn config(replication: Replication) -> P4Config {
    let route = |to: &str, via: Mac| Route {
        to: to.parse().expect("a network"),
        via,
    };
    let port = |port: u16, networks: &[&str]| Port {
        port,
        mac: mac(0x10 + port as u8),
        addresses: Vec::new(),
        routes: networks.iter().map(|to| route(to, mac(0x20 + port as u8))).collect(),
    };
    P4Config {
        switch: "127.0.0.1:9559".parse().expect("an address"),
        device: 1,
        election: 1,
        replication,
        host: HOST,
        ports: vec![
            port(HOST, &["192.0.2.0/24", "2001:db8::/64"]),
            port(PEERS[0], &["0.0.0.0/0", "::/0"]),
            port(
                PEERS[1],
                &[
                    "10.1.0.1/32",
                    "10.1.0.5/32",
                    "2001:db8:1::3/128",
                    "10.1.128.0/17",
                    "2001:db8:1::8000/113",
                ],
            ),
        ],
        rooms: true,
    }
}

fn port_of(ip: IpAddr) -> u16 {
    let odd: [IpAddr; 3] = ["10.1.0.1", "10.1.0.5", "2001:db8:1::3"].map(|text| text.parse().expect("an address"));
    let is_high = match ip {
        IpAddr::V4(ip) => ip.octets()[..2] == [10, 1] && ip.octets()[2] >= 128,
        IpAddr::V6(ip) => ip.segments()[..7] == [0x2001, 0xdb8, 1, 0, 0, 0, 0] && ip.segments()[7] >= 1 << 15,
    };
    if is_high || odd.contains(&ip) {
        PEERS[1]
    } else {
        PEERS[0]
    }
}

impl<S: Ports> SwitchDevice<S> {
    /// A fresh device behind a switch without a program.
    pub fn new(mut switch: S, replication: Replication, now: Instant) -> Self {
        let (driver, relays, rooms) = Direct::new(config(replication), now).unwrap_or_else(|error| panic!("{error}"));
        let clock = Clock {
            origin: now,
            ntp: STARTED_AT,
        };
        let log = Log::default();
        let base = Watched::new(InlinePlane::new(1, clock), log.clone());
        let plane = RelayLayer::new(ReplicaLayer::new(base, rooms), vec![relays]);
        switch.at(now);
        driver.connect(now, &mut switch);
        SwitchDevice {
            switch,
            driver,
            plane,
            log,
            now,
            read_at: now,
            ahead: Duration::ZERO,
            lead: Duration::ZERO,
            sent: Vec::new(),
            events: VecDeque::new(),
            copied: 0,
            count: Rc::default(),
            taken: 0,
            unsent: 0,
            left: 0,
            is_told: false,
            tos: (ARRIVING_TOS, 0),
            arrived: 0,
        }
    }

    /// Packets arrive with this octet of services, and are to be sent with another.
    pub(super) fn set_tos(&mut self, arriving: u8, sent: u8) {
        self.tos = (arriving, sent);
    }

    /// The same, which lets some time pass before each packet, so that replicas that the base has
    /// begun move to the switch.
    #[must_use]
    pub fn patient(mut self) -> Self {
        self.lead = Duration::from_millis(1_100);
        self
    }

    /// The same, which adds the copies that the switch sends to a count.
    #[must_use]
    pub fn counted(mut self, count: Rc<Cell<u64>>) -> Self {
        self.count = count;
        self
    }

    /// How many copies the switch has sent, and of how many packets.
    pub fn copies(&self) -> (u64, u64) {
        (self.copied, self.taken)
    }

    /// Whether the times in all packets are the given ones.
    pub fn stamps_virtual_time(&self) -> bool {
        self.switch.stamps_virtual_time()
    }

    /// Lets time pass, and reads the counters of the switch as often as the driver does.
    fn pass(&mut self, now: Instant) {
        let now = now + self.ahead;
        if now.saturating_duration_since(self.read_at) >= READ_EVERY {
            self.driver.count(self.now, &mut self.switch);
            self.read_at = now;
        }
        if now.saturating_duration_since(self.now) > LEAP_MAX {
            self.now = now - LEAP_MAX;
        }
        while self.now + TURN < now {
            self.now += TURN;
            self.settle();
        }
        self.now = self.now.max(now);
        self.settle();
    }

    /// Has driver, switch and base answer each other until none has anything to say.
    fn settle(&mut self) {
        self.switch.at(self.now);
        loop {
            let mut is_idle = !self.driver.exchange(self.now, &mut self.switch);
            while let Some(event) = self.plane.poll() {
                self.events.push_back(event);
                is_idle = false;
            }
            // The base may have released a replica without an event.
            if is_idle && !self.driver.exchange(self.now, &mut self.switch) {
                return;
            }
        }
    }

    fn has_left(&mut self, port: u16, bytes: &[u8]) {
        let frame = Frame::read(bytes).expect("a datagram");
        let rest = bytes
            .strip_prefix(&frame.bytes()[..])
            .expect("its lengths and checksums");
        assert!(rest.iter().all(|byte| *byte == FILL), "what fills the frame");
        let hardware = (mac(0x20 + port as u8).0, mac(0x10 + port as u8).0);
        assert_eq!((frame.to, frame.from), hardware);
        assert_eq!(frame.ttl, 63, "one router was passed");
        if port == HOST {
            let path = Path {
                local: frame.destination,
                remote: frame.source,
            };
            let now = self.now;
            self.base().packet(now, 0, path, &frame.payload);
            return;
        }
        assert_eq!(port, port_of(frame.destination.ip()));
        assert_eq!(frame.tos, self.tos.1, "the octet of services");
        self.copied += 1;
        self.count.set(self.count.get() + 1);
        self.sent.push(Datagram {
            path: Path {
                local: frame.source,
                remote: frame.destination,
            },
            bytes: frame.payload,
        });
    }

    fn base(&mut self) -> &mut InlinePlane {
        self.plane.base_mut().base_mut().base_mut()
    }

    /// The input of a step takes effect.
    fn mark(&mut self) {
        self.log.borrow_mut().push(Handover::Step);
    }

    /// The moves of replicas since the last call, and the input among them.
    pub fn moves(&mut self) -> Vec<Handover> {
        std::mem::take(&mut self.log.borrow_mut())
    }
}

impl<S: Ports> Device for SwitchDevice<S> {
    fn name(&self) -> String {
        format!("{}, in front of udp without sockets", self.switch.name())
    }

    fn plane(&self) -> coverage::Plane {
        coverage::Plane::Switch
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.pass(now);
        if let Update::SetCopied(_, is_copied) = update {
            self.is_told = is_copied;
        }
        let written = self.plane.write(self.now, update);
        self.mark();
        self.settle();
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.pass(now);
        self.mark();
        self.plane.inject(self.now, what);
        self.settle();
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        self.ahead += self.lead;
        self.pass(now);
        let port = port_of(path.remote.ip());
        let mut frame = Frame::new(path.remote, path.local, bytes);
        (frame.to, frame.from) = (mac(0x10 + port as u8).0, mac(0x20 + port as u8).0);
        frame.tos = self.tos.0;
        self.mark();
        let before = self.copied;
        let left = self.base().counters()[Counter::CopiedByOffload];
        let mut bytes = frame.bytes();
        if bytes.len() < FILLED_MAX {
            bytes.extend(std::iter::repeat_n(FILL, FILLED[self.arrived % FILLED.len()]));
        }
        self.arrived += 1;
        for (port, bytes) in self.switch.frame(self.now, port, &bytes) {
            self.has_left(port, &bytes);
        }
        let counted = self.base().counters()[Counter::CopiedByOffload];
        let left = if self.is_told { 0 } else { counted - left };
        self.left += left;
        if self.copied > before {
            self.taken += 1;
        } else {
            self.unsent += left;
        }
        self.settle();
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let by_base = self.base().take_sent().into_iter();
        let by_base = by_base.map(|egress| Datagram {
            path: egress.path,
            bytes: egress.bytes,
        });
        self.sent.extend(by_base);
        std::mem::take(&mut self.sent)
    }

    fn poll(&mut self) -> Option<Event> {
        self.settle();
        self.events.pop_front()
    }

    fn counters(&mut self) -> Counters {
        self.driver.count(self.now, &mut self.switch);
        let mut counters = self.plane.counters();
        // The switch counts copies, and the reason for each that it does not send.
        counters[Counter::CopiedByOffload] -= self.left;
        counters[Counter::NotSelected] += self.unsent;
        counters
    }
}
