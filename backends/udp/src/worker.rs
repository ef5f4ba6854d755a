//! A shard with a thread, sockets and a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::alarm::Alarm;
use crate::net::{Bell, Receiver, Sender, Socket, sleep};
use crate::shard::Shard;

/// What a worker shares with the plane that started it.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    /// Datagrams that sockets dropped before anybody read them.
    pub(crate) overflows: AtomicU64,
}

/// One worker, to be [`run`](Self::run) on a thread of its own.
pub(crate) struct Worker {
    pub(crate) shard: Shard,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) bell: Bell,
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) shared: Arc<Shared>,
}

impl Worker {
    /// Moves packets until told to stop. A batch is what has arrived; nothing waits for a timer.
    pub(crate) fn run(mut self) {
        let _guard = AbortOnPanic;
        let mut receivers: Vec<Receiver> = self.sockets.iter().map(|_| Receiver::new()).collect();
        let mut sender = Sender::new();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now = now();
            let mut busy = self.shard.take_orders(now) > 0;
            if self.shard.has_room() {
                busy |= self.shard.take_relays(now) > 0;
                busy |= self.receive(now, &mut receivers) > 0;
            }
            self.shard.work(now);
            self.shard.flush(&mut sender.through(&self.sockets), now);
            self.shard.settle(now);
            if !busy && !self.shard.has_work() {
                self.rest(now);
            }
        }
    }

    fn receive(&mut self, now: Instant, receivers: &mut [Receiver]) -> usize {
        let mut received = 0;
        for (socket, receiver) in self.sockets.iter().zip(receivers) {
            let shard = &mut self.shard;
            let (datagrams, dropped) = receiver.receive(socket, |path, datagram| shard.receive(now, path, datagram));
            received += datagrams;
            self.shared.overflows.fetch_add(u64::from(dropped), Ordering::Relaxed);
        }
        received
    }

    /// Sleeps until there is something to do. What arrives between the last look and the sleep rings the bell.
    fn rest(&mut self, now: Instant) {
        self.alarm.arm();
        if !self.shard.has_mail() && !self.shared.stop.load(Ordering::Relaxed) {
            let at_most = self.shard.due().map(|due| due.saturating_duration_since(now));
            sleep(&self.sockets, &self.bell, at_most);
        }
        self.alarm.disarm();
    }
}

/// Ends the process when a worker panics, which is a bug of ours. The others would go on handing packets to one that is gone, and its
/// calls would hang with nobody the wiser; a process that ends is started again.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// The only place in this crate where time is read: once a batch, because packets of one batch arrived together.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}
