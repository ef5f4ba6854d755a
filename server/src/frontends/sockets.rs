//! The sockets of clients and workers, and the memory of the messages that wait for them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use controller::ConnectionId;
use livekit::Ledger;
use tracing::warn;

use super::outbox::{Outbox, ToSocket};
use crate::metrics::Metrics;
use crate::os::clock;

/// The bytes that may wait for all clients together; what several of them wait for counts once.
/// Beyond it those that have taken nothing for the longest time are closed. They may resume.
const WAITING_MAX: usize = 64 << 20;

/// A client that took something in this time is not closed for that.
const STALL_MIN: Duration = Duration::from_millis(250);

/// How often clients are looked for that are to be closed: those closed last have to let go of
/// their messages first.
const RELIEF_INTERVAL: Duration = Duration::from_millis(100);

/// The sockets by their connections.
pub(super) struct Sockets {
    outboxes: HashMap<ConnectionId, Outbox>,
    ledger: Ledger,
    relieved: Instant,
    metrics: Metrics,
}

impl Sockets {
    /// None yet. All messages are on this ledger.
    pub(super) fn new(ledger: Ledger, metrics: Metrics) -> Self {
        Sockets {
            outboxes: HashMap::new(),
            ledger,
            relieved: clock::now(),
            metrics,
        }
    }

    pub(super) fn insert(&mut self, connection: ConnectionId, outbox: Outbox) {
        self.outboxes.insert(connection, outbox);
    }

    pub(super) fn remove(&mut self, connection: ConnectionId) {
        self.outboxes.remove(&connection);
    }

    pub(super) fn tell(&mut self, connection: ConnectionId, what: ToSocket) {
        let Some(outbox) = self.outboxes.get(&connection) else {
            return;
        };
        let now = clock::now();
        if outbox.put(now, what).is_err() {
            warn!(%connection, "closed: the client does not read its messages");
            self.metrics.slow_client();
            self.outboxes.remove(&connection);
        }
        if self.ledger.bytes() > WAITING_MAX && now >= self.relieved + RELIEF_INTERVAL {
            self.relieved = now;
            self.relieve(now);
        }
    }

    /// Closes those that have taken nothing for the longest time, until little enough waits.
    fn relieve(&mut self, now: Instant) {
        let waiting = self.outboxes.iter().filter_map(|(connection, outbox)| {
            let (since, bytes) = outbox.waiting()?;
            (now >= since + STALL_MIN).then_some((since, *connection, bytes))
        });
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable();
        let mut excess = self.ledger.bytes().saturating_sub(WAITING_MAX);
        for (_, connection, bytes) in waiting {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(bytes);
            warn!(%connection, "closed: too much waits for all clients, and this one does not read");
            self.metrics.stalled_client();
            // Dropping the outbox ends the socket's task at once, which reports the end.
            self.outboxes.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use livekit::Frame;

    use super::super::outbox::{Ends, outbox};
    use super::*;

    fn is_open(ends: &mut Ends) -> bool {
        ends.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
    }

    #[tokio::test]
    async fn the_client_that_has_not_read_for_the_longest_time_gives_way() {
        let ledger = Ledger::default();
        let mut sockets = Sockets::new(ledger.clone(), Metrics::default());
        let start = clock::now()
            .checked_sub(Duration::from_secs(60))
            .expect("a clock that ran");
        let message = || Frame::Binary(ledger.enter(vec![0; 4 << 20]));
        let mut ends = Vec::new();
        let mut told = Vec::new();
        for number in 0..20 {
            let (outbox, receiver, end) = outbox();
            let at = start + Duration::from_secs(number);
            assert_eq!(outbox.put(at, ToSocket::Frame(message())), Ok(()));
            sockets.insert(ConnectionId(number), outbox);
            ends.push(end);
            told.push(receiver);
        }
        sockets.relieve(clock::now());
        let open: Vec<_> = ends.iter_mut().map(is_open).collect();
        assert_eq!(open.iter().position(|open| *open), Some(4), "80 MiB wait, 64 MiB may");
        assert!(open[4..].iter().all(|open| *open));
        // A message that many wait for is there once.
        drop((told, sockets));
        let shared: Bytes = ledger.enter(vec![0; 4 << 20]);
        let copies: Vec<_> = (0..100).map(|_| shared.clone()).collect();
        assert_eq!((ledger.bytes(), copies.len()), (4 << 20, 100));
    }
}
