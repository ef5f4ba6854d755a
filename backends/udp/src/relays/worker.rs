//! A relay shard with a thread, sockets and a clock.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::bypass::BypassPorts;
use super::shard::{RelayShard, RelaySlot, SocketRegistry};
use super::table::Relays;
use super::{BUFFER, RelaySocket, SocketFactory};
use crate::abort::AbortOnPanic;
use crate::clock::now;
use crate::heartbeat::{Heartbeat, Ping};
use crate::net::{EventFd, Poller, PortSocket, PortWatch, RealtimePriority};
use crate::wakeup::Wakeup;

impl RelaySocket for Arc<PortSocket> {
    fn send(&self, to: SocketAddr, tos: Option<u8>, bytes: &[u8]) -> bool {
        PortSocket::send(self, to, tos, bytes)
    }

    fn overflows(&self) -> u64 {
        PortSocket::overflows(self)
    }
}

/// Opens sockets.
#[derive(Default)]
pub(crate) struct PortSockets {
    /// A removed port stays open until its worker has taken the command. If it is opened again
    /// before, it gets the same socket. A call may get a port at once that another one has just
    /// given back, when few are free.
    opened: HashMap<SocketAddr, PortWatch>,
}

impl SocketFactory for PortSockets {
    type Socket = Arc<PortSocket>;

    fn open(&mut self, at: SocketAddr) -> io::Result<Arc<PortSocket>> {
        if let Some(socket) = self.opened.get(&at).and_then(PortWatch::open_or_closed) {
            return Ok(socket);
        }
        let socket = Arc::new(PortSocket::open(at)?);
        self.opened.insert(at, PortWatch::new(&socket));
        Ok(socket)
    }
}

/// The sockets that a worker receives from.
struct WorkerSockets {
    poller: Poller,
    /// Ports whose datagrams bypass their sockets.
    bypass: Option<Arc<BypassPorts>>,
}

impl SocketRegistry<Arc<PortSocket>> for WorkerSockets {
    fn register(&mut self, slot: usize, entry: &RelaySlot<Arc<PortSocket>>) {
        // It fails only for lack of memory, or at the user's limit of watches. The port receives
        // nothing then, and its traffic shows it.
        let _ = self.poller.begin(slot, &entry.socket);
        if let Some(bypass) = &self.bypass {
            bypass.register(entry.at, &entry.port);
        }
    }

    fn unregister(&mut self, entry: &RelaySlot<Arc<PortSocket>>) {
        if let Some(bypass) = &self.bypass {
            bypass.unregister(entry.at, &entry.port);
        }
        self.poller.end(&entry.socket);
    }
}

/// With at most so many ready ports a worker reads up to a batch from each, otherwise one datagram.
/// Most ports have one datagram. If many ports are ready they share the cost of one poll, and a
/// second read of each would mostly find nothing.
const FEW: usize = 4;
const BATCH: usize = 8;

/// Relays on threads, and the handle on them. Dropping it stops the workers and waits for them.
pub(crate) struct RelayWorkers {
    pub(crate) relays: Relays<PortSockets>,
    stop: Arc<AtomicBool>,
    threads: Vec<(EventFd, Option<JoinHandle<()>>)>,
    heartbeats: Vec<Arc<Heartbeat>>,
}

impl RelayWorkers {
    /// Starts as many workers; `agent` is woken when there is an event.
    ///
    /// Errors: the operating system's.
    pub(crate) fn start(
        workers: usize,
        coalesce: Duration,
        realtime: bool,
        bypass: Option<&Arc<BypassPorts>>,
        agent: &Arc<Wakeup>,
    ) -> io::Result<Self> {
        let event_fds = (0..workers)
            .map(|_| EventFd::new())
            .collect::<io::Result<Vec<EventFd>>>()?;
        let wakeups: Vec<Arc<Wakeup>> = event_fds.iter().map(EventFd::to_wakeup).collect();
        let (relays, shards) = Relays::new(PortSockets::default(), &wakeups, agent);
        let mut this = RelayWorkers {
            relays,
            stop: Arc::default(),
            threads: Vec::new(),
            heartbeats: Vec::new(),
        };
        for (index, ((shard, wakeup), event_fd)) in shards.into_iter().zip(wakeups).zip(event_fds).enumerate() {
            let heartbeat = Arc::new(Heartbeat::default());
            this.heartbeats.push(heartbeat.clone());
            let worker = Worker {
                heartbeat,
                shard,
                buffer: [0; BUFFER],
                coalesce,
                realtime: RealtimePriority::new(realtime),
                sockets: WorkerSockets {
                    poller: Poller::new(event_fd.clone())?,
                    bypass: bypass.cloned(),
                },
                wakeup,
                stop: this.stop.clone(),
            };
            let thread = thread::Builder::new().name(format!("relay-{index}"));
            this.threads.push((event_fd, Some(thread.spawn(move || worker.run())?)));
        }
        Ok(this)
    }

    /// Pings all workers.
    pub(crate) fn ping_workers(&self) -> impl Iterator<Item = Ping> {
        let threads = self.threads.iter().zip(&self.heartbeats);
        threads.map(|((event_fd, _), heartbeat)| Ping::send(heartbeat, event_fd))
    }
}

impl Drop for RelayWorkers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.iter().for_each(|(event_fd, _)| event_fd.wake());
        for thread in self.threads.iter_mut().filter_map(|(_, thread)| thread.take()) {
            thread.join().expect("a worker that panics ends the process");
        }
    }
}

/// One worker, to be [`run`](Self::run) on a thread of its own.
struct Worker {
    heartbeat: Arc<Heartbeat>,
    shard: RelayShard<Arc<PortSocket>>,
    buffer: [u8; BUFFER],
    /// How long to wait for more when something has arrived.
    coalesce: Duration,
    realtime: RealtimePriority,
    sockets: WorkerSockets,
    wakeup: Arc<Wakeup>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    /// Forwards packets until told to stop. Each turn reads a few from every port that has some, so
    /// that no call waits for another.
    fn run(mut self) {
        let _guard = AbortOnPanic;
        while !self.stop.load(Ordering::Relaxed) {
            self.heartbeat.beat();
            if self.shard.take_commands(&mut self.sockets) > 0 {
                // Requested reports are sent now, not with the next packet.
                self.shard.settle(now());
            }
            self.wakeup.arm();
            let at_most = match self.shard.has_commands() || self.stop.load(Ordering::Relaxed) {
                true => Some(Duration::ZERO),
                false => self.shard.due().map(|due| due.saturating_duration_since(now())),
            };
            let ready = self.sockets.poller.wait(at_most, self.coalesce);
            self.wakeup.disarm();
            let now = now();
            self.realtime.measure(now);
            let at_once = match ready.clone().nth(FEW) {
                None => BATCH,
                Some(_) => 1,
            };
            for slot in ready {
                for _ in 0..at_once {
                    let Some((len, from)) = self.shard.socket(slot).receive(&mut self.buffer) else {
                        break;
                    };
                    self.shard.packet(now, slot, from, &mut self.buffer, len);
                }
            }
            self.shard.settle(now);
        }
    }
}
