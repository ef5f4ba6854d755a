//! Messages between shards, through one bounded ring for each direction of each pair.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{Path, ReplicaId};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::channel::{Generation, take_back};
use crate::shard::packet::Packet;
use crate::wakeup::Wakeup;

/// How many messages may wait in one ring.
const HANDOFFS_MAX: usize = 4_096;

/// One message to another shard.
#[derive(Debug)]
pub(crate) enum Handoff {
    /// A datagram that arrived at one shard for a leg of another.
    Datagram(Arc<Received>),
    /// A packet for the replicas of its stream. `epoch` is returned in [`Handoff::Quiet`].
    Packet { packet: Arc<Packet>, epoch: u32 },
    /// To the stream's shard: no replica here follows it, as of `epoch`.
    Quiet { generation: Generation, epoch: u32 },
    /// To the stream's shard: a packet is needed for a retransmission.
    Fetch {
        generation: Generation,
        source_number: u64,
        ticket: ResendTicket,
    },
    /// The answer; `None` when the packet is not kept.
    Fetched {
        packet: Option<Arc<Packet>>,
        ticket: ResendTicket,
    },
}

/// The retransmission that a fetched packet is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResendTicket {
    pub(crate) replica: ReplicaId,
    /// The replica's number of the packet.
    pub(crate) number: u64,
    /// The replica's segment it was asked for in.
    pub(crate) segments: u32,
}

/// A datagram as it was received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) path: Path,
    pub(crate) bytes: Vec<u8>,
}

/// One shard's ends of the rings to and from another.
pub(crate) struct HandoffRing {
    to: Producer<Handoff>,
    pub(crate) from: Consumer<Handoff>,
    /// Wakes the other shard.
    wakeup: Arc<Wakeup>,
    pushed: bool,
    /// Datagrams on loan to the other, oldest first.
    lent: VecDeque<Arc<Received>>,
}

impl HandoffRing {
    /// The two ends of a pair of rings, for the shards woken by these wake-ups.
    pub(crate) fn pair(wakeups: [&Arc<Wakeup>; 2]) -> [Self; 2] {
        let (to_second, from_first) = RingBuffer::new(HANDOFFS_MAX);
        let (to_first, from_second) = RingBuffer::new(HANDOFFS_MAX);
        let ring = |to, from, wakeup: &Arc<Wakeup>| HandoffRing {
            to,
            from,
            wakeup: wakeup.clone(),
            pushed: false,
            lent: VecDeque::with_capacity(HANDOFFS_MAX),
        };
        [
            ring(to_second, from_second, wakeups[1]),
            ring(to_first, from_first, wakeups[0]),
        ]
    }

    /// Sends a message; false when the ring is full, and the message is gone.
    pub(crate) fn push(&mut self, message: Handoff) -> bool {
        self.pushed = true;
        self.to.push(message).is_ok()
    }

    /// Sends a copy of a datagram, in a returned buffer if there is one.
    pub(crate) fn push_datagram(&mut self, at: Instant, path: Path, bytes: &[u8]) -> bool {
        if self.to.is_full() {
            return false;
        }
        let loan = match take_back(&mut self.lent) {
            Some(mut loan) => {
                let received = Arc::get_mut(&mut loan).expect("no other thread has it");
                received.at = at;
                received.path = path;
                received.bytes.clear();
                received.bytes.extend_from_slice(bytes);
                loan
            }
            None => Arc::new(Received {
                at,
                path,
                bytes: bytes.to_vec(),
            }),
        };
        if self.lent.len() < HANDOFFS_MAX {
            self.lent.push_back(loan.clone());
        }
        self.push(Handoff::Datagram(loan))
    }

    /// Ends a batch: wakes the other shard if it was sent anything.
    pub(crate) fn settle(&mut self) {
        if std::mem::take(&mut self.pushed) {
            self.wakeup.wake();
        }
    }
}
