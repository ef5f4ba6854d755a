//! Relays' datagrams that a network takes before the ports' own sockets see them.
//!
//! A port is still one desk's: entries, reports and whatever comes by its socket. What a [`Tap`]
//! takes comes to whichever worker the device hands it to, and that worker does all there is to do
//! to it, under the port's lock: handing it over to the desk would cost more, and the two meet only
//! where a call's RTCP arrives at the same moment as its RTP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use dataplane::{Counter, Path};

use super::desk::RelayShardCommand;
use super::port::{Ledger, LockedPort, Port, lock};
use super::{BUFFER, Door, Outlet};
use crate::control::{WorkerEnds, WorkerLink};
use crate::net::PortSocket;
use crate::shard::counters::CounterPage;
use crate::shard::hash::Mixed;
use crate::shard::reports::Reports;
use crate::worker::Network;

/// With so many ports known that are gone, it is time to forget them.
const FORGOTTEN_MIN: usize = 256;

/// Takes the RTP of relays off some interfaces.
pub trait Tap: Send + Sync {
    /// From now on, what arrives for the relay at `at` may be taken. Whatever is not still comes to
    /// its socket.
    fn open(&self, at: SocketAddr);

    /// No more.
    fn close(&self, at: SocketAddr);
}

type Doorway = Arc<PortSocket>;
/// A port that is somebody else's to keep.
type KnownPort = Weak<Mutex<Port<Doorway>>>;
/// A link that no orders travel by.
pub(crate) type TakerLink = WorkerLink<RelayShardCommand<Doorway>>;

/// Every port that datagrams are taken for, whoever's it is.
///
/// A port that was one desk's may be another's before the first has let go of it; what is said here
/// is always about the newest.
pub(crate) struct Tapped {
    tap: Arc<dyn Tap>,
    /// Where legs are. A relay at another of our addresses may have the same number; it is left to
    /// its socket.
    media_port: u16,
    ports: Mutex<HashMap<SocketAddr, KnownPort>>,
}

impl Tapped {
    pub(crate) fn new(tap: Arc<dyn Tap>, media_port: u16) -> Self {
        Tapped {
            tap,
            media_port,
            ports: Mutex::default(),
        }
    }

    pub(super) fn begin(&self, at: SocketAddr, port: &LockedPort<Doorway>) {
        if at.port() != self.media_port {
            self.with(|ports| {
                ports.insert(at, Arc::downgrade(port));
                self.tap.open(at);
            });
        }
    }

    pub(super) fn end(&self, at: SocketAddr, port: &LockedPort<Doorway>) {
        self.with(|ports| {
            if ports.get(&at).is_some_and(|known| known.as_ptr() == Arc::as_ptr(port)) {
                self.tap.close(at);
                ports.remove(&at);
            }
        });
    }

    fn find(&self, at: SocketAddr) -> Option<LockedPort<Doorway>> {
        self.with(|ports| ports.get(&at).and_then(Weak::upgrade))
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<SocketAddr, KnownPort>) -> T) -> T {
        change(&mut self.ports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One worker's part: datagrams for relays in, datagrams out through the worker's network where it
/// can, by the ports' sockets where it cannot.
pub(crate) struct Taker {
    tapped: Arc<Tapped>,
    /// Found before. Does not keep ports open.
    known: HashMap<SocketAddr, KnownPort, Mixed>,
    forget_at: usize,
    outbox: Outbox,
    buffer: [u8; BUFFER],
    reports: Reports,
    counters: Arc<CounterPage>,
}

impl Taker {
    pub(crate) fn new(tapped: Arc<Tapped>, ends: WorkerEnds<RelayShardCommand<Doorway>>) -> Self {
        Taker {
            tapped,
            known: HashMap::default(),
            forget_at: FORGOTTEN_MIN,
            outbox: Outbox::default(),
            buffer: [0; BUFFER],
            reports: ends.reports,
            counters: ends.counters,
        }
    }

    /// Takes a datagram if it is for a relay. What it makes of it leaves with the next
    /// [`flush`](Self::flush).
    pub(crate) fn take(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        if path.local.port() == self.tapped.media_port {
            return false;
        }
        let Some(port) = self.find(path.local) else {
            return false;
        };
        let kept = datagram.len().min(BUFFER);
        self.buffer[..kept].copy_from_slice(&datagram[..kept]);
        let mut ledger = Ledger {
            now,
            reports: &mut self.reports,
            counters: &self.counters,
        };
        let mut port = lock(&port);
        if port.is_gone {
            return false;
        }
        port.packet(
            &mut ledger,
            &mut self.outbox,
            path.remote,
            &mut self.buffer,
            datagram.len(),
        );
        true
    }

    /// Sends what datagrams taken since the last time became.
    pub(crate) fn flush(&mut self, network: &mut impl Network) {
        if self.outbox.sends.is_empty() {
            return;
        }
        let mut start = 0;
        for Sending { door, path, tos, end } in self.outbox.sends.drain(..) {
            let datagram = &self.outbox.bytes[start..end];
            start = end;
            if network.queue(&path, tos, datagram) {
                continue;
            }
            // What was queued before may be for the same receiver.
            network.send_queued();
            if !door.send(path.remote, tos, datagram) {
                self.counters.count(Counter::SendFailed);
            }
        }
        network.send_queued();
        self.outbox.bytes.clear();
    }

    /// Ends a batch: wakes the agent if there is something for it.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.reports.settle(now);
    }

    /// When to [`settle`](Self::settle) even if nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.reports.due()
    }

    fn find(&mut self, at: SocketAddr) -> Option<LockedPort<Doorway>> {
        if let Some(port) = self.known.get(&at).and_then(Weak::upgrade) {
            return Some(port);
        }
        let port = self.tapped.find(at)?;
        if self.known.len() >= self.forget_at {
            self.known.retain(|_, port| port.strong_count() > 0);
            self.forget_at = FORGOTTEN_MIN.max(2 * self.known.len());
        }
        self.known.insert(at, Arc::downgrade(&port));
        Some(port)
    }
}

/// What is to leave at the end of a batch.
#[derive(Default)]
struct Outbox {
    /// All datagrams, back to back.
    bytes: Vec<u8>,
    sends: Vec<Sending>,
}

struct Sending {
    door: Doorway,
    path: Path,
    tos: Option<u8>,
    /// Where its datagram ends; it begins where the one before ends.
    end: usize,
}

impl Outlet<Doorway> for Outbox {
    fn send(&mut self, door: &Doorway, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        self.bytes.extend_from_slice(datagram);
        self.sends.push(Sending {
            door: door.clone(),
            path: *path,
            tos,
            end: self.bytes.len(),
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use dataplane::{Accept, RelayTraffic};

    use super::super::port::{Gate, Opens};
    use super::*;

    /// What is open.
    #[derive(Default)]
    struct Open(Mutex<Vec<SocketAddr>>);

    impl Tap for Open {
        fn open(&self, at: SocketAddr) {
            self.0.lock().unwrap().push(at);
        }

        fn close(&self, at: SocketAddr) {
            self.0.lock().unwrap().retain(|open| *open != at);
        }
    }

    fn port(at: SocketAddr) -> LockedPort<Doorway> {
        Arc::new(Mutex::new(Port {
            at,
            gate: Gate::new(Accept::Nobody),
            terminated: false,
            ingress_protection: Opens::Clear,
            rtp: None,
            rtcp: None,
            traffic: RelayTraffic::default(),
            last: None,
            is_gone: false,
        }))
    }

    #[test]
    fn a_port_that_has_changed_desks_stays_open() {
        let open = Arc::new(Open::default());
        let tapped = Tapped::new(open.clone(), 7882);
        let at: SocketAddr = "192.0.2.1:20000".parse().unwrap();
        let (first, second) = (port(at), port(at));
        tapped.begin(at, &first);
        tapped.begin(at, &second);
        tapped.end(at, &first);
        assert!(!open.0.lock().unwrap().is_empty());
        assert!(Arc::ptr_eq(&tapped.find(at).unwrap(), &second));
        tapped.end(at, &second);
        assert!(open.0.lock().unwrap().is_empty() && tapped.find(at).is_none());
    }

    #[test]
    fn the_media_ports_number_is_left_to_sockets() {
        let open = Arc::new(Open::default());
        let tapped = Tapped::new(open.clone(), 7882);
        let at: SocketAddr = "192.0.2.1:7882".parse().unwrap();
        let relay = port(at);
        tapped.begin(at, &relay);
        assert!(open.0.lock().unwrap().is_empty());
        tapped.end(at, &relay);
    }
}
