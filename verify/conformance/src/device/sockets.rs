//! Back ends as they run: threads and sockets, on the loopback interface or between two namespaces.

mod addresses;
mod judged;
mod running;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_afxdp::{AfxdpConfig, AfxdpError, AfxdpPlane, Statistics};
use backend_ebpf::{EbpfError, RelayConfig, RelayOffload};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, Counter, Counters, DataPlane, Event, Inject, Path, Update, WriteError};
use layered::RelayLayer;
use veth::Pair;

use judged::{resends, verdicts};
use running::Running;

use super::free::once_free;
use super::{Datagram, Device, STARTED_AT};

/// How long to wait for an expected packet.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time without packets after which no more are expected: after one datagram, and after several at
/// once.
const QUIET: Duration = Duration::from_millis(2);
const QUIET_AFTER_BURST: Duration = Duration::from_millis(6);
/// The same before a worker's state is read: a packet that another worker passed to it may still
/// wait, though all other copies are sent.
const QUIET_BEFORE_ASKING: Duration = Duration::from_millis(25);

/// A packet that waits for longer is late for a worker: its replicas may get the lowest layers, of
/// which descriptors tell, though none of its layers is counted as left out.
const LATE: Duration = Duration::from_millis(20);

/// Which addresses the peers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// All IPv4.
    V4,
    /// All IPv6.
    V6,
    /// Each as its path states, at one socket for both.
    Both,
}

/// The network between device and peers.
enum Ground {
    /// Both on the loopback interface.
    Loopback,
    /// At either end of a cable.
    Cable(Arc<Pair>),
}

/// [`UdpPlane`] or [`AfxdpPlane`] as a device. Every peer is a socket of its own.
pub struct SocketDevice {
    name: &'static str,
    plane: Box<dyn Running>,
    ground: Ground,
    family: Family,
    /// By the harness's name of their address.
    peers: BTreeMap<SocketAddr, Peer>,
    /// The real addresses of relays.
    relays: BTreeMap<SocketAddr, SocketAddr>,
    sent: Vec<Datagram>,
    events: VecDeque<Event>,
    /// Counts of datagrams that peers sent and got, and of events.
    seen: Seen,
    /// Datagrams that the agent addressed itself, which no counter counts.
    injected: u64,
    was_late: bool,
}

struct Peer {
    socket: UdpSocket,
    /// The harness's name of the device's address for this peer, but for relays.
    device: SocketAddr,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    sent: u64,
    got: u64,
    /// Anything at all.
    told: u64,
    punts: u64,
}

impl SocketDevice {
    /// [`UdpPlane`] with `workers` threads, on the loopback interface.
    ///
    /// Errors: the operating system's.
    pub fn start(family: Family, workers: usize, origin: Instant) -> io::Result<Self> {
        let address: IpAddr = match family {
            Family::V4 => Ipv4Addr::LOCALHOST.into(),
            Family::V6 => Ipv6Addr::LOCALHOST.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let plane = UdpPlane::start(config(address, workers), clock_from(origin), Arc::new(|| {}))?;
        Ok(Self::new("udp over sockets", Box::new(plane), Ground::Loopback, family))
    }

    /// [`AfxdpPlane`] with `workers` threads, at the near end of a cable; and counts of packets on
    /// its rings.
    ///
    /// Errors: the back end's.
    pub fn start_on_rings(
        pair: Arc<Pair>,
        family: Family,
        workers: usize,
        origin: Instant,
    ) -> Result<(Self, Statistics), AfxdpError> {
        let address: IpAddr = match family {
            Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Family::V6 => pair.near.v6.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let config = AfxdpConfig {
            udp: config(address, workers),
            interfaces: vec![pair.near.interface.to_owned()],
        };
        let clock = clock_from(origin);
        let start = || AfxdpPlane::start(config.clone(), clock, Arc::new(|| {}));
        let is_taken = |error: &AfxdpError| matches!(error, AfxdpError::Taken(_));
        let plane = pair.near.run(|| once_free(is_taken, start))?;
        let statistics = plane.statistics();
        let device = Self::new("afxdp", Box::new(plane), Ground::Cable(pair), family);
        Ok((device, statistics))
    }

    /// [`UdpPlane`] with `workers` threads behind relays in the kernel, at the near end of a cable;
    /// and the program's counts.
    ///
    /// Panics if it fails: a process that may make a cable may make this too.
    pub fn start_behind_kernel(
        pair: Arc<Pair>,
        family: Family,
        workers: usize,
        origin: Instant,
    ) -> (Self, backend_ebpf::Statistics) {
        let address = match family {
            Family::V4 => IpAddr::from(pair.near.v4),
            Family::V6 => pair.near.v6.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let offload = RelayConfig {
            interfaces: vec![pair.near.interface.to_owned()],
            ..RelayConfig::default()
        };
        let plane = pair.near.run(|| {
            let base = UdpPlane::start(config(address, workers), clock_from(origin), Arc::new(|| {}));
            let is_taken = |error: &EbpfError| matches!(error, EbpfError::Taken(_));
            let offload = once_free(is_taken, || RelayOffload::start(&offload, clock()));
            RelayLayer::new(
                base.expect("there are ports"),
                vec![offload.expect("the program can be had here")],
            )
        });
        let statistics = plane.offloads()[0].statistics();
        let device = Self::new("udp behind the kernel", Box::new(plane), Ground::Cable(pair), family);
        (device, statistics)
    }

    fn new(name: &'static str, plane: Box<dyn Running>, ground: Ground, family: Family) -> Self {
        SocketDevice {
            name,
            plane,
            ground,
            family,
            peers: BTreeMap::new(),
            relays: BTreeMap::new(),
            sent: Vec::new(),
            events: VecDeque::new(),
            seen: Seen::default(),
            injected: 0,
            was_late: false,
        }
    }

    fn collect(&mut self) {
        let mut buffer = [0; 4_096];
        for (remote, peer) in &self.peers {
            while let Ok((len, from)) = peer.socket.recv_from(&mut buffer) {
                self.seen.got += 1;
                let path = Path {
                    local: self.relay_at(from).unwrap_or(peer.device),
                    remote: *remote,
                };
                self.sent.push(Datagram {
                    path,
                    bytes: buffer[..len].to_vec(),
                });
            }
        }
        while let Some(mut event) = self.plane.poll() {
            self.seen.told += 1;
            self.seen.punts += u64::from(matches!(event, Event::Punt { .. } | Event::UnknownStream { .. }));
            match &mut event {
                Event::Punt { path, .. } => *path = self.path_of(*path),
                Event::RelaySource { at, from } => {
                    let path = self.path_of(Path {
                        local: *at,
                        remote: *from,
                    });
                    (*at, *from) = (path.local, path.remote);
                }
                Event::RelayTraffic { at, .. } => *at = self.relay_at(*at).unwrap_or(*at),
                _ => {}
            }
            self.events.push_back(event);
        }
    }

    /// Waits until all expected packets have arrived, and then until no more do.
    fn settle(&mut self, quiet: Duration, must: impl Fn(&Counters, Seen) -> bool) {
        let started = clock();
        let mut quiet_since = started;
        let mut last = (self.plane.counters(), self.seen);
        while clock() - started < PATIENCE {
            self.collect();
            let this = (self.plane.counters(), self.seen);
            if this != last {
                (last, quiet_since) = (this, clock());
            }
            let (counters, seen) = &last;
            self.was_late |= !must(counters, *seen) && clock() - started > LATE;
            if clock() - quiet_since >= quiet && must(counters, *seen) && self.complete(counters) {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Whether every packet counted as sent has arrived.
    fn complete(&self, counters: &Counters) -> bool {
        let out = counters[Counter::Forwarded] + counters[Counter::Resent] + counters[Counter::Relayed] + self.injected;
        let punts = [
            Counter::PuntedStun,
            Counter::PuntedDtls,
            Counter::PuntedRtcp,
            Counter::PuntedProtected,
            Counter::PuntedStream,
        ];
        let punted: u64 = punts.iter().map(|counter| counters[*counter]).sum();
        counters[Counter::Received] >= self.seen.sent && self.seen.got >= out && self.seen.punts >= punted
    }

    /// Entries travel to the workers in their own time.
    fn let_entries_arrive(&self) {
        let started = clock();
        while !self.plane.is_applied() && clock() - started < PATIENCE {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

fn config(address: IpAddr, workers: usize) -> UdpConfig {
    UdpConfig {
        addresses: vec![SocketAddr::new(address, 0)],
        workers,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        ..UdpConfig::default()
    }
}

fn clock_from(origin: Instant) -> Clock {
    Clock {
        origin,
        ntp: STARTED_AT,
    }
}

#[allow(clippy::disallowed_methods, reason = "threads and sockets live in real time")]
fn clock() -> Instant {
    Instant::now()
}

impl Device for SocketDevice {
    fn name(&self) -> String {
        format!("{}, {:?}", self.name, self.family)
    }

    fn write(&mut self, now: Instant, mut update: Update) -> Result<(), WriteError> {
        match &mut update {
            Update::SetLeg(_, leg) => {
                let paths = leg.paths.iter().map(|path| self.real(*path));
                leg.paths = paths.collect();
            }
            Update::SetRelay(at, relay) => *at = self.real_entry(*at, relay),
            Update::RemoveRelay(at) => *at = self.real_relay(*at),
            _ => {}
        }
        let plane = &mut self.plane;
        match (&self.ground, &update) {
            // A relay's port is opened where it is written.
            (Ground::Cable(pair), Update::SetRelay(..)) => pair.near.run(|| plane.write(now, update)),
            _ => plane.write(now, update),
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.let_entries_arrive();
        let before = self.plane.counters();
        match what {
            Inject::Datagram { path, bytes } => {
                let path = self.real(path);
                self.injected += 1;
                self.plane.inject(now, Inject::Datagram { path, bytes });
                self.settle(QUIET, |_, _| true);
            }
            Inject::Receive { path, bytes, .. } => {
                let (at, path) = (clock(), self.real(path));
                let judged = verdicts(&before) + 1;
                self.plane.inject(now, Inject::Receive { at, path, bytes });
                self.settle(QUIET, |counters, _| verdicts(counters) >= judged);
            }
            Inject::Resend { sequences, .. } => {
                self.plane.inject(now, what);
                let asked = sequences.len() as u64;
                self.settle(QUIET, |counters, _| resends(counters) >= resends(&before) + asked);
            }
            Inject::Rtcp { .. } => {
                let got = self.seen.got;
                self.plane.inject(now, what);
                let refused = |counters: &Counters| counters[Counter::NotReady] > before[Counter::NotReady];
                self.settle(QUIET, |counters, seen| seen.got > got || refused(counters));
                self.injected += self.seen.got - got;
            }
            Inject::ReportRelay { at } => {
                let at = self.real_relay(at);
                self.plane.inject(now, Inject::ReportRelay { at });
                self.settle(QUIET, |_, _| true);
            }
            Inject::Probe { .. }
            | Inject::Fill { .. }
            | Inject::Report { .. }
            | Inject::Resume { .. }
            | Inject::Release { .. } => {
                self.settle(QUIET_BEFORE_ASKING, |_, _| true);
                self.plane.inject(now, what);
                self.settle(QUIET, |_, _| true);
            }
        }
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.burst(now, &[Datagram { path, bytes }]);
    }

    fn burst(&mut self, _now: Instant, datagrams: &[Datagram]) {
        self.let_entries_arrive();
        let before = verdicts(&self.plane.counters());
        for Datagram { path, bytes } in datagrams {
            let real = self.real(*path);
            self.peers[&path.remote]
                .socket
                .send_to(bytes, real.local)
                .expect("the way is open");
            self.seen.sent += 1;
        }
        let quiet = if datagrams.len() > 1 { QUIET_AFTER_BURST } else { QUIET };
        let judged = before + datagrams.len() as u64;
        self.settle(quiet, |counters, _| verdicts(counters) >= judged);
    }

    fn sent(&mut self) -> Vec<Datagram> {
        self.collect();
        std::mem::take(&mut self.sent)
    }

    fn poll(&mut self) -> Option<Event> {
        self.collect();
        self.events.pop_front()
    }

    fn counters(&mut self) -> Counters {
        self.plane.counters()
    }

    fn has_own_addresses(&self) -> bool {
        false
    }

    fn was_late(&mut self) -> bool {
        self.was_late || self.counters()[Counter::Overloaded] > 0
    }

    fn keeps_virtual_time(&self) -> bool {
        false
    }
}
