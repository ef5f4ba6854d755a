//! The thread that opens connections.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dataplane::Path;
use dataplane::limits::DATAGRAM_MAX;
use wire::framing::{self, HEADER};
use wire::{PacketKind, classify};

use super::connection::Connection;
use super::connection_slots::{ConnectionSlot, Shared};
use super::registry::Registry;
use super::statistics::TcpEvent;
use super::worker::Intake;
use super::{DEAD_AFTER, FRAME_MAX, UNOPENED_FOR, UNSENT_MAX};
use crate::abort::AbortOnPanic;
use crate::net::{Epoll, EventFd, Readiness, tune};

/// The event file descriptor's name in the set of watched descriptors. Listeners are named by their
/// places, and connections after them.
const STOP: u64 = u64::MAX;
/// How many connections are accepted before others are looked at.
const ACCEPTED_AT_ONCE: usize = 64;
/// The wait after the system has refused a connection, as it does when too many files are open.
const REFUSED_WAIT: Duration = Duration::from_millis(20);
/// The time between two looks for connections that take too long.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The running thread.
pub(super) struct Acceptor {
    stop: Arc<AtomicBool>,
    event_fd: EventFd,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts it. Each connection is given to the worker that has fewest.
    ///
    /// Errors: the operating system's.
    pub(super) fn start(
        listeners: Vec<TcpListener>,
        shared: Arc<Shared>,
        registry: Arc<Registry>,
        intakes: Vec<Arc<Intake>>,
    ) -> io::Result<Self> {
        let (epoll, event_fd) = (Epoll::new()?, EventFd::new()?);
        epoll.watch(event_fd.raw(), STOP)?;
        for (name, listener) in (0..).zip(&listeners) {
            epoll.watch(listener.as_raw_fd(), name)?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let accepting = Accepting {
            next_name: listeners.len() as u64,
            listeners,
            shared,
            registry,
            intakes,
            epoll,
            unopened: BTreeMap::new(),
            stop: stop.clone(),
        };
        let thread = thread::Builder::new()
            .name("media-tcp".to_owned())
            .spawn(move || accepting.run())?;
        Ok(Acceptor {
            stop,
            event_fd,
            thread: Some(thread),
        })
    }

    /// Ends it, and waits for that.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.event_fd.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a thread that panics ends the process");
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Accepting {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    intakes: Vec<Arc<Intake>>,
    epoll: Epoll,
    /// By name, so the oldest first.
    unopened: BTreeMap<u64, Unopened>,
    next_name: u64,
    stop: Arc<AtomicBool>,
}

/// A connection without a first frame.
struct Unopened {
    stream: Arc<TcpStream>,
    path: Path,
    slot: ConnectionSlot,
    since: Instant,
    /// The bytes that have arrived.
    first: Vec<u8>,
}

/// The verdict on what has arrived of a connection.
enum Opening {
    /// Its first frame is not whole yet.
    Unfinished,
    /// It may be given to a worker.
    Opened,
    /// It is to be closed.
    Refused(TcpEvent),
}

impl Accepting {
    fn run(mut self) {
        let _guard = AbortOnPanic;
        let mut ready: Vec<Readiness> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            ready.clear();
            let at_most = (!self.unopened.is_empty()).then_some(LOOK_EVERY);
            self.epoll.wait(at_most, &mut ready);
            let now = now();
            for Readiness { name, .. } in &ready {
                match usize::try_from(*name) {
                    Ok(listener) if listener < self.listeners.len() => self.accept(now, listener),
                    _ if *name == STOP => {}
                    _ => self.read(*name),
                }
            }
            self.close_slow(now);
        }
    }

    fn accept(&mut self, now: Instant, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listeners[listener].accept() {
                Ok((stream, remote)) => self.admit(now, stream, remote),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The connection has ended already.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(_) => return thread::sleep(REFUSED_WAIT),
            }
        }
    }

    /// Keeps a new connection until its first frame, if it may be one more.
    fn admit(&mut self, now: Instant, stream: TcpStream, remote: SocketAddr) {
        self.shared.counts.add(TcpEvent::Accepted, 1);
        let stream = Arc::new(stream);
        let Some(slot) = self.shared.slot(now, remote.ip(), &stream) else {
            return self.shared.counts.add(TcpEvent::TooMany, 1);
        };
        let Ok(local) = stream.local_addr() else {
            return self.shared.counts.add(TcpEvent::Ended, 1);
        };
        let name = self.next_name;
        self.next_name += 1;
        let is_watched = tune(&stream, UNSENT_MAX, DEAD_AFTER)
            .and_then(|()| self.epoll.watch(stream.as_raw_fd(), name))
            .is_ok();
        if !is_watched {
            return self.shared.counts.add(TcpEvent::Ended, 1);
        }
        let path = Path {
            local: canonical(local),
            remote: canonical(remote),
        };
        let unopened = Unopened {
            stream,
            path,
            slot,
            since: now,
            first: Vec::new(),
        };
        self.unopened.insert(name, unopened);
    }

    /// Reads what has arrived of a connection without a first frame.
    fn read(&mut self, name: u64) {
        let Some(unopened) = self.unopened.get_mut(&name) else {
            return;
        };
        let opening = unopened.read();
        if let Opening::Unfinished = opening {
            return;
        }
        let unopened = self.unopened.remove(&name).expect("it was there");
        self.epoll.forget(unopened.stream.as_raw_fd());
        match opening {
            Opening::Unfinished => {}
            Opening::Refused(why) => self.shared.counts.add(unopened.slot.reason(why), 1),
            Opening::Opened => self.give(unopened),
        }
    }

    /// Gives a connection to the worker that has fewest.
    fn give(&self, unopened: Unopened) {
        let Unopened {
            stream,
            path,
            slot,
            first,
            ..
        } = unopened;
        let connection = Arc::new(Connection::new(path, stream, slot));
        self.registry.insert(connection.clone());
        let intake = self.intakes.iter().min_by_key(|intake| intake.len());
        intake.expect("there is a worker").give(connection, first);
    }

    fn close_slow(&mut self, now: Instant) {
        while let Some(oldest) = self.unopened.first_entry()
            && now.saturating_duration_since(oldest.get().since) >= UNOPENED_FOR
        {
            oldest.remove();
            self.shared.counts.add(TcpEvent::NoFrame, 1);
        }
    }
}

impl Unopened {
    fn read(&mut self) -> Opening {
        let mut buffer = [0; FRAME_MAX];
        match (&*self.stream).read(&mut buffer) {
            Ok(0) => return Opening::Refused(TcpEvent::Ended),
            Ok(len) => self.first.extend_from_slice(&buffer[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Opening::Refused(TcpEvent::Ended),
        }
        match framing::first(&self.first, DATAGRAM_MAX) {
            Ok(None) => Opening::Unfinished,
            Ok(Some(len)) if classify(&self.first[HEADER..len]) == PacketKind::Stun => Opening::Opened,
            Ok(Some(_)) => Opening::Refused(TcpEvent::NotStun),
            Err(_) => Opening::Refused(TcpEvent::TooLong),
        }
    }
}

/// An address as paths have it: an IPv4 address that is mapped is that address.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip if ip == address.ip() => address,
        ip => SocketAddr::new(ip, address.port()),
    }
}

/// The time at which connections are accepted.
#[allow(
    clippy::disallowed_methods,
    reason = "the thread that opens connections closes those that take too long"
)]
fn now() -> Instant {
    Instant::now()
}
