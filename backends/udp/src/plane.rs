//! The device: shards on threads, behind one port.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dataplane::{Capabilities, Clock, Counter, Counters, DataPlane, Event, Inject, Update, WriteError};

use crate::alarm::Alarm;
use crate::control::Control;
use crate::gathering::Gathering;
use crate::net::{Bell, Door, Entrance, Precedence, ThreadTime, raise_open_files};
use crate::relays::{RELAYS_MAX, RelayWorkers, Taker, TakerLink, Tap, Tapped};
use crate::shard::SHARDS_MAX;
use crate::turns::Asked;
use crate::worker::{Network, Shared, Worker, alarm_of};

/// Files that relays leave to everybody else in the process.
const FILES_FOR_OTHERS: usize = 1_024;

/// Where the device listens, and with how many hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// The addresses to bind, at most 16. `[::]` takes IPv4 too, unless `0.0.0.0` is in the list as
    /// well. A port of 0 is chosen by the system, once for all addresses.
    pub addresses: Vec<SocketAddr>,
    /// How many workers, at most 64; 0 for one a core.
    pub workers: usize,
    /// Bytes of each socket's receive buffer, as far as the system lets us.
    pub receive_buffer: usize,
    /// Bytes of each socket's send buffer, likewise.
    pub send_buffer: usize,
    /// How long a worker that datagrams wake waits for more before it reads them: fewer and longer
    /// runs, for so much latency. Zero for not at all.
    pub coalesce: Duration,
    /// As long as few are connected, so many legs are the first worker's, the next as many the
    /// second's, and so on, for those who meet connect together and a frame wakes fewer threads
    /// that way. 0 for none: addresses decide.
    pub gather: usize,
    /// Whether workers go before others on the machine as long as they take little of it, where
    /// that is [permitted](UdpPlane::may_go_first).
    pub precedence: bool,
}

impl Default for UdpConfig {
    fn default() -> Self {
        UdpConfig {
            addresses: vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0)],
            workers: 0,
            receive_buffer: 8 << 20,
            send_buffer: 8 << 20,
            coalesce: Duration::ZERO,
            gather: 0,
            precedence: false,
        }
    }
}

impl UdpConfig {
    /// How many workers that makes on this machine.
    ///
    /// Errors: `InvalidInput` for more than there may be.
    pub fn worker_count(&self) -> io::Result<usize> {
        match self.workers {
            0 => Ok(thread::available_parallelism().map_or(1, usize::from).min(SHARDS_MAX)),
            1..=SHARDS_MAX => Ok(self.workers),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
}

/// The userspace data plane: the agent's handle on worker threads that share one UDP port.
///
/// Every worker has a socket of its own on the port; the kernel gives a peer's datagrams to the
/// same worker as long as its address does not change. Dropping the handle stops the workers and
/// waits for them.
pub struct UdpPlane {
    control: Control,
    local: Vec<SocketAddr>,
    workers: Vec<RunningWorker>,
    /// Wakes the agent.
    agent: Arc<Alarm>,
    /// Where those who are new are led.
    gathering: Option<Gathering>,
    /// Started with the first relay.
    relays: Option<RelayWorkers>,
    /// What networks take of relays' datagrams, and each worker's link where they do.
    tapped: Option<Arc<Tapped>>,
    takers: Vec<TakerLink>,
    /// How many files may be open.
    files_max: usize,
    /// How long relays' workers wait for more, as [`UdpConfig::coalesce`] says.
    coalesce: Duration,
    precedence: bool,
    /// Workers that were asked for a sign of life.
    asked: Vec<Asked>,
}

struct RunningWorker {
    shared: Arc<Shared>,
    bell: Bell,
    thread: Option<JoinHandle<()>>,
}

impl UdpPlane {
    /// Binds the sockets and starts the workers. `waker` is called, from any of their threads, when
    /// there is an event for an agent that has seen [`poll`](DataPlane::poll) return `None`; it
    /// must not block.
    ///
    /// Errors: the operating system's, when an address cannot be bound or a thread not be started;
    /// `InvalidInput` for a configuration out of range.
    pub fn start(config: UdpConfig, clock: Clock, waker: Arc<dyn Fn() + Send + Sync>) -> io::Result<UdpPlane> {
        let (entrance, sockets) = Entrance::open(&config, config.worker_count()?)?;
        Self::start_on(&config, entrance, sockets, None, clock, waker)
    }

    fn gather(&self, door: Door, legs_max: usize) -> Option<Gathering> {
        let threads = self.workers.iter().map(|worker| worker.thread.as_ref());
        let times: Option<_> = threads.map(|thread| ThreadTime::of(thread?).ok()).collect();
        Gathering::begin(door, times?, legs_max)
    }

    /// Starts one worker on each of `networks`, at least one, which have the sockets that were
    /// opened with `entrance`: the same data plane on something else than sockets alone. With a
    /// `tap`, networks also hear what is for relays.
    ///
    /// Errors: the operating system's, when a thread cannot be started.
    pub fn start_on(
        config: &UdpConfig,
        entrance: Entrance,
        networks: Vec<impl Network>,
        tap: Option<Arc<dyn Tap>>,
        clock: Clock,
        waker: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<UdpPlane> {
        let (local, door) = entrance.into_parts();
        let count = networks.len();
        let bells = (0..count).map(|_| Bell::new()).collect::<io::Result<Vec<Bell>>>()?;
        let alarms: Vec<Arc<Alarm>> = bells.iter().map(alarm_of).collect();
        let agent = Arc::new(Alarm::new(move || waker()));
        let (control, shards) = Control::new(clock, &alarms, agent.clone());
        let mut plane = UdpPlane {
            control,
            tapped: tap.map(|tap| Arc::new(Tapped::new(tap, local[0].port()))),
            local,
            workers: Vec::new(),
            agent,
            gathering: None,
            relays: None,
            takers: Vec::new(),
            files_max: raise_open_files(),
            coalesce: config.coalesce,
            precedence: config.precedence,
            asked: Vec::new(),
        };
        for (index, ((shard, network), (bell, alarm))) in shards
            .into_iter()
            .zip(networks)
            .zip(bells.into_iter().zip(alarms))
            .enumerate()
        {
            let worker = Worker {
                shard,
                network,
                relays: plane.taker(&alarm),
                bell,
                alarm,
                shared: Arc::default(),
                precedence: Precedence::new(config.precedence),
            };
            plane.workers.push(start_worker(index, worker)?);
        }
        if let Some(door) = door.filter(|_| config.gather > 0 && count > 1) {
            plane.gathering = plane.gather(door, config.gather);
        }
        Ok(plane)
    }

    /// The part of a worker woken by `alarm` in relays, if networks have one.
    fn taker(&mut self, alarm: &Arc<Alarm>) -> Option<Taker> {
        let tapped = self.tapped.clone()?;
        let (link, ends) = TakerLink::new(alarm, &self.agent);
        self.takers.push(link);
        Some(Taker::new(tapped, ends))
    }

    /// Whether threads of this process may go before others on the machine.
    pub fn may_go_first() -> bool {
        Precedence::is_permitted()
    }

    /// The first address it is bound to, with its real port.
    pub fn local_addr(&self) -> SocketAddr {
        self.local[0]
    }

    /// All addresses it is bound to.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Whether the workers have taken every entry written so far. Packets they receive from then on
    /// meet all of them; before, an entry that [`write`](DataPlane::write) has accepted may not be
    /// there yet.
    pub fn is_applied(&self) -> bool {
        self.control.is_applied() && self.relays.as_ref().is_none_or(|running| running.relays.is_applied())
    }

    /// How many datagrams the sockets dropped because no worker read them in time.
    pub fn receive_overflows(&self) -> u64 {
        let overflows = |worker: &RunningWorker| worker.shared.overflows.load(Ordering::Relaxed);
        self.workers.iter().map(overflows).sum()
    }

    fn start_relays(&self) -> Result<RelayWorkers, WriteError> {
        // What a worker lacks is what a port needs: descriptors.
        RelayWorkers::start(
            self.workers.len(),
            self.coalesce,
            self.precedence,
            self.tapped.as_ref(),
            &self.agent,
        )
        .map_err(|_| WriteError::PortTaken)
    }

    fn next_relay_event(&mut self) -> Option<Event> {
        let taken = self.takers.iter_mut().find_map(TakerLink::next_event);
        taken.or_else(|| self.relays.as_mut()?.relays.next_event())
    }

    /// Stops the workers and waits for them. What was not sent yet is not sent any more.
    pub fn shutdown(&mut self) {
        (self.relays, self.gathering) = (None, None);
        for worker in &self.workers {
            worker.shared.stop.store(true, Ordering::Relaxed);
            worker.bell.ring();
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                thread.join().expect("a worker that panics ends the process");
            }
        }
    }
}

impl Drop for UdpPlane {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl DataPlane for UdpPlane {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            relays_max: self.files_max.saturating_sub(FILES_FOR_OTHERS).min(RELAYS_MAX),
            ..self.control.capabilities()
        }
    }

    fn write(&mut self, _now: Instant, update: Update) -> Result<(), WriteError> {
        match update {
            Update::SetRelay(at, relay) => {
                let relays = self.relays.take().map_or_else(|| self.start_relays(), Ok)?;
                self.relays.insert(relays).relays.set(at, *relay)
            }
            Update::RemoveRelay(at) => match &mut self.relays {
                Some(running) => running.relays.remove(at),
                None => Err(WriteError::UnknownRelay),
            },
            Update::SetLeg(..) | Update::RemoveLeg(_) => {
                self.control.write(update)?;
                if let Some(gathering) = &mut self.gathering {
                    gathering.count(&self.control);
                }
                Ok(())
            }
            update => self.control.write(update),
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        if let Some(gathering) = &mut self.gathering {
            gathering.look(now, &self.control);
        }
        let mut relays = self.relays.as_mut().map(|running| &mut running.relays);
        match what {
            Inject::Datagram { path, bytes } if relays.as_mut().is_some_and(|relays| relays.send(path, bytes)) => {}
            Inject::ReportRelay { at } => drop(relays.map(|relays| relays.report(at))),
            what => self.control.inject(what),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        // Once more behind the control handle, which announces that nobody looks.
        let event = self.next_relay_event().or_else(|| self.control.poll());
        event.or_else(|| self.next_relay_event())
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.control.counters();
        if let Some(running) = &self.relays {
            counters.add(&running.relays.counters());
        }
        self.takers.iter().for_each(|taker| counters.add(&taker.counters()));
        counters[Counter::ReceiveOverflow] += self.receive_overflows();
        counters
    }

    fn ping_workers(&mut self) {
        let workers = self.workers.iter();
        self.asked = workers.map(|it| Asked::wake(&it.shared.turns, &it.bell)).collect();
        self.asked
            .extend(self.relays.iter().flat_map(RelayWorkers::ping_workers));
    }

    fn workers_answered(&mut self) -> bool {
        self.asked.retain(|asked| !asked.workers_answered());
        self.asked.is_empty()
    }
}

fn start_worker(index: usize, worker: Worker<impl Network>) -> io::Result<RunningWorker> {
    let (shared, bell) = (worker.shared.clone(), worker.bell.clone());
    let thread = thread::Builder::new()
        .name(format!("media-{index}"))
        .spawn(move || worker.run())?;
    Ok(RunningWorker {
        shared,
        bell,
        thread: Some(thread),
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use dataplane::{Leg, LegId, Path, Protection};
    use wire::{ExtensionMap, NtpTime};

    use super::*;

    fn start(workers: usize, gather: usize) -> UdpPlane {
        let config = UdpConfig {
            addresses: vec!["127.0.0.1:0".parse().unwrap()],
            workers,
            gather,
            ..UdpConfig::default()
        };
        let clock = Clock {
            origin: Instant::now(),
            ntp: NtpTime(3_900_000_000 << 32),
        };
        UdpPlane::start(config, clock, Arc::new(|| {})).unwrap()
    }

    /// Where a new peer is heard from, which proves itself again and again.
    fn path_of_new(plane: &mut UdpPlane, peer: &UdpSocket) -> Path {
        let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
        for _ in 0..5_000 {
            peer.send_to(&stun, plane.local_addr()).unwrap();
            thread::sleep(Duration::from_millis(1));
            if let Some(Event::Punt { path, .. }) = plane.poll() {
                while plane.poll().is_some() {}
                return path;
            }
        }
        panic!("nobody heard it");
    }

    fn connect(plane: &mut UdpPlane, id: u32) -> UdpSocket {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let leg = Leg {
            paths: vec![path_of_new(plane, &peer)],
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out: ExtensionMap::default(),
        };
        plane.write(Instant::now(), Update::SetLeg(LegId(id), leg)).unwrap();
        peer
    }

    #[test]
    fn those_who_come_together_are_one_workers() {
        let mut plane = start(3, 4);
        let peers: Vec<UdpSocket> = (0..12).map(|id| connect(&mut plane, id)).collect();
        assert_eq!(plane.control.legs(), [4, 4, 4]);
        drop(peers);
        for id in 0..11 {
            plane.write(Instant::now(), Update::RemoveLeg(LegId(id))).unwrap();
        }
        assert_eq!(plane.control.legs(), [0, 0, 1]);
        let _peers = [connect(&mut plane, 20), connect(&mut plane, 21)];
        assert_eq!(plane.control.legs(), [2, 0, 1]);
    }

    #[test]
    fn where_nobody_is_led_addresses_decide() {
        let mut plane = start(4, 0);
        let _peers: Vec<UdpSocket> = (0..32).map(|id| connect(&mut plane, id)).collect();
        assert!(plane.control.legs().iter().all(|legs| *legs < 32));
    }

    #[test]
    fn workers_that_sleep_give_a_sign_of_life_when_asked() {
        let mut plane = start(2, 0);
        assert!(plane.workers_answered(), "nobody was asked");
        plane.ping_workers();
        let answered = (0..5_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            plane.workers_answered()
        });
        assert!(answered);
        plane.shutdown();
        plane.ping_workers();
        thread::sleep(Duration::from_millis(20));
        assert!(!plane.workers_answered(), "they are gone");
    }
}
