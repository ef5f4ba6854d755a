//! The device: backend-udp's workers, on rings.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use backend_udp::{RtpBypass, Sockets, UdpConfig, UdpPlane, UdpPorts};
use bpf_retry::unless_taken;
use dataplane::{Capabilities, Clock, Counter, Counters, DataPlane, Event, Inject, Update, WriteError};

use crate::interface::Interface;
use crate::neigh::{Resolver, ResolverThread};
use crate::netlink::Netlink;
use crate::network::RingNetwork;
use crate::program::{ProgramMode, TakenRelays};
use crate::statistics::{Page, Statistics};
use crate::sys::{Mode, Xsk, XskCounts, queues};
use crate::{AfxdpError, Step};

/// The most queues of one interface that are used: the XDP program has that many sockets, and a
/// worker can watch that many.
const QUEUES_MAX: u32 = 64;

/// The addresses of the device, and the interfaces on which it takes packets before the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfxdpConfig {
    /// The sockets beside the rings, and the workers.
    pub udp: UdpConfig,
    /// Interfaces by name, Ethernet all of them. At least one.
    pub interfaces: Vec<String>,
}

/// The properties of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceInfo {
    /// Its name.
    pub interface: String,
    /// How many of its queues have a ring.
    pub queues: u32,
    /// The place where the XDP program runs.
    pub program: ProgramMode,
    /// Whether packets are copied between the driver's memory and ours; without zero-copy they are.
    pub zero_copy: bool,
}

/// The data plane on AF_XDP rings: the agent's handle on workers as [`UdpPlane`] has them, with
/// another network.
///
/// Dropping it stops the workers and detaches the XDP programs.
pub struct AfxdpPlane {
    plane: UdpPlane,
    found: Vec<InterfaceInfo>,
    statistics: Statistics,
    drops: Vec<XskCounts>,
    /// Behind the workers, so that it outlives them; the programs are its own.
    _resolver: ResolverThread,
}

impl AfxdpPlane {
    /// Takes the interfaces, binds the sockets and starts the workers; `waker` as in
    /// [`UdpPlane::start`].
    ///
    /// Errors: the reason why it is impossible. Nothing is left behind then, and [`UdpPlane`] can
    /// be started instead.
    pub fn start(
        config: AfxdpConfig,
        clock: Clock,
        waker: Arc<dyn Fn() + Send + Sync>,
    ) -> Result<AfxdpPlane, AfxdpError> {
        if config.interfaces.is_empty() {
            return Err(AfxdpError::NoInterfaces);
        }
        if config.udp.port_per_worker {
            return Err(AfxdpError::SeveralPorts);
        }
        let workers = config.udp.worker_count().map_err(AfxdpError::Sockets)?;
        let (mut udp_ports, sockets) = UdpPorts::open(&config.udp, workers).map_err(AfxdpError::Sockets)?;
        let mut taken = Taken::new(workers, &config.interfaces, udp_ports.local_addrs())?;
        steer_by_queue(&mut udp_ports, workers, &taken.found)?;
        let interfaces = taken.interfaces.len();
        let has_rings: Vec<_> = taken
            .queues
            .iter()
            .map(|queues| has_rings(queues, interfaces))
            .collect();
        let failed = |error| AfxdpError::of(Step::Routes, "any interface", error);
        let programs = taken
            .interfaces
            .iter_mut()
            .filter_map(|interface| interface.program.take_relays());
        let bypass = Arc::new(Bypass(Mutex::new(programs.collect())));
        let (resolver, next_hops) =
            Resolver::new(taken.netlink, taken.interfaces, has_rings.into_iter()).map_err(failed)?;
        let resolver = resolver.start().map_err(failed)?;
        let pages: Arc<[Arc<Page>]> = (0..workers).map(|_| Arc::new(Page::default())).collect();
        let networks = taken.queues.into_iter().zip(next_hops).zip(sockets).zip(&*pages);
        let networks = networks
            .map(|(((queues, next_hops), sockets), page)| {
                RingNetwork::new(queues, interfaces, next_hops, sockets, page.clone())
            })
            .collect();
        Ok(AfxdpPlane {
            plane: UdpPlane::start_on(&config.udp, udp_ports, networks, Some(bypass), clock, waker)
                .map_err(AfxdpError::Sockets)?,
            found: taken.found,
            statistics: Statistics(pages),
            drops: taken.drops,
            _resolver: resolver,
        })
    }

    /// The first address it is bound to, with its real port.
    pub fn local_addr(&self) -> SocketAddr {
        self.plane.local_addr()
    }

    /// The properties of its interfaces, for the log.
    pub fn found(&self) -> &[InterfaceInfo] {
        &self.found
    }

    /// Counts of packets by ring and by socket.
    pub fn statistics(&self) -> Statistics {
        self.statistics.clone()
    }

    /// As [`UdpPlane::is_applied`].
    pub fn is_applied(&self) -> bool {
        self.plane.is_applied()
    }
}

/// The relays that the programs of all interfaces take for.
struct Bypass(Mutex<Vec<TakenRelays>>);

impl Bypass {
    fn each(&self, change: impl FnMut(&mut TakenRelays)) {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        programs.iter_mut().for_each(change);
    }
}

impl RtpBypass for Bypass {
    fn open(&self, at: SocketAddr) {
        self.each(|program| program.open(at));
    }

    fn close(&self, at: SocketAddr) {
        self.each(|program| program.close(at));
    }
}

/// Interfaces with programs on them and rings bound, before there are workers.
struct Taken {
    netlink: Netlink,
    interfaces: Vec<Interface>,
    found: Vec<InterfaceInfo>,
    /// By worker: its rings, each with its interface.
    queues: Vec<Vec<(usize, Xsk)>>,
    drops: Vec<XskCounts>,
}

impl Taken {
    fn new(workers: usize, names: &[String], local: &[SocketAddr]) -> Result<Self, AfxdpError> {
        let netlink = Netlink::to_ask().map_err(|error| AfxdpError::of(Step::Interface, "any interface", error))?;
        let mut taken = Taken {
            netlink,
            interfaces: Vec::new(),
            found: Vec::new(),
            queues: (0..workers).map(|_| Vec::new()).collect(),
            drops: Vec::new(),
        };
        for name in names {
            taken.take(name, local)?;
        }
        Ok(taken)
    }

    /// One more interface: queue q is that of worker q modulo the number of workers.
    fn take(&mut self, name: &str, local: &[SocketAddr]) -> Result<(), AfxdpError> {
        let failed = |error| AfxdpError::of(Step::Bind, name, error);
        let mut interface = Interface::take(name, local, &mut self.netlink)?;
        let mode = interface.program.mode();
        let room = self
            .queues
            .iter()
            .map(|queues| Sockets::OTHERS_MAX - queues.len())
            .min();
        let count = queues(name).min(QUEUES_MAX).min(room.unwrap_or(0) as u32);
        let mut zero_copy = true;
        for queue in 0..count {
            let ring = bind(interface.index, queue, mode).map_err(failed)?;
            interface.program.redirect(queue, ring.descriptor()).map_err(failed)?;
            zero_copy &= ring.mode() == Mode::ZeroCopy;
            self.drops.push(ring.counts());
            let worker = queue as usize % self.queues.len();
            self.queues[worker].push((self.interfaces.len(), ring));
        }
        interface.look_again(&mut self.netlink);
        self.found.push(InterfaceInfo {
            interface: name.to_owned(),
            queues: count,
            program: mode,
            zero_copy,
        });
        self.interfaces.push(interface);
        Ok(())
    }
}

/// A ring on a queue.
fn bind(interface: u32, queue: u32, mode: ProgramMode) -> io::Result<Xsk> {
    let must_copy = mode == ProgramMode::Generic;
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    unless_taken(|| Xsk::bind(interface, queue, must_copy), is_taken)
}

/// Steers a peer's STUN, DTLS and RTCP to the worker whose ring receives its RTP, so that this
/// worker owns its leg. With fewer queues than workers some workers would be idle: in that case
/// legs are spread as without rings, and workers hand datagrams over to each other.
fn steer_by_queue(udp_ports: &mut UdpPorts, workers: usize, found: &[InterfaceInfo]) -> Result<(), AfxdpError> {
    if workers == 1 || found.iter().any(|found| (found.queues as usize) < workers) {
        return Ok(());
    }
    udp_ports.steer_by_queue().map_err(AfxdpError::Sockets)
}

/// On which of the interfaces these rings are.
fn has_rings(queues: &[(usize, Xsk)], interfaces: usize) -> Vec<bool> {
    let has = |wanted| queues.iter().any(|(interface, _)| *interface == wanted);
    (0..interfaces).map(has).collect()
}

impl fmt::Display for InterfaceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = match self.program {
            ProgramMode::Native => "native",
            ProgramMode::Generic => "generic",
        };
        let copy = if self.zero_copy { "zero-copy" } else { "copy" };
        write!(f, "{}: {} queues, {program}, {copy}", self.interface, self.queues)
    }
}

impl DataPlane for AfxdpPlane {
    fn capabilities(&self) -> Capabilities {
        self.plane.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.plane.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.plane.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.plane.poll()
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.plane.counters();
        counters[Counter::ReceiveOverflow] += self.drops.iter().map(XskCounts::dropped).sum::<u64>();
        counters
    }

    fn statistics(&self) -> Vec<Arc<dyn dataplane::Statistics>> {
        let mut all = self.plane.statistics();
        all.push(Arc::new(self.statistics.clone()));
        all
    }

    fn ping_workers(&mut self) {
        self.plane.ping_workers();
    }

    fn workers_answered(&mut self) -> bool {
        self.plane.workers_answered()
    }
}
