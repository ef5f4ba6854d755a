//! A shard with a thread, a network and a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::abort::AbortOnPanic;
use crate::clock::now;
use crate::heartbeat::Heartbeat;
use crate::net::{EventFd, Network, RealtimePriority, set_timer_slack};
use crate::relays::BypassWorker;
use crate::shard::Shard;
use crate::tcp::{TcpTransmit, TcpWorker};
use crate::wakeup::Wakeup;

/// How long to wait for the rest of a frame, and how often if each wait brings more: a frame that
/// is sent at once takes a few microseconds for each packet. The first wait spins, because going to
/// sleep takes as long by itself. The second one sleeps, because the sender may run on the same
/// processor.
const FRAME_WAIT_SPIN: Duration = Duration::from_micros(8);
const FRAME_WAIT_SLEEP: Duration = Duration::from_micros(20);
const FRAME_WAITS_MAX: usize = 8;

/// The state that a worker shares with the plane that started it.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    /// Datagrams that were dropped before they were read.
    pub(crate) overflows: AtomicU64,
    /// Turns it has begun.
    pub(crate) heartbeat: Arc<Heartbeat>,
}

/// One worker, to be [`run`](Self::run) on a thread of its own.
pub(crate) struct Worker<N> {
    pub(crate) shard: Shard,
    pub(crate) network: N,
    /// The worker's connections, where there is a TCP port.
    pub(crate) tcp: Option<TcpWorker>,
    /// The worker's part in relays, where the network receives for them.
    pub(crate) relays: Option<BypassWorker>,
    pub(crate) event_fd: EventFd,
    pub(crate) wakeup: Arc<Wakeup>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) realtime: RealtimePriority,
}

impl<N: Network> Worker<N> {
    /// Moves packets until told to stop. A batch is what has arrived; nothing waits for a timer.
    pub(crate) fn run(mut self) {
        let _guard = AbortOnPanic;
        set_timer_slack();
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.shared.heartbeat.beat();
            let now = now();
            self.realtime.measure(now);
            let waits_for_frame = self.realtime.is_lightly_loaded() && !self.shard.has_work();
            let mut busy = self.shard.take_commands(now) > 0;
            busy |= self.shard.take_handoffs(now) > 0;
            self.close_suspects(now);
            let received = self.receive(now);
            busy |= received > 0;
            let now = match received > 0 && waits_for_frame {
                true => self.receive_frame_end(now),
                false => now,
            };
            self.shard.work(now);
            self.flush();
            self.shard.settle(now);
            self.sweep(now);
            if let Some(relays) = &mut self.relays {
                relays.flush(&mut self.network);
                relays.settle(now);
            }
            if !busy && !self.shard.has_work() {
                self.sleep(now);
            }
        }
    }

    /// Waits for the rest of frames of which a part has arrived, as long as more arrives. Returns
    /// the time after that.
    fn receive_frame_end(&mut self, mut now: Instant) -> Instant {
        for again in (0..FRAME_WAITS_MAX).map(|wait| wait > 0) {
            if !self.shard.awaits_frame_end(again) {
                break;
            }
            while self::now() < now + FRAME_WAIT_SPIN {
                std::hint::spin_loop();
            }
            let mut received;
            (now, received) = self.receive_more();
            if received == 0 {
                thread::sleep(FRAME_WAIT_SLEEP);
                (now, received) = self.receive_more();
            }
            self.shard.waited(again);
            if received == 0 {
                break;
            }
        }
        now
    }

    /// Reads again, though everything was read. Returns the time, and how many datagrams there
    /// were.
    fn receive_more(&mut self) -> (Instant, usize) {
        let now = now();
        self.network.expect_more();
        (now, self.receive(now))
    }

    fn receive(&mut self, now: Instant) -> usize {
        let (shard, relays) = (&mut self.shard, &mut self.relays);
        let received = self.network.receive(now, &mut |at, path, datagram| {
            let is_taken = relays.as_mut().is_some_and(|relays| relays.take(now, path, datagram));
            if !is_taken {
                shard.receive_late(now, at, path, datagram);
            }
        });
        let dropped = self.network.take_dropped();
        if dropped > 0 {
            self.shared.overflows.fetch_add(dropped, Ordering::Relaxed);
        }
        match &mut self.tcp {
            None => received,
            Some(tcp) => {
                let shard = &mut self.shard;
                received + tcp.receive(now, &mut |path, datagram: &[u8]| shard.receive(now, path, datagram))
            }
        }
    }

    /// Sends everything that was written.
    fn flush(&mut self) {
        match &mut self.tcp {
            None => self.shard.flush(&mut self.network),
            Some(tcp) => self.shard.flush(&mut TcpTransmit {
                network: &mut self.network,
                tcp,
            }),
        }
    }

    /// Closes connections that sent something other than STUN and are no leg's. A peer may send
    /// media as soon as its check is answered. The command that makes its connection a leg's is
    /// older than the answer, so all commands are taken first.
    fn close_suspects(&mut self, now: Instant) {
        let shard = &mut self.shard;
        if let Some(tcp) = self.tcp.as_mut().filter(|_| !shard.has_commands()) {
            tcp.close_suspects(now, |path| shard.has_leg_at(path));
        }
    }

    /// Closes connections that are no leg's for too long.
    fn sweep(&mut self, now: Instant) {
        if let Some(tcp) = &mut self.tcp {
            let shard = &mut self.shard;
            tcp.sweep(now, |path| shard.has_leg_at(path));
        }
    }

    /// Sleeps until there is something to do. A message between the last look and the sleep signals
    /// the event file descriptor.
    fn sleep(&mut self, now: Instant) {
        self.wakeup.arm();
        let has_input = self.shard.has_messages() || self.tcp.as_ref().is_some_and(TcpWorker::has_work);
        if !has_input && !self.shared.stop.load(Ordering::Relaxed) {
            let due = [
                self.shard.due(),
                self.relays.as_ref().and_then(BypassWorker::due),
                self.tcp.as_ref().and_then(TcpWorker::due),
            ];
            let at_most = due
                .into_iter()
                .flatten()
                .min()
                .map(|due| due.saturating_duration_since(now));
            let beside = self.tcp.as_ref().and_then(TcpWorker::descriptor);
            self.network.sleep(&self.event_fd, beside, at_most);
        }
        self.wakeup.disarm();
    }
}
