//! The device: shards on threads, behind one port or a port for each.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dataplane::{Capabilities, Clock, Counter, Counters, DataPlane, Event, Inject, Statistics, Update, WriteError};

use crate::config::UdpConfig;
use crate::control::Control;
use crate::heartbeat::Ping;
use crate::net::{EventFd, Network, RealtimePriority, ReuseportGroup, ThreadCpuClock, UdpPorts, raise_open_files};
use crate::packing::WorkerPacking;
use crate::relays::{BypassLink, BypassPorts, BypassWorker, RELAYS_MAX, RelayWorkers, RtpBypass};
use crate::tcp::TcpPort;
use crate::wakeup::Wakeup;
use crate::worker::{Shared, Worker};

/// Open files that relays leave to the rest of the process.
const FILES_FOR_OTHERS: usize = 1_024;

/// The userspace data plane: the agent's handle on worker threads that share one UDP port, or have
/// a port each.
///
/// Every worker has a socket of its own on a shared port; the kernel gives a peer's datagrams to
/// the same worker as long as its address does not change. Dropping the handle stops the workers
/// and waits for them.
pub struct UdpPlane {
    control: Control,
    local: Vec<SocketAddr>,
    workers: Vec<RunningWorker>,
    /// The TCP port, if there is one.
    tcp: Option<TcpPort>,
    /// Wakes the agent.
    agent: Arc<Wakeup>,
    /// The choice of workers for new legs.
    packing: Option<WorkerPacking>,
    /// Started with the first relay.
    relays: Option<RelayWorkers>,
    /// The relay ports whose datagrams bypass sockets, and each worker's link for them.
    bypass: Option<Arc<BypassPorts>>,
    bypass_links: Vec<BypassLink>,
    /// How many files may be open.
    files_max: usize,
    /// How long relays' workers wait for more, as [`UdpConfig::coalesce`] says.
    coalesce: Duration,
    realtime_workers: bool,
    /// Workers that were pinged.
    pings: Vec<Ping>,
}

struct RunningWorker {
    shared: Arc<Shared>,
    event_fd: EventFd,
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
        let (udp_ports, sockets) = UdpPorts::open(&config, config.worker_count()?)?;
        Self::start_on(&config, udp_ports, sockets, None, clock, waker)
    }

    fn start_packing(&self, group: ReuseportGroup, legs_max: usize) -> Option<WorkerPacking> {
        let threads = self.workers.iter().map(|worker| worker.thread.as_ref());
        let times: Option<_> = threads.map(|thread| ThreadCpuClock::of(thread?).ok()).collect();
        WorkerPacking::start(group, times?, legs_max)
    }

    /// Starts one worker on each of `networks`, at least one, which have the sockets that were
    /// opened with `udp_ports`: the same data plane on something else than sockets alone. With a
    /// `bypass`, networks also hear what is for relays.
    ///
    /// Errors: the operating system's, when the TCP port cannot be opened or a thread cannot be
    /// started; `InvalidInput` when the TCP port is a UDP port.
    pub fn start_on(
        config: &UdpConfig,
        udp_ports: UdpPorts,
        networks: Vec<impl Network>,
        bypass: Option<Arc<dyn RtpBypass>>,
        clock: Clock,
        waker: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<UdpPlane> {
        let (local, group) = udp_ports.into_parts();
        let count = networks.len();
        let event_fds = (0..count)
            .map(|_| EventFd::new())
            .collect::<io::Result<Vec<EventFd>>>()?;
        let wakeups: Vec<Arc<Wakeup>> = event_fds.iter().map(EventFd::to_wakeup).collect();
        let agent = Arc::new(Wakeup::new(move || waker()));
        let (tcp, tcp_workers) = TcpPort::open_beside(&local, config, &event_fds)?;
        let (control, shards) = Control::new(clock, &wakeups, agent.clone());
        let mut plane = UdpPlane {
            control,
            bypass: bypass.map(|bypass| Arc::new(BypassPorts::new(bypass, local[0].port()))),
            local,
            workers: Vec::new(),
            tcp,
            agent,
            packing: None,
            relays: None,
            bypass_links: Vec::new(),
            files_max: raise_open_files(),
            coalesce: config.coalesce,
            realtime_workers: config.realtime_workers,
            pings: Vec::new(),
        };
        let mut tcp_workers = tcp_workers.into_iter();
        for (index, ((shard, network), (event_fd, wakeup))) in shards
            .into_iter()
            .zip(networks)
            .zip(event_fds.into_iter().zip(wakeups))
            .enumerate()
        {
            let worker = Worker {
                shard,
                network,
                tcp: tcp_workers.next(),
                relays: plane.bypass_worker(&wakeup),
                event_fd,
                wakeup,
                shared: Arc::default(),
                realtime: RealtimePriority::new(config.realtime_workers),
            };
            plane.workers.push(start_worker(index, worker)?);
        }
        if let Some(group) = group.filter(|_| config.pack_legs > 0 && count > 1) {
            plane.packing = plane.start_packing(group, config.pack_legs);
        }
        Ok(plane)
    }

    /// The part of a worker woken by `wakeup` in relays, if networks have one.
    fn bypass_worker(&mut self, wakeup: &Arc<Wakeup>) -> Option<BypassWorker> {
        let bypass = self.bypass.clone()?;
        let (link, ends) = BypassLink::new(wakeup, &self.agent);
        self.bypass_links.push(link);
        Some(BypassWorker::new(bypass, ends))
    }

    /// Whether threads of this process may run at real-time priority.
    pub fn may_run_realtime() -> bool {
        RealtimePriority::is_permitted()
    }

    /// The first address it is bound to, with its real port.
    pub fn local_addr(&self) -> SocketAddr {
        self.local[0]
    }

    /// All addresses it is bound to, those of the first worker first if workers have ports of their
    /// own.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local
    }

    /// The addresses at which it takes connections, with their real port.
    pub fn tcp_addrs(&self) -> &[SocketAddr] {
        self.tcp.as_ref().map_or(&[][..], TcpPort::local)
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
        // A worker cannot start for want of descriptors, which a port needs, too.
        RelayWorkers::start(
            self.workers.len(),
            self.coalesce,
            self.realtime_workers,
            self.bypass.as_ref(),
            &self.agent,
        )
        .map_err(|_| WriteError::PortTaken)
    }

    fn next_relay_event(&mut self) -> Option<Event> {
        let taken = self.bypass_links.iter_mut().find_map(BypassLink::next_event);
        taken.or_else(|| self.relays.as_mut()?.relays.next_event())
    }

    /// Stops the workers and waits for them. Datagrams that are not sent yet are dropped.
    pub fn shutdown(&mut self) {
        (self.relays, self.packing) = (None, None);
        if let Some(tcp) = &mut self.tcp {
            tcp.close();
        }
        for worker in &self.workers {
            worker.shared.stop.store(true, Ordering::Relaxed);
            worker.event_fd.wake();
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
                if let Some(packing) = &mut self.packing {
                    packing.legs_changed(&self.control);
                }
                Ok(())
            }
            update => self.control.write(update),
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        if let Some(packing) = &mut self.packing {
            packing.measure(now, &self.control);
        }
        let mut relays = self.relays.as_mut().map(|running| &mut running.relays);
        match what {
            Inject::Datagram { path, bytes } if relays.as_mut().is_some_and(|relays| relays.send(path, bytes)) => {}
            Inject::Receive { at, path, bytes }
                if relays.as_mut().is_some_and(|relays| relays.receive(at, path, bytes)) => {}
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
        self.bypass_links
            .iter()
            .for_each(|bypass_worker| counters.add(&bypass_worker.counters()));
        counters[Counter::ReceiveOverflow] += self.receive_overflows();
        counters
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        self.tcp.iter().map(TcpPort::statistics).collect()
    }

    fn ping_workers(&mut self) {
        let workers = self.workers.iter();
        self.pings = workers
            .map(|it| Ping::send(&it.shared.heartbeat, &it.event_fd))
            .collect();
        self.pings
            .extend(self.relays.iter().flat_map(RelayWorkers::ping_workers));
    }

    fn workers_answered(&mut self) -> bool {
        self.pings.retain(|ping| !ping.is_answered());
        self.pings.is_empty()
    }
}

fn start_worker(index: usize, worker: Worker<impl Network>) -> io::Result<RunningWorker> {
    let (shared, event_fd) = (worker.shared.clone(), worker.event_fd.clone());
    let thread = thread::Builder::new()
        .name(format!("media-{index}"))
        .spawn(move || worker.run())?;
    Ok(RunningWorker {
        shared,
        event_fd,
        thread: Some(thread),
    })
}

#[cfg(test)]
mod tests;
