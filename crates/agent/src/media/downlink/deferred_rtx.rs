//! Packets to be sent again as soon as the path has room for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use southbound::SubscriptionId;

/// The longest time that one waits: a receiver that misses a packet for longer needs a key frame.
const MEMORY: Duration = Duration::from_secs(1);

/// How many one receiver may be owed.
const MAX: usize = 64;

/// Retransmissions to one receiver that wait until its path has drained; oldest first.
///
/// A retransmission that does not fit at the moment is deferred, because refusing it would be
/// final: libwebrtc stops asking for a packet once a later frame is continuous without it. With
/// spatial layers, the small size of the next frame is continuous. The decoder still waits for the
/// rest of the large one, until the next key frame.
#[derive(Debug, Default)]
pub(super) struct DeferredRtx(VecDeque<DeferredPacket>);

#[derive(Clone, Copy, Debug)]
pub(super) struct DeferredPacket {
    /// When it was put off.
    pub(super) since: Instant,
    pub(super) subscription: SubscriptionId,
    pub(super) sequence: u16,
}

impl DeferredPacket {
    /// Whether it waits for too long.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= MEMORY
    }
}

impl DeferredRtx {
    /// Defers a packet. Returns whether it is deferred now: not if too many are.
    pub(super) fn defer(&mut self, now: Instant, subscription: SubscriptionId, sequence: u16) -> bool {
        let same = |packet: &DeferredPacket| (packet.subscription, packet.sequence) == (subscription, sequence);
        let is_deferred = self.0.iter().any(same);
        let has_room = self.0.len() < MAX;
        if !is_deferred && has_room {
            self.0.push_back(DeferredPacket {
                since: now,
                subscription,
                sequence,
            });
        }
        is_deferred || has_room
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The packet that has waited longest.
    pub(super) fn first(&self) -> Option<DeferredPacket> {
        self.0.front().copied()
    }

    /// Takes the packet that has waited longest off the list.
    pub(super) fn pop(&mut self) {
        self.0.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_owed_once_and_not_for_ever() {
        let start = Instant::now();
        let mut deferred = DeferredRtx::default();
        assert!(deferred.defer(start, SubscriptionId(1), 7));
        assert!(deferred.defer(start, SubscriptionId(1), 7));
        assert!(deferred.defer(start + MEMORY / 2, SubscriptionId(2), 7));
        let first = |deferred: &DeferredRtx| {
            deferred
                .first()
                .map(|packet| (packet.subscription.0, packet.is_forgotten(start + MEMORY)))
        };
        assert_eq!(first(&deferred), Some((1, true)));
        deferred.pop();
        assert_eq!(first(&deferred), Some((2, false)));
        deferred.pop();
        assert!(deferred.is_empty());
    }

    #[test]
    fn few_packets_are_deferred_for_one_receiver() {
        let mut deferred = DeferredRtx::default();
        let defer = |sequence: &u16| deferred.defer(Instant::now(), SubscriptionId(1), *sequence);
        assert_eq!((0..u16::MAX).filter(defer).count(), MAX);
    }
}
