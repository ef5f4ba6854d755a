//! The connections that one worker reads, and its way to all others.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind, Read};
use std::mem;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dataplane::Path;
use dataplane::limits::DATAGRAM_MAX;
use wire::framing::{self, Deframer};
use wire::{PacketKind, classify};

use super::UNCLAIMED_FOR;
use super::connection::Connection;
use super::connection_slots::{Shared, locked};
use super::registry::Registry;
use super::statistics::TcpEvent;
use crate::hash::Mixed;
use crate::net::{Epoll, EventFd, Readiness};
use crate::shard::{Run, Transmit};

/// The most bytes that are read of one connection before the next.
const READ_MAX: usize = 32 << 10;
/// The most frames that are taken of one connection before the next. A full read has as many of 510
/// bytes.
const FRAMES_MAX: usize = 64;
/// The time between two looks for connections that are no leg's.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The connections that a worker is given.
#[derive(Debug)]
pub(crate) struct Intake {
    given: Mutex<Vec<AcceptedConnection>>,
    has_some: AtomicBool,
    /// How many connections the worker reads, or is given.
    connections: AtomicUsize,
    /// Wakes the worker.
    event_fd: EventFd,
}

/// A connection with the bytes that have been read of it.
#[derive(Debug)]
struct AcceptedConnection {
    connection: Arc<Connection>,
    first: Vec<u8>,
}

impl Intake {
    pub(super) fn new(event_fd: EventFd) -> Self {
        Intake {
            given: Mutex::default(),
            has_some: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            event_fd,
        }
    }

    /// How many connections the worker has.
    pub(super) fn len(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Gives the worker a connection, of which `first` has been read.
    pub(super) fn give(&self, connection: Arc<Connection>, first: Vec<u8>) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        locked(&self.given).push(AcceptedConnection { connection, first });
        self.has_some.store(true, Ordering::Release);
        self.event_fd.wake();
    }
}

/// The connections of one worker.
pub(crate) struct TcpWorker {
    /// The local port of every connection.
    port: u16,
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    intake: Arc<Intake>,
    epoll: Epoll,
    /// By their names in the set.
    readers: HashMap<u64, Reader, Mixed>,
    next_name: u64,
    /// The names of those that may have something to read.
    ready: Vec<u64>,
    events: Vec<Readiness>,
    /// The names of those that sent something other than STUN before they were known to be a leg's.
    suspects: HashSet<u64, Mixed>,
    /// Connections that were sent to, whoever reads them.
    known: HashMap<Path, Arc<Connection>, Mixed>,
    /// The bytes that are read of a connection at once.
    buffer: Vec<u8>,
    /// The frames of a run.
    frames: Vec<u8>,
    swept: Option<Instant>,
}

/// The half of a connection that is read.
struct Reader {
    connection: Arc<Connection>,
    deframer: Deframer,
    /// Bytes that were read and have more frames than were taken.
    rest: Vec<u8>,
    /// When it was last known to be a leg's.
    claimed: Instant,
    /// Whether it is among those that may have something to read.
    is_ready: bool,
    /// Whether its other end sends no more.
    is_ended: bool,
}

impl Reader {
    /// Its connection is a leg's.
    fn claim(&mut self, now: Instant) {
        self.claimed = now;
        self.connection.claim();
    }
}

impl TcpWorker {
    /// The part of a worker that is given connections by `intake`.
    ///
    /// Errors: the operating system's.
    pub(super) fn new(
        port: u16,
        shared: Arc<Shared>,
        registry: Arc<Registry>,
        intake: Arc<Intake>,
    ) -> io::Result<Self> {
        Ok(TcpWorker {
            port,
            shared,
            registry,
            intake,
            epoll: Epoll::new()?,
            readers: HashMap::default(),
            next_name: 0,
            ready: Vec::new(),
            events: Vec::new(),
            suspects: HashSet::default(),
            known: HashMap::default(),
            buffer: vec![0; READ_MAX],
            frames: Vec::new(),
            swept: None,
        })
    }

    /// The descriptor that has something to read when a connection has; `None` while there is no
    /// connection, so that it costs nothing. A new one wakes the worker by itself.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        (!self.readers.is_empty()).then(|| self.epoll.raw())
    }

    /// Whether something is known to be there to be read.
    pub(crate) fn has_work(&self) -> bool {
        !self.ready.is_empty() || self.intake.has_some.load(Ordering::Acquire)
    }

    /// When to [`sweep`](Self::sweep) even if nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.swept
            .filter(|_| !self.readers.is_empty() || !self.known.is_empty())
            .map(|swept| swept + SWEEP_EVERY)
    }

    /// Reads what has arrived, a part of each connection, and passes each datagram to `take`.
    /// Returns zero when there was nothing.
    pub(crate) fn receive(&mut self, now: Instant, take: &mut impl FnMut(Path, &[u8])) -> usize {
        let mut received = self.adopt(now, take);
        if self.readers.is_empty() {
            return received;
        }
        self.look();
        let mut ready = mem::take(&mut self.ready);
        ready.retain(|name| self.read(*name, &mut received, take));
        self.ready = ready;
        received
    }

    /// Closes connections that sent something other than STUN and are no leg's. `is_claimed` tells
    /// whether a path is one of a leg. It has to know all legs that the agent had written when the
    /// datagrams were read.
    pub(crate) fn close_suspects(&mut self, now: Instant, mut is_claimed: impl FnMut(&Path) -> bool) {
        for name in mem::take(&mut self.suspects) {
            match self.readers.get_mut(&name) {
                Some(reader) if is_claimed(&reader.connection.path()) => reader.claim(now),
                _ => self.end(name, TcpEvent::NotStun),
            }
        }
    }

    /// Closes connections that are no leg's for too long. `is_claimed` tells whether a path is one
    /// of a leg.
    pub(crate) fn sweep(&mut self, now: Instant, mut is_claimed: impl FnMut(&Path) -> bool) {
        if self.swept.is_some_and(|swept| now < swept + SWEEP_EVERY) {
            return;
        }
        self.swept = Some(now);
        self.known.retain(|_, connection| !connection.is_closed());
        let mut unclaimed = Vec::new();
        for (name, reader) in &mut self.readers {
            if is_claimed(&reader.connection.path()) {
                reader.claim(now);
            } else if now.saturating_duration_since(reader.claimed) >= UNCLAIMED_FOR {
                unclaimed.push(*name);
            }
        }
        for name in unclaimed {
            self.end(name, TcpEvent::Unclaimed);
        }
    }

    /// Whether datagrams of this path go by connections.
    fn carries(&self, path: &Path) -> bool {
        path.local.port() == self.port
    }

    /// Sends a run; returns how many of its datagrams were dropped.
    fn send(&mut self, run: &Run<'_>) -> u64 {
        let Some(connection) = self.find(&run.path) else {
            return run.datagrams().len() as u64;
        };
        self.frames.clear();
        for datagram in run.datagrams() {
            framing::write(datagram, &mut self.frames);
        }
        connection.send(&self.frames)
    }

    fn find(&mut self, path: &Path) -> Option<Arc<Connection>> {
        if let Some(known) = self.known.get(path).filter(|known| !known.is_closed()) {
            return Some(known.clone());
        }
        let found = self.registry.find(path)?;
        self.known.insert(*path, found.clone());
        Some(found)
    }

    /// Takes the connections that it was given.
    fn adopt(&mut self, now: Instant, take: &mut impl FnMut(Path, &[u8])) -> usize {
        if !self.intake.has_some.swap(false, Ordering::Acquire) {
            return 0;
        }
        let given = mem::take(&mut *locked(&self.intake.given));
        let mut received = 0;
        for AcceptedConnection { connection, first } in given {
            let name = self.next_name;
            self.next_name += 1;
            let is_watched = self.epoll.watch_edges(connection.stream().as_raw_fd(), name).is_ok();
            let path = connection.path();
            let mut reader = Reader {
                connection,
                deframer: Deframer::new(DATAGRAM_MAX),
                rest: Vec::new(),
                claimed: now,
                is_ready: false,
                is_ended: false,
            };
            let mut is_suspect = false;
            let pushed = reader.deframer.push(&first, |datagram| {
                received += 1;
                is_suspect |= classify(datagram) != PacketKind::Stun;
                take(path, datagram);
            });
            self.readers.insert(name, reader);
            if is_suspect {
                self.suspects.insert(name);
            }
            match (is_watched, pushed) {
                (true, Ok(())) => {}
                (true, Err(_)) => self.end(name, TcpEvent::TooLong),
                (false, _) => self.end(name, TcpEvent::TooMany),
            }
        }
        received
    }

    /// Asks which connections are ready, and sends what waits for those that take more.
    fn look(&mut self) {
        self.events.clear();
        self.epoll.wait(Some(Duration::ZERO), &mut self.events);
        for event in &self.events {
            let Some(reader) = self.readers.get_mut(&event.name) else {
                continue;
            };
            reader.connection.flush();
            reader.is_ended |= event.is_ended;
            if !mem::replace(&mut reader.is_ready, true) {
                self.ready.push(event.name);
            }
        }
    }

    /// Reads a part of a connection. Whether there may be more.
    fn read(&mut self, name: u64, received: &mut usize, take: &mut impl FnMut(Path, &[u8])) -> bool {
        let Some(reader) = self.readers.get_mut(&name) else {
            return false;
        };
        let path = reader.connection.path();
        let rest = mem::take(&mut reader.rest);
        let bytes = if rest.is_empty() {
            let mut stream = reader.connection.stream();
            let len = match stream.read(&mut self.buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => return true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    reader.is_ready = false;
                    return false;
                }
                Err(_) => 0,
            };
            if len == 0 {
                self.end(name, TcpEvent::Ended);
                return false;
            }
            &self.buffer[..len]
        } else {
            &rest[..]
        };
        *received += 1;
        let (is_claimed, mut is_suspect) = (reader.connection.is_claimed(), false);
        let pushed = reader.deframer.push_some(bytes, FRAMES_MAX, |datagram| {
            *received += 1;
            is_suspect |= !is_claimed && classify(datagram) != PacketKind::Stun;
            take(path, datagram);
        });
        if is_suspect {
            self.suspects.insert(name);
        }
        let Ok(taken) = pushed else {
            self.end(name, TcpEvent::TooLong);
            return false;
        };
        // A part that does not fill the buffer is all there was, but for the end.
        let is_all = rest.is_empty() && taken == bytes.len() && bytes.len() < self.buffer.len();
        reader.rest = bytes[taken..].to_vec();
        reader.is_ready = !is_all || reader.is_ended;
        reader.is_ready
    }

    fn end(&mut self, name: u64, why: TcpEvent) {
        let Some(reader) = self.readers.remove(&name) else {
            return;
        };
        self.epoll.forget(reader.connection.stream().as_raw_fd());
        reader.connection.close();
        self.registry.remove(&reader.connection);
        self.known.remove(&reader.connection.path());
        self.intake.connections.fetch_sub(1, Ordering::Relaxed);
        self.shared.counts.add(reader.connection.reason(why), 1);
    }
}

/// Sends runs of connections by them, and the others by the network beside them.
pub(crate) struct TcpTransmit<'a, N> {
    pub(crate) network: &'a mut N,
    pub(crate) tcp: &'a mut TcpWorker,
}

impl<N: Transmit> Transmit for TcpTransmit<'_, N> {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        let tcp = &mut *self.tcp;
        let mut dropped = 0;
        let others = runs.filter(|run| {
            let is_carried = tcp.carries(&run.path);
            if is_carried {
                dropped += tcp.send(run);
            }
            !is_carried
        });
        let failed = self.network.transmit(others);
        failed + dropped
    }
}
