use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::net::Datagram;

/// How long a packet may have to wait before the link's queue counts as full.
const QUEUE_NS: u64 = 300_000_000;
/// Bytes of Ethernet, IP and UDP around each datagram.
const HEADERS: usize = 46;

/// A narrow last mile: packets queue at the link's rate, and a packet that finds the queue full is
/// lost.
///
/// Media that leaves it carries the time of leaving, so the feedback about it is as exact as on a
/// real link.
///
/// Shape: bits a second, nanoseconds since 1970.
pub(crate) struct Downlink {
    bits: u64,
    free_at_ns: u64,
    queue: VecDeque<Queued>,
}

/// A datagram on its way.
pub(crate) struct Queued {
    /// Which of the participant's transports it is for.
    pub which: usize,
    /// The sender's address.
    pub from: SocketAddr,
    /// The time when it leaves the link.
    pub arrives_ns: u64,
    /// The datagram.
    pub bytes: Vec<u8>,
}

impl Downlink {
    /// A link of this rate.
    pub(crate) fn new(bits: u64) -> Self {
        Self {
            bits: bits.max(1),
            free_at_ns: 0,
            queue: VecDeque::new(),
        }
    }

    /// Queues a datagram for a transport, or loses it.
    pub(crate) fn push(&mut self, which: usize, datagram: &Datagram<'_>) {
        let begins_ns = self.free_at_ns.max(datagram.arrived_ns);
        if begins_ns - datagram.arrived_ns > QUEUE_NS {
            return;
        }
        let bits = 8 * (datagram.bytes.len() + HEADERS) as u64;
        self.free_at_ns = begins_ns + bits * 1_000_000_000 / self.bits;
        self.queue.push_back(Queued {
            which,
            from: datagram.from,
            arrives_ns: self.free_at_ns,
            bytes: datagram.bytes.to_vec(),
        });
    }

    /// The next datagram that has left the link by now.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<Queued> {
        self.queue.pop_front_if(|next| next.arrives_ns <= now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn offer(link: &mut Downlink, arrived_ns: u64) {
        let mut bytes = [7; 1250 - HEADERS];
        let from = SocketAddr::from(([127, 0, 0, 1], 9));
        link.push(
            0,
            &Datagram {
                bytes: &mut bytes,
                from,
                arrived_ns,
            },
        );
    }

    #[test]
    fn packets_leave_at_the_links_rate() {
        let mut link = Downlink::new(1_000_000);
        (0..3).for_each(|_| offer(&mut link, 0));
        offer(&mut link, 100 * MS);
        let mut left = Vec::new();
        while let Some(queued) = link.pop(u64::MAX) {
            left.push(queued.arrives_ns / MS);
        }
        assert_eq!(left, [10, 20, 30, 110]);
    }

    #[test]
    fn a_packet_at_a_full_queue_is_lost() {
        let mut link = Downlink::new(1_000_000);
        (0..100).for_each(|_| offer(&mut link, 0));
        assert!(link.pop(9 * MS).is_none());
        let through = std::iter::from_fn(|| link.pop(u64::MAX)).count();
        assert_eq!(through, 31, "300 ms of queue and the one that fits last");
    }
}
