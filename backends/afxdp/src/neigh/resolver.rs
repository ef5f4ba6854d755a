//! The thread that asks the kernel, and hears of changes.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dataplane::Path;
use rtrb::{Consumer, Producer, RingBuffer};

use super::{Answer, NeighbourKey, NextHops, Query};
use crate::hop::Hop;
use crate::interface::Interface;
use crate::netlink::{Change, Neighbour, Netlink, Route};
use crate::sys::readable;

/// How many questions, and how many answers, may wait on their way.
const RING: usize = 4_096;
/// The interval between confirmations of neighbours, and between repetitions of answers for which
/// there was no room.
const TICK_MS: i32 = 1_000;
/// How long routes are not asked for again, however often they change.
const CALM: Duration = Duration::from_millis(100);
/// The interval at which workers forget unused paths, and at which routes are asked for again
/// without a known change: a smaller path MTU is not reported.
const TIDY: Duration = Duration::from_secs(30);

/// The resolver, before it runs.
pub(crate) struct Resolver {
    ask: Netlink,
    hear: Netlink,
    bell: UnixStream,
    ringer: UnixStream,
    interfaces: Vec<Interface>,
    workers: Vec<WorkerEnd>,
    neighbours: HashMap<NeighbourKey, Neighbour>,
    /// Routes have changed and have not been read again.
    changed: bool,
    /// Answers of any path may be out of date. Otherwise only new queries need an answer: calls
    /// begin by the hundred a second, and thousands are in progress.
    news: bool,
    looked: Instant,
    tidied: Instant,
}

/// The resolver's state of one worker.
struct WorkerEnd {
    asks: Consumer<Query>,
    told: Producer<Answer>,
    /// By interface: whether the worker has a ring there.
    has_ring: Vec<bool>,
    paths: HashMap<Path, ResolvedPath>,
    /// Those asked for in this turn.
    fresh: Vec<Path>,
}

/// One path a worker asked about.
#[derive(Debug, Default)]
struct ResolvedPath {
    route: Option<Route>,
    /// The last answer; workers begin with none.
    told: Option<Hop>,
}

/// The running resolver; ends when dropped.
pub(crate) struct ResolverThread {
    stop: Arc<AtomicBool>,
    ringer: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Resolver {
    /// A resolver for `interfaces`. For each worker it is told on which of them the worker has a
    /// ring, and gets the worker's ends of the queues.
    pub(crate) fn new(
        ask: Netlink,
        interfaces: Vec<Interface>,
        workers: impl Iterator<Item = Vec<bool>>,
    ) -> io::Result<(Self, Vec<NextHops>)> {
        let (bell, ringer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ringer.set_nonblocking(true)?;
        let (mut ends, mut next_hops) = (Vec::new(), Vec::new());
        for has_ring in workers {
            let (asks, asked) = RingBuffer::new(RING);
            let (told, hears) = RingBuffer::new(RING);
            next_hops.push(NextHops::new(asks, hears, ringer.try_clone()?));
            ends.push(WorkerEnd {
                asks: asked,
                told,
                has_ring,
                paths: HashMap::new(),
                fresh: Vec::new(),
            });
        }
        let resolver = Resolver {
            ask,
            hear: Netlink::to_hear()?,
            bell,
            ringer,
            interfaces,
            workers: ends,
            neighbours: HashMap::new(),
            changed: true,
            news: true,
            looked: now(),
            tidied: now(),
        };
        Ok((resolver, next_hops))
    }

    /// Gives it a thread.
    pub(crate) fn start(mut self) -> io::Result<ResolverThread> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, ringer) = (stop.clone(), self.ringer.try_clone()?);
        let thread = thread::Builder::new().name("next-hops".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                self.turn();
            }
        })?;
        Ok(ResolverThread {
            stop,
            ringer,
            thread: Some(thread),
        })
    }

    fn turn(&mut self) {
        let timeout = if self.changed { CALM.as_millis() as i32 } else { TICK_MS };
        let [rung, _] = readable([self.bell.as_raw_fd(), self.hear.descriptor()], timeout);
        if rung {
            let _ = self.bell.read(&mut [0; 512]);
        }
        let now = now();
        self.hear();
        let tidy = now >= self.tidied + TIDY;
        if tidy {
            self.tidied = now;
            self.tidy();
        }
        if tidy || (self.changed && now >= self.looked + CALM) {
            self.looked = now;
            self.look_again();
        }
        self.take_asks();
        self.make_sure();
        self.answer();
    }

    /// Takes the news. When some was missed, everything may have changed.
    fn hear(&mut self) {
        let (neighbours, changed, news) = (&mut self.neighbours, &mut self.changed, &mut self.news);
        let heard = self.hear.changes(|change| match change {
            Change::Neighbour(neighbour) => {
                if let Some(known) = neighbours.get_mut(&(neighbour.interface, neighbour.address)) {
                    *news |= *known != neighbour;
                    *known = neighbour;
                }
            }
            Change::Ways => *changed = true,
        });
        if heard.is_err() {
            (self.changed, self.news) = (true, true);
            self.neighbours.clear();
        }
    }

    /// Reads interfaces, their addresses and every route again.
    fn look_again(&mut self) {
        (self.changed, self.news) = (false, true);
        for interface in &mut self.interfaces {
            interface.look_again(&mut self.ask);
        }
        for worker in &mut self.workers {
            for (path, asked) in &mut worker.paths {
                asked.route = self.ask.route(path.local.ip(), path.remote.ip());
            }
        }
    }

    fn take_asks(&mut self) {
        for worker in &mut self.workers {
            while let Ok(ask) = worker.asks.pop() {
                match ask {
                    Query::About(path) => {
                        let route = self.ask.route(path.local.ip(), path.remote.ip());
                        worker.paths.insert(path, ResolvedPath { route, told: None });
                        worker.fresh.push(path);
                    }
                    Query::NoMore(path) => drop(worker.paths.remove(&path)),
                }
            }
        }
    }

    /// Asks for neighbours that routes need and that have not been asked for, and has the kernel
    /// confirm those that may be out of date.
    fn make_sure(&mut self) {
        for route in self.workers.iter().flat_map(|worker| worker.open(self.news)) {
            if !self
                .interfaces
                .iter()
                .any(|interface| interface.index == route.interface)
            {
                continue;
            }
            let key = (route.interface, route.via);
            let unknown = Neighbour {
                interface: route.interface,
                address: route.via,
                mac: None,
                stale: false,
            };
            self.neighbours
                .entry(key)
                .or_insert_with(|| self.ask.neighbour(key.0, key.1).unwrap_or(unknown));
        }
        for neighbour in self.neighbours.values_mut() {
            if neighbour.stale || neighbour.mac.is_none() {
                self.ask.confirm(neighbour.interface, neighbour.address);
                // The result arrives as news. Without one, the old state still applies.
                neighbour.stale = false;
            }
        }
    }

    /// Sends the workers all answers that differ from their last ones. An answer that finds no room
    /// is sent in a later turn.
    fn answer(&mut self) {
        let all = std::mem::take(&mut self.news);
        for worker in &mut self.workers {
            let mut answer = |path: Path, asked: &mut ResolvedPath| {
                let route = asked.route.as_ref();
                let hop = route.and_then(|route| hop(&self.interfaces, &worker.has_ring, &self.neighbours, route));
                if hop != asked.told {
                    match worker.told.push(Answer::Path(path, hop)) {
                        Ok(()) => asked.told = hop,
                        Err(_) => self.news = true,
                    }
                }
            };
            match all {
                true => worker.paths.iter_mut().for_each(|(path, asked)| answer(*path, asked)),
                false => worker.fresh.iter().for_each(|path| {
                    if let Some(asked) = worker.paths.get_mut(path) {
                        answer(*path, asked);
                    }
                }),
            }
            worker.fresh.clear();
        }
    }

    fn tidy(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.told.push(Answer::Tidy);
        }
        let used: Vec<NeighbourKey> = self
            .workers
            .iter()
            .flat_map(WorkerEnd::routes)
            .map(|route| (route.interface, route.via))
            .collect();
        let used: std::collections::HashSet<NeighbourKey> = used.into_iter().collect();
        self.neighbours.retain(|key, _| used.contains(key));
    }
}

impl WorkerEnd {
    fn routes(&self) -> impl Iterator<Item = Route> {
        self.paths.values().filter_map(|asked| asked.route)
    }

    /// Of `all` paths, or of those asked for in this turn.
    fn open(&self, all: bool) -> impl Iterator<Item = Route> {
        let cache = all.then(|| self.routes());
        let fresh = (!all).then_some(&self.fresh).into_iter().flatten();
        let fresh = fresh.filter_map(|path| self.paths.get(path)?.route);
        cache.into_iter().flatten().chain(fresh)
    }
}

/// The hop a way begins with, if a ring leads there and everything is known.
fn hop(
    interfaces: &[Interface],
    has_ring: &[bool],
    neighbours: &HashMap<NeighbourKey, Neighbour>,
    route: &Route,
) -> Option<Hop> {
    let index = interfaces
        .iter()
        .position(|interface| interface.index == route.interface)?;
    let interface = interfaces.get(index).filter(|_| has_ring[index])?;
    let to = neighbours.get(&(route.interface, route.via))?.mac?;
    Some(Hop {
        interface: index,
        from: interface.mac,
        to,
        mtu: route.mtu.unwrap_or(usize::MAX).min(interface.mtu),
    })
}

impl Drop for ResolverThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.ringer.write(&[0]);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the resolver does not panic");
        }
    }
}

/// Reads the time for the resolver, to limit its rate and to tidy.
#[allow(clippy::disallowed_methods, reason = "the resolver's thread reads the clock")]
fn now() -> Instant {
    Instant::now()
}
