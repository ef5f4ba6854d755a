//! A worker's network: rings for RTP, sockets beside them for everything else.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use backend_udp::shard::{Run, Transmit};
use backend_udp::{Bell, Network, Sockets};
use dataplane::Path;

use crate::frame;
use crate::hops::Hops;
use crate::statistics::{Counter, Page};
use crate::sys::Xsk;

/// How many frames one turn takes from one ring.
const BATCH: usize = 64;
/// How often sockets are looked at while rings keep the worker from sleeping, which is when it would be told that they have something.
const SOCKETS_EVERY: u32 = 16;
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
    hops: Hops,
    page: Arc<Page>,
    /// Whether an interface has not taken everything yet.
    backlog: bool,
}

impl RingNetwork {
    /// `queues` with the interface each is one of, out of `interfaces`.
    pub(crate) fn new(
        queues: Vec<(usize, Xsk)>,
        interfaces: usize,
        hops: Hops,
        sockets: Sockets,
        page: Arc<Page>,
    ) -> Self {
        let outlet = |wanted| queues.iter().position(|(interface, _)| *interface == wanted);
        RingNetwork {
            rings: Rings {
                outlets: (0..interfaces).map(outlet).collect(),
                descriptors: queues.iter().map(|(_, queue)| queue.descriptor()).collect(),
                queues: queues.into_iter().map(|(_, queue)| queue).collect(),
                hops,
                page,
                backlog: false,
            },
            sockets,
            sockets_ready: true,
            turns: 0,
        }
    }
}

impl Network for RingNetwork {
    fn receive(&mut self, take: &mut impl FnMut(Path, &[u8])) -> usize {
        self.rings.hops.listen();
        if self.rings.backlog {
            self.rings.kick();
        }
        let mut received = self.rings.receive(take);
        self.turns = self.turns.wrapping_add(1);
        if self.sockets_ready || self.turns.is_multiple_of(SOCKETS_EVERY) {
            let by_socket = self.sockets.receive(take);
            self.sockets_ready = by_socket > 0;
            received += by_socket;
        }
        received
    }

    fn take_dropped(&mut self) -> u64 {
        self.sockets.take_dropped()
    }

    fn sleep(&mut self, bell: &Bell, at_most: Option<Duration>) {
        let at_most = match self.rings.backlog {
            true => Some(at_most.map_or(BACKLOG_WAIT, |time| time.min(BACKLOG_WAIT))),
            false => at_most,
        };
        self.sockets_ready |= self.sockets.sleep_beside(&self.rings.descriptors, bell, at_most);
    }
}

impl Transmit for RingNetwork {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        let rings = &mut self.rings;
        let failed = self.sockets.transmit(runs.filter_map(|run| rings.send(run)));
        rings.kick();
        failed
    }
}

impl Rings {
    fn receive(&mut self, take: &mut impl FnMut(Path, &[u8])) -> usize {
        let (mut received, mut unreadable) = (0, 0);
        for queue in &mut self.queues {
            received += queue.receive(BATCH, |bytes| match frame::read(bytes) {
                Some((path, datagram)) => take(path, datagram),
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
        if run.leg.is_none() {
            self.page.add(Counter::SocketNoLeg, all);
            return Some(run);
        }
        let Some(header) = self.hops.header(&run.path) else {
            self.page.add(Counter::SocketNoHop, all);
            return Some(run);
        };
        if run.segment.min(run.bytes.len()) > header.payload_max() {
            self.page.add(Counter::SocketTooLong, all);
            return Some(run);
        }
        let outlet = self.outlets[header.interface].expect("the guide only names interfaces with a ring of ours");
        let queue = &mut self.queues[outlet];
        let mut sent = 0;
        for datagram in run.datagrams() {
            let is_queued = queue.send(|frame| header.write(datagram, frame));
            // When all frames are on their way, some are done as soon as the kernel has been told of them.
            if !is_queued && (!queue.kick() || !queue.send(|frame| header.write(datagram, frame))) {
                break;
            }
            sent += 1;
        }
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

    /// Has everything queued sent.
    fn kick(&mut self) {
        self.backlog = false;
        for queue in &mut self.queues {
            self.backlog |= !queue.kick();
        }
    }
}
