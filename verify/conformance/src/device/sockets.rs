//! Back ends as they run: threads and sockets, on the loopback interface or between two namespaces.

mod addresses;
mod judged;
mod peer;
mod running;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Counter, Counters, Event, Inject, Path, Relay, Update, WriteError};
use veth::Pair;
use wire::PacketKind;

use judged::{resends, verdicts};
use peer::Peer;
use running::Running;

use super::{Datagram, Device};
use crate::coverage::Plane;
use crate::step::relay_of;

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

/// A back end with threads as a device. Every peer is a socket of its own.
pub struct SocketDevice {
    name: &'static str,
    is: Plane,
    plane: Box<dyn Running>,
    ground: Ground,
    family: Family,
    /// By the harness's name of their address.
    peers: BTreeMap<SocketAddr, Peer>,
    /// The real addresses of relays.
    relays: BTreeMap<SocketAddr, SocketAddr>,
    /// The octets of services of each relay, by the harness's name of it: that of RTP and others,
    /// and that of RTCP.
    services: BTreeMap<SocketAddr, [u8; 2]>,
    /// The octet of what a relay sends now, if it is known.
    due_tos: Option<u8>,
    sent: Vec<Datagram>,
    events: VecDeque<Event>,
    /// Counts of datagrams that peers sent and got, and of events.
    seen: Seen,
    /// Datagrams that the agent addressed itself, which no counter counts.
    injected: u64,
    was_late: bool,
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
    fn collect(&mut self) {
        for (remote, peer) in &self.peers {
            while let Some(received) = peer.receive() {
                self.seen.got += 1;
                let relay = self.relay_at(received.from);
                if let Some(due) = self.due_tos {
                    assert_eq!(
                        received.tos, due,
                        "the octet of services of what is sent from {relay:?}"
                    );
                }
                let path = Path {
                    local: relay.unwrap_or(peer.device),
                    remote: *remote,
                };
                self.sent.push(Datagram {
                    path,
                    bytes: received.bytes,
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

    /// The octet of services with which a relay sends a datagram, if it sends it.
    fn due(&self, datagram: &Datagram) -> Option<u8> {
        let [rtp, rtcp] = self.services.get(&datagram.path.local)?;
        match wire::classify(&datagram.bytes) {
            PacketKind::Rtcp => Some(*rtcp),
            _ => Some(*rtp),
        }
    }

    /// Entries travel to the workers in their own time.
    fn let_entries_arrive(&self) {
        let started = clock();
        while !self.plane.is_applied() && clock() - started < PATIENCE {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// The octets of services of a relay's two hops; the system's is zero.
fn octets(relay: &Relay) -> [u8; 2] {
    [&relay.rtp, &relay.rtcp].map(|hop| hop.as_ref().and_then(|hop| hop.tos).unwrap_or(0))
}

#[allow(clippy::disallowed_methods, reason = "threads and sockets live in real time")]
fn clock() -> Instant {
    Instant::now()
}

impl Device for SocketDevice {
    fn name(&self) -> String {
        format!("{}, {:?}", self.name, self.family)
    }

    fn plane(&self) -> Plane {
        self.is
    }

    fn write(&mut self, now: Instant, mut update: Update) -> Result<(), WriteError> {
        let mut services = None;
        match &mut update {
            Update::SetLeg(_, leg) => {
                let paths = leg.paths.iter().map(|path| self.real(*path));
                leg.paths = paths.collect();
            }
            Update::SetRelay(at, relay) => {
                services = Some((*at, octets(relay)));
                *at = self.real_entry(*at, relay);
            }
            Update::RemoveRelay(at) => *at = self.real_relay(*at),
            _ => {}
        }
        let plane = &mut self.plane;
        let written = match (&self.ground, &update) {
            // A relay's port is opened where it is written.
            (Ground::Cable(pair), Update::SetRelay(..)) => pair.near.run(|| plane.write(now, update)),
            _ => plane.write(now, update),
        };
        self.services.extend(services.filter(|_| written.is_ok()));
        written
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
        // Of several datagrams nobody knows which is sent when.
        self.due_tos = match datagrams {
            [one] if relay_of(one.path.local).is_some() => self.due(one),
            _ => None,
        };
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
        self.due_tos = None;
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
