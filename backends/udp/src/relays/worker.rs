//! A desk with a thread, sockets and a clock.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::desk::{Desk, Home, Watch};
use super::table::Relays;
use super::tapped::Tapped;
use super::{BUFFER, Door, Doors};
use crate::net::{EventFd, Poller, PortSocket, RealtimePriority};
use crate::turns::{Asked, Turns};
use crate::wakeup::Wakeup;
use crate::worker::{AbortOnPanic, now, wakeup_by};

impl Door for Arc<PortSocket> {
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
    /// A port that was removed a moment ago stays open until its worker has heard of it; whoever
    /// wants it again before gets the same socket.
    opened: HashMap<SocketAddr, Weak<PortSocket>>,
}

impl Doors for PortSockets {
    type Door = Arc<PortSocket>;

    fn open(&mut self, at: SocketAddr) -> io::Result<Arc<PortSocket>> {
        if let Some(socket) = self.opened.get(&at).and_then(Weak::upgrade) {
            return Ok(socket);
        }
        let socket = Arc::new(PortSocket::open(at)?);
        self.opened.insert(at, Arc::downgrade(&socket));
        Ok(socket)
    }
}

/// What a worker hears datagrams by.
struct Ears {
    poller: Poller,
    /// What takes datagrams before it hears of them.
    tapped: Option<Arc<Tapped>>,
}

impl Watch<Arc<PortSocket>> for Ears {
    fn begin(&mut self, place: usize, home: &Home<Arc<PortSocket>>) {
        // Only a lack of memory, or of what the user may watch, makes it fail; the port is silent
        // then, and its traffic says so.
        let _ = self.poller.begin(place, &home.door);
        if let Some(tapped) = &self.tapped {
            tapped.begin(home.at, &home.port);
        }
    }

    fn end(&mut self, home: &Home<Arc<PortSocket>>) {
        if let Some(tapped) = &self.tapped {
            tapped.end(home.at, &home.port);
        }
        self.poller.end(&home.door);
    }
}

/// How many ports have something when a look for what has is worth more than one datagram of each,
/// and how many it is worth then. Most ports have one; where many have, the look is shared, and
/// asking each in vain for another would cost more.
const FEW: usize = 4;
const BATCH: usize = 8;

/// Relays on threads, and the handle on them. Dropping it stops the workers and waits for them.
pub(crate) struct RelayWorkers {
    pub(crate) relays: Relays<PortSockets>,
    stop: Arc<AtomicBool>,
    threads: Vec<(EventFd, Option<JoinHandle<()>>)>,
    turns: Vec<Arc<Turns>>,
}

impl RelayWorkers {
    /// Starts as many workers; `agent` is raised when there is an event.
    ///
    /// Errors: the operating system's.
    pub(crate) fn start(
        workers: usize,
        coalesce: Duration,
        realtime: bool,
        tapped: Option<&Arc<Tapped>>,
        agent: &Arc<Wakeup>,
    ) -> io::Result<Self> {
        let event_fds = (0..workers)
            .map(|_| EventFd::new())
            .collect::<io::Result<Vec<EventFd>>>()?;
        let wakeups: Vec<Arc<Wakeup>> = event_fds.iter().map(wakeup_by).collect();
        let (relays, desks) = Relays::new(PortSockets::default(), &wakeups, agent);
        let mut this = RelayWorkers {
            relays,
            stop: Arc::default(),
            threads: Vec::new(),
            turns: Vec::new(),
        };
        for (index, ((desk, wakeup), event_fd)) in desks.into_iter().zip(wakeups).zip(event_fds).enumerate() {
            let turns = Arc::new(Turns::default());
            this.turns.push(turns.clone());
            let worker = Worker {
                turns,
                desk,
                buffer: [0; BUFFER],
                coalesce,
                realtime: RealtimePriority::new(realtime),
                ears: Ears {
                    poller: Poller::new(event_fd.clone())?,
                    tapped: tapped.cloned(),
                },
                wakeup,
                stop: this.stop.clone(),
            };
            let thread = thread::Builder::new().name(format!("relay-{index}"));
            this.threads.push((event_fd, Some(thread.spawn(move || worker.run())?)));
        }
        Ok(this)
    }

    /// Asks all workers for a sign of life.
    pub(crate) fn ping_workers(&self) -> impl Iterator<Item = Asked> {
        let threads = self.threads.iter().zip(&self.turns);
        threads.map(|((event_fd, _), turns)| Asked::wake(turns, event_fd))
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
    turns: Arc<Turns>,
    desk: Desk<Arc<PortSocket>>,
    buffer: [u8; BUFFER],
    /// How long to wait for more when something has come.
    coalesce: Duration,
    realtime: RealtimePriority,
    ears: Ears,
    wakeup: Arc<Wakeup>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    /// Moves packets until told to stop. Each turn takes a little from every port that has
    /// something, so that no call waits for another's.
    fn run(mut self) {
        let _guard = AbortOnPanic;
        while !self.stop.load(Ordering::Relaxed) {
            self.turns.begin();
            if self.desk.take_commands(&mut self.ears) > 0 {
                // What was asked for is told now, not with the next packet.
                self.desk.settle(now());
            }
            self.wakeup.arm();
            let at_most = match self.desk.has_commands() || self.stop.load(Ordering::Relaxed) {
                true => Some(Duration::ZERO),
                false => self.desk.due().map(|due| due.saturating_duration_since(now())),
            };
            let ready = self.ears.poller.wait(at_most, self.coalesce);
            self.wakeup.disarm();
            let now = now();
            self.realtime.measure(now);
            let at_once = match ready.clone().nth(FEW) {
                None => BATCH,
                Some(_) => 1,
            };
            for place in ready {
                for _ in 0..at_once {
                    let Some((len, from)) = self.desk.door(place).receive(&mut self.buffer) else {
                        break;
                    };
                    self.desk.packet(now, place, from, &mut self.buffer, len);
                }
            }
            self.desk.settle(now);
        }
    }
}
