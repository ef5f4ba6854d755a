//! A worker's network: rings for RTP, sockets beside them for everything else.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::shard::{Run, Transmit};
use backend_udp::{EventFd, Network, Sockets};
use dataplane::Path;

use crate::frame::{self, Header};
use crate::neigh::NextHops;
use crate::statistics::{Counter, Page};
use crate::sys::{Mode, Xsk};

/// The most frames that one turn reads from one ring.
const BATCH: usize = 64;
/// The number of turns between reads of the sockets while rings keep the worker from sleeping. A
/// sleeping worker is woken by its sockets.
const SOCKETS_EVERY: u32 = 16;
/// In copy mode, a run of this many datagrams costs less by socket, where it passes the stack as
/// one packet. In zero-copy mode, a ring always costs less.
const LONG_RUN: usize = 3;
/// How many runs are put aside before sockets send them.
const ASIDE: usize = 64;
/// How long to sleep at most while frames wait for an interface that had no room.
const BACKLOG_WAIT: Duration = Duration::from_millis(1);

/// Rings and sockets of one worker.
pub(crate) struct RingNetwork {
    rings: Rings,
    sockets: Sockets,
    /// Whether the sockets may have something to read.
    sockets_ready: bool,
    turns: u32,
}

/// The part that is rings.
struct Rings {
    /// One for each queue the worker owns.
    queues: Vec<Xsk>,
    descriptors: Vec<RawFd>,
    /// By interface: which of the queues sends there.
    outlets: Vec<Option<usize>>,
    next_hops: NextHops,
    page: Arc<Page>,
    /// Runs of so many datagrams go by socket.
    long_run: usize,
    /// Whether an interface has not taken everything yet.
    backlog: bool,
}

impl RingNetwork {
    /// `queues` with the interface each is one of, out of `interfaces`.
    pub(crate) fn new(
        queues: Vec<(usize, Xsk)>,
        interfaces: usize,
        next_hops: NextHops,
        sockets: Sockets,
        page: Arc<Page>,
    ) -> Self {
        let copies = queues.iter().any(|(_, queue)| queue.mode() == Mode::Copy);
        let outlet = |wanted| queues.iter().position(|(interface, _)| *interface == wanted);
        RingNetwork {
            rings: Rings {
                outlets: (0..interfaces).map(outlet).collect(),
                descriptors: queues.iter().map(|(_, queue)| queue.descriptor()).collect(),
                queues: queues.into_iter().map(|(_, queue)| queue).collect(),
                next_hops,
                page,
                long_run: if copies { LONG_RUN } else { usize::MAX },
                backlog: false,
            },
            sockets,
            sockets_ready: true,
            turns: 0,
        }
    }
}

impl Network for RingNetwork {
    fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize {
        self.rings.next_hops.listen();
        if self.rings.backlog {
            self.rings.kick();
        }
        let received = self.rings.receive(now, take);
        self.turns = self.turns.wrapping_add(1);
        if self.sockets_ready || self.turns.is_multiple_of(SOCKETS_EVERY) {
            let by_socket = self.sockets.receive(now, take);
            self.sockets_ready = by_socket > 0;
            received + by_socket
        } else {
            received + self.sockets.receive_due(now, take)
        }
    }

    fn take_dropped(&mut self) -> u64 {
        self.sockets.take_dropped()
    }

    fn sleep(&mut self, event_fd: &EventFd, beside: Option<RawFd>, at_most: Option<Duration>) {
        let at_most = match self.rings.backlog {
            true => Some(at_most.map_or(BACKLOG_WAIT, |time| time.min(BACKLOG_WAIT))),
            false => at_most,
        };
        let rings = self.rings.descriptors.len();
        self.rings.descriptors.extend(beside);
        self.sockets_ready |= self.sockets.sleep_beside(&self.rings.descriptors, event_fd, at_most);
        self.rings.descriptors.truncate(rings);
    }

    fn queue(&mut self, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        self.rings.send_relayed(path, tos.unwrap_or(0), datagram)
    }

    fn send_queued(&mut self) {
        self.rings.kick();
    }
}

impl Transmit for RingNetwork {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        let mut aside = Aside::default();
        let mut failed = 0;
        for run in runs {
            // All runs of a path are consecutive. The runs after one that is sent by socket must
            // not overtake it.
            let left = match aside.holds(&run.path) {
                true => Some(run),
                false => self.rings.send(run),
            };
            if let Some(run) = left {
                aside.push(run);
            }
            if aside.is_full() {
                failed += self.send_aside(&mut aside);
            }
        }
        failed + self.send_aside(&mut aside)
    }
}

impl RingNetwork {
    /// Has rings send their frames, and then the runs that were put aside, so that the order is
    /// kept.
    fn send_aside(&mut self, aside: &mut Aside<'_>) -> u64 {
        self.rings.kick();
        let runs = aside.runs[..std::mem::take(&mut aside.count)].iter_mut();
        self.sockets.transmit(runs.filter_map(Option::take))
    }
}

/// Runs that go by socket, in order.
struct Aside<'a> {
    runs: [Option<Run<'a>>; ASIDE],
    count: usize,
    last: Option<Path>,
}

impl Default for Aside<'_> {
    fn default() -> Self {
        Aside {
            runs: [None; ASIDE],
            count: 0,
            last: None,
        }
    }
}

impl<'a> Aside<'a> {
    /// Whether the last run put aside, sent already or not, is of this path.
    fn holds(&self, path: &Path) -> bool {
        self.last.as_ref() == Some(path)
    }

    fn push(&mut self, run: Run<'a>) {
        self.last = Some(run.path);
        self.runs[self.count] = Some(run);
        self.count += 1;
    }

    fn is_full(&self) -> bool {
        self.count == ASIDE
    }
}

impl Rings {
    fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize {
        let (mut received, mut unreadable) = (0, 0);
        for queue in &mut self.queues {
            received += queue.receive(BATCH, |bytes| match frame::read(bytes) {
                Some((path, datagram)) => take(now, path, datagram),
                None => unreadable += 1,
            });
        }
        if received > 0 {
            self.page.add(Counter::Received, received);
            self.page.add(Counter::Unreadable, unreadable);
        }
        received
    }

    /// Queues a run's datagrams; gives back what must go by socket.
    fn send<'a>(&mut self, run: Run<'a>) -> Option<Run<'a>> {
        let all = run.datagrams().len();
        if all >= self.long_run {
            self.page.add(Counter::SocketLongRun, all);
            return Some(run);
        }
        let Some(leg) = run.leg else {
            self.page.add(Counter::SocketNoLeg, all);
            return Some(run);
        };
        let Some(header) = self.next_hops.header(leg.0 as usize, &run.path) else {
            self.page.add(Counter::SocketNoHop, all);
            return Some(run);
        };
        if run.segment.min(run.bytes.len()) > header.payload_max() {
            self.page.add(Counter::SocketTooLong, all);
            return Some(run);
        }
        let outlet = self.outlets[header.interface].expect("the resolver names only interfaces that have a ring");
        let queue = &mut self.queues[outlet];
        let sent = run
            .datagrams()
            .take_while(|datagram| push(queue, header, 0, datagram))
            .count();
        self.page.add(Counter::Sent, sent);
        if sent == all {
            return None;
        }
        self.page.add(Counter::SocketRingFull, all - sent);
        Some(Run {
            bytes: &run.bytes[sent * run.segment..],
            ..run
        })
    }

    /// Queues a relay's datagram; false when it must go by socket.
    fn send_relayed(&mut self, path: &Path, tos: u8, datagram: &[u8]) -> bool {
        // Relays' ports are neighbours, two by two one for RTP and one for RTCP, of which the
        // latter is not sent from here.
        let of = usize::from(path.local.port() / 2);
        let by = match self.next_hops.header(of, path) {
            None => Counter::SocketNoHop,
            Some(header) if datagram.len() > header.payload_max() => Counter::SocketTooLong,
            Some(header) => {
                let outlet =
                    self.outlets[header.interface].expect("the resolver names only interfaces that have a ring");
                match push(&mut self.queues[outlet], header, tos, datagram) {
                    true => Counter::Sent,
                    false => Counter::SocketRingFull,
                }
            }
        };
        self.page.add(by, 1);
        by == Counter::Sent
    }

    /// Has everything queued sent.
    fn kick(&mut self) {
        self.backlog = false;
        for queue in &mut self.queues {
            self.backlog |= !queue.kick();
        }
    }
}

/// Queues one datagram that fits; false when all frames are on their way.
fn push(queue: &mut Xsk, header: &Header, tos: u8, datagram: &[u8]) -> bool {
    let checksum = queue.checksum();
    let queue_it = |queue: &mut Xsk| queue.send(header.udp_at(), |room| header.write(datagram, tos, room, checksum));
    // Some frames are free as soon as the kernel has been notified of them.
    queue_it(queue) || {
        queue.kick();
        queue_it(queue)
    }
}
