//! Datagrams of relays that a network receives before the ports' own sockets.
//!
//! A port still belongs to one relay shard, which applies entries, reports, and receives from its
//! socket. A datagram of the [`RtpBypass`] arrives at any worker, and this worker forwards it under
//! the port's lock. Handing it over to the relay shard would cost more, and the two meet only where
//! a call's RTCP arrives at the same time as its RTP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use dataplane::{Counter, Path};

use super::port::{LockedPort, PacketContext, Port, lock};
use super::shard::RelayShardCommand;
use super::{BUFFER, RelayEgress, RelaySocket};
use crate::channel::CounterPage;
use crate::channel::Reports;
use crate::channel::{WorkerEnds, WorkerLink};
use crate::hash::Mixed;
use crate::net::{Network, PortSocket};

/// The smallest number of cached ports at which closed ones are dropped.
const FORGOTTEN_MIN: usize = 256;

/// Receives the RTP of relays from some interfaces, in place of their sockets.
pub trait RtpBypass: Send + Sync {
    /// Datagrams for the relay at `at` may bypass its socket from now on. All others still arrive
    /// there.
    fn open(&self, at: SocketAddr);

    /// Datagrams for `at` do not bypass its socket any more.
    fn close(&self, at: SocketAddr);
}

type BypassSocket = Arc<PortSocket>;
/// A port that a relay shard owns.
type KnownPort = Weak<Mutex<Port<BypassSocket>>>;
/// A link without commands.
pub(crate) type BypassLink = WorkerLink<RelayShardCommand<BypassSocket>>;

/// All ports whose datagrams bypass sockets, of all relay shards.
///
/// A port that belonged to one relay shard may belong to another before the first has removed it.
/// The newest owner counts.
pub(crate) struct BypassPorts {
    bypass: Arc<dyn RtpBypass>,
    /// The port of legs. A relay at another local address may have the same number; its socket
    /// receives for it.
    media_port: u16,
    ports: Mutex<HashMap<SocketAddr, KnownPort>>,
}

impl BypassPorts {
    pub(crate) fn new(bypass: Arc<dyn RtpBypass>, media_port: u16) -> Self {
        BypassPorts {
            bypass,
            media_port,
            ports: Mutex::default(),
        }
    }

    pub(super) fn register(&self, at: SocketAddr, port: &LockedPort<BypassSocket>) {
        if at.port() != self.media_port {
            self.with(|ports| {
                ports.insert(at, Arc::downgrade(port));
                self.bypass.open(at);
            });
        }
    }

    pub(super) fn unregister(&self, at: SocketAddr, port: &LockedPort<BypassSocket>) {
        self.with(|ports| {
            if ports.get(&at).is_some_and(|known| known.as_ptr() == Arc::as_ptr(port)) {
                self.bypass.close(at);
                ports.remove(&at);
            }
        });
    }

    fn find(&self, at: SocketAddr) -> Option<LockedPort<BypassSocket>> {
        self.with(|ports| ports.get(&at).and_then(Weak::upgrade))
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<SocketAddr, KnownPort>) -> T) -> T {
        change(&mut self.ports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One worker's part: datagrams for relays in, datagrams out through the worker's network where it
/// can send them, and through the ports' sockets where it cannot.
pub(crate) struct BypassWorker {
    bypass: Arc<BypassPorts>,
    /// A cache, which does not keep ports open.
    known: HashMap<SocketAddr, KnownPort, Mixed>,
    forget_at: usize,
    outbox: Outbox,
    buffer: [u8; BUFFER],
    reports: Reports,
    counters: Arc<CounterPage>,
}

impl BypassWorker {
    pub(crate) fn new(bypass: Arc<BypassPorts>, ends: WorkerEnds<RelayShardCommand<BypassSocket>>) -> Self {
        BypassWorker {
            bypass,
            known: HashMap::default(),
            forget_at: FORGOTTEN_MIN,
            outbox: Outbox::default(),
            buffer: [0; BUFFER],
            reports: ends.reports,
            counters: ends.counters,
        }
    }

    /// Takes a datagram if it is for a relay. The next [`flush`](Self::flush) sends the result.
    pub(crate) fn take(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        if path.local.port() == self.bypass.media_port {
            return false;
        }
        let Some(port) = self.find(path.local) else {
            return false;
        };
        let kept = datagram.len().min(BUFFER);
        self.buffer[..kept].copy_from_slice(&datagram[..kept]);
        let mut context = PacketContext {
            now,
            reports: &mut self.reports,
            counters: &self.counters,
        };
        let mut port = lock(&port);
        if port.is_gone {
            return false;
        }
        port.packet(
            &mut context,
            &mut self.outbox,
            path.remote,
            &mut self.buffer,
            datagram.len(),
        );
        true
    }

    /// Sends the results of datagrams taken since the last time.
    pub(crate) fn flush(&mut self, network: &mut impl Network) {
        if self.outbox.sends.is_empty() {
            return;
        }
        let mut start = 0;
        for Sending { socket, path, tos, end } in self.outbox.sends.drain(..) {
            let datagram = &self.outbox.bytes[start..end];
            start = end;
            if network.queue(&path, tos, datagram) {
                continue;
            }
            // Earlier queued datagrams may be for the same receiver.
            network.send_queued();
            if !socket.send(path.remote, tos, datagram) {
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

    fn find(&mut self, at: SocketAddr) -> Option<LockedPort<BypassSocket>> {
        if let Some(port) = self.known.get(&at).and_then(Weak::upgrade) {
            return Some(port);
        }
        let port = self.bypass.find(at)?;
        if self.known.len() >= self.forget_at {
            self.known.retain(|_, port| port.strong_count() > 0);
            self.forget_at = FORGOTTEN_MIN.max(2 * self.known.len());
        }
        self.known.insert(at, Arc::downgrade(&port));
        Some(port)
    }
}

/// Datagrams to be sent at the end of a batch.
#[derive(Default)]
struct Outbox {
    /// All datagrams, back to back.
    bytes: Vec<u8>,
    sends: Vec<Sending>,
}

struct Sending {
    socket: BypassSocket,
    path: Path,
    tos: Option<u8>,
    /// The end of its datagram, which begins at the end of the one before.
    end: usize,
}

impl RelayEgress<BypassSocket> for Outbox {
    fn send(&mut self, socket: &BypassSocket, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        self.bytes.extend_from_slice(datagram);
        self.sends.push(Sending {
            socket: socket.clone(),
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

    use super::super::port::{SourceFilter, Unprotect};
    use super::*;

    /// The open ports.
    #[derive(Default)]
    struct Open(Mutex<Vec<SocketAddr>>);

    impl RtpBypass for Open {
        fn open(&self, at: SocketAddr) {
            self.0.lock().unwrap().push(at);
        }

        fn close(&self, at: SocketAddr) {
            self.0.lock().unwrap().retain(|open| *open != at);
        }
    }

    fn port(at: SocketAddr) -> LockedPort<BypassSocket> {
        Arc::new(Mutex::new(Port {
            at,
            filter: SourceFilter::new(Accept::Nobody),
            terminated: false,
            ingress_protection: Unprotect::Clear,
            rtp: None,
            rtcp: None,
            protected_punts: 0,
            traffic: RelayTraffic::default(),
            last: None,
            is_gone: false,
        }))
    }

    #[test]
    fn a_port_that_has_changed_its_relay_shard_stays_open() {
        let open = Arc::new(Open::default());
        let bypass = BypassPorts::new(open.clone(), 7882);
        let at: SocketAddr = "192.0.2.1:20000".parse().unwrap();
        let (first, second) = (port(at), port(at));
        bypass.register(at, &first);
        bypass.register(at, &second);
        bypass.unregister(at, &first);
        assert!(!open.0.lock().unwrap().is_empty());
        assert!(Arc::ptr_eq(&bypass.find(at).unwrap(), &second));
        bypass.unregister(at, &second);
        assert!(open.0.lock().unwrap().is_empty() && bypass.find(at).is_none());
    }

    #[test]
    fn the_media_port_is_not_bypassed() {
        let open = Arc::new(Open::default());
        let bypass = BypassPorts::new(open.clone(), 7882);
        let at: SocketAddr = "192.0.2.1:7882".parse().unwrap();
        let relay = port(at);
        bypass.register(at, &relay);
        assert!(open.0.lock().unwrap().is_empty());
        bypass.unregister(at, &relay);
    }
}
