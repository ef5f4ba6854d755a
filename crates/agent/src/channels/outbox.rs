//! Messages that one receiver is still to get on one reliable channel.
//!
//! SCTP is given as much as keeps it busy. The rest waits here without a copy: receivers share each
//! message, and its sender is held back by it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use sctp_proto::StreamId;
use southbound::MessageId;

use crate::counters::Counter;
use crate::limits::{MESSAGE_COST, SCTP_MESSAGES_MAX, TOO_SLOW, TOO_SLOW_BYTES};

/// Messages of one channel, in order.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) standing: Standing,
    waiting: VecDeque<Waiting>,
    /// Bytes of those whose senders cannot wait.
    unpaced: usize,
    /// Messages that were given to SCTP and that the peer has not acknowledged.
    sent: VecDeque<Sent>,
    /// Bytes that SCTP was ever given.
    written: u64,
    /// Those it still has.
    buffered: usize,
    /// When the peer had last acknowledged [`TOO_SLOW_BYTES`] more, and how much that was in all.
    progress: Option<(Instant, u64)>,
}

/// State of the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is not open yet.
    #[default]
    Opening,
    /// Messages go out on this stream.
    Open(StreamId),
}

pub(super) struct Waiting {
    pub(super) message: Option<MessageId>,
    pub(super) payload: Arc<[u8]>,
    pub(super) since: Instant,
    /// Its sender cannot wait.
    pub(super) is_unpaced: bool,
}

struct Sent {
    /// How much was written when it had been.
    end: u64,
    since: Instant,
}

impl Outbox {
    /// Adds a message. One whose sender cannot wait is refused where more of its kind than
    /// `unpaced_max` would wait.
    pub(super) fn push(&mut self, waiting: Waiting, unpaced_max: Option<usize>) -> Result<(), Counter> {
        if waiting.is_unpaced {
            let unpaced = self.unpaced + waiting.payload.len() + MESSAGE_COST;
            if unpaced_max.is_some_and(|max| unpaced > max) {
                return Err(Counter::MessageUnsent);
            }
            self.unpaced = unpaced;
        }
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// SCTP still has this many bytes.
    pub(super) fn acknowledged(&mut self, now: Instant, buffered: usize) {
        self.buffered = buffered;
        let acknowledged = self.written.saturating_sub(buffered as u64);
        let before = self.progress.map_or(0, |(_, bytes)| bytes);
        if acknowledged >= before + TOO_SLOW_BYTES {
            self.progress = Some((now, acknowledged));
        }
        while self.sent.front().is_some_and(|sent| sent.end <= acknowledged) {
            self.sent.pop_front();
        }
    }

    /// The next message, if SCTP is to have it now: up to so many bytes, and one message in any
    /// case.
    pub(super) fn pop(&mut self, bytes_max: usize) -> Option<Waiting> {
        let next = self.waiting.front()?;
        let fits = self.buffered + next.payload.len() <= bytes_max && self.sent.len() < SCTP_MESSAGES_MAX;
        if !fits && !self.sent.is_empty() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        if next.is_unpaced {
            self.unpaced -= next.payload.len() + MESSAGE_COST;
        }
        // An empty message is a byte on the wire.
        let len = next.payload.len().max(1);
        self.written += len as u64;
        self.buffered += len;
        self.sent.push_back(Sent {
            end: self.written,
            since: next.since,
        });
        Some(next)
    }

    /// When the peer has taken too long, unless it takes something.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let oldest = self.sent.front().map(|sent| sent.since);
        let oldest = oldest.or_else(|| self.waiting.front().map(|waiting| waiting.since));
        let progress = self.progress.map(|(at, _)| at);
        oldest.map(|since| progress.map_or(since, |at| at.max(since)) + TOO_SLOW)
    }

    /// Bytes that SCTP has of it.
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    #[cfg(test)]
    pub(super) fn unsent(&self) -> usize {
        let waiting = self.waiting.iter().map(|waiting| waiting.payload.len());
        self.buffered + waiting.sum::<usize>()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Ends sending. Returns the unsent messages.
    pub(super) fn close(&mut self) -> VecDeque<Waiting> {
        std::mem::take(self).waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SCTP_BUFFER_MAX;

    fn filled(sizes: &[usize], now: Instant) -> Outbox {
        let mut outbox = Outbox::default();
        for size in sizes {
            let waiting = Waiting {
                message: None,
                payload: vec![0; *size].into(),
                since: now,
                is_unpaced: false,
            };
            assert_eq!(outbox.push(waiting, None), Ok(()));
        }
        outbox
    }

    #[test]
    fn sctp_gets_as_much_as_it_may_have_and_more_when_some_is_acknowledged() {
        let now = Instant::now();
        let mut outbox = filled(&[SCTP_BUFFER_MAX - 10, 10, 1], now);
        assert_eq!(std::iter::from_fn(|| outbox.pop(SCTP_BUFFER_MAX)).count(), 2);
        outbox.acknowledged(now, 10);
        assert!(outbox.pop(SCTP_BUFFER_MAX).is_some() && outbox.is_empty());
        outbox.acknowledged(now, 0);
        assert_eq!((outbox.deadline(), outbox.buffered()), (None, 0));
        let mut small = filled(&vec![0; SCTP_MESSAGES_MAX + 1], now);
        assert_eq!(
            std::iter::from_fn(|| small.pop(SCTP_BUFFER_MAX)).count(),
            SCTP_MESSAGES_MAX
        );
        assert_eq!(small.deadline(), Some(now + TOO_SLOW));
        assert_eq!(small.close().len(), 1);
    }

    #[test]
    fn messages_whose_senders_cannot_wait_are_bounded_for_each_receiver() {
        const LEN: usize = 1000;
        let (now, mut outbox) = (Instant::now(), Outbox::default());
        let waiting = || Waiting {
            message: None,
            payload: vec![0; LEN].into(),
            since: now,
            is_unpaced: true,
        };
        let max = 3 * (LEN + MESSAGE_COST);
        let taken: Vec<_> = (0..5).map(|_| outbox.push(waiting(), Some(max)).is_ok()).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(outbox.pop(SCTP_BUFFER_MAX).is_some());
        assert_eq!(outbox.push(waiting(), Some(max)), Ok(()));
    }

    #[test]
    fn a_peer_that_takes_some_of_a_long_queue_has_time_for_the_rest() {
        let start = Instant::now();
        let mut outbox = filled(&[SCTP_BUFFER_MAX], start);
        assert!(outbox.pop(SCTP_BUFFER_MAX).is_some());
        let enough = SCTP_BUFFER_MAX - TOO_SLOW_BYTES as usize;
        let later = start + TOO_SLOW / 2;
        outbox.acknowledged(later, enough + 1);
        assert_eq!(outbox.deadline(), Some(start + TOO_SLOW));
        outbox.acknowledged(later, enough);
        assert_eq!(outbox.deadline(), Some(later + TOO_SLOW));
        // The same amount is no progress again.
        outbox.acknowledged(later + TOO_SLOW / 2, enough);
        assert_eq!(outbox.deadline(), Some(later + TOO_SLOW));
    }
}
