//! The replicas of each stream, and the packets that wait for them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::ReplicaId;
use wire::MediaKind;

use crate::channel::Generation;
use crate::hash::Mixed;
use crate::shard::packet::Packet;
use crate::slab::Slab;
use crate::sorted::{insert_sorted, remove_sorted};

/// How many packets may wait for their replicas in one shard, of audio and of video each. Packets
/// beyond that are lost, and counted.
const WAITING_MAX: usize = 4_096;

/// How many packets of a stream are forwarded to a replica together: most often a whole frame, so
/// that they are sent in one run.
const TOGETHER: usize = 32;

/// The most bytes of padding of a packet.
const PADDING_MAX: u8 = 2;

/// A video packet that has waited longer than this is too late to be of use.
const HOPELESS: Duration = Duration::from_millis(250);

/// The fan-outs of a shard by stream, and the queues of those with packets waiting.
#[derive(Default)]
pub(crate) struct FanoutQueues {
    slots: HashMap<Generation, usize, Mixed>,
    fanouts: Slab<Fanout>,
    audio: Queue,
    video: Queue,
}

/// The fan-outs with packets waiting, served round-robin, and the number of their packets.
#[derive(Default)]
struct Queue {
    slots: VecDeque<usize>,
    waiting: usize,
}

/// The replicas here of one stream, sorted by id, and its packets that wait for them.
#[derive(Debug, Default)]
struct Fanout {
    generation: Generation,
    replicas: Vec<(ReplicaId, usize)>,
    waiting: VecDeque<Arc<Packet>>,
    /// Replicas whose legs have just got keys: they are sent what they have kept before packets
    /// that wait.
    early: VecDeque<ReplicaId>,
    /// The rest of an interrupted batch.
    batch: Batch,
    /// The queue it is in.
    queued: Option<MediaKind>,
}

/// Packets that are forwarded together to one replica after the other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) packets: Vec<QueuedPacket>,
    /// The last replica served, when the batch was interrupted. The list may change meanwhile; its
    /// order does not.
    served: Option<ReplicaId>,
}

/// A packet in a batch, and its outcome in this shard.
#[derive(Debug)]
pub(crate) struct QueuedPacket {
    pub(crate) packet: Arc<Packet>,
    /// Bytes of padding that make it as long as the packets next to it.
    pub(crate) padding: u8,
    pub(crate) progress: Progress,
    /// Whether it has waited so long that the shard must be overloaded.
    pub(crate) is_late: bool,
}

impl QueuedPacket {
    pub(crate) fn new(packet: Arc<Packet>) -> Self {
        QueuedPacket {
            packet,
            padding: 0,
            progress: Progress::default(),
            is_late: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Whether a replica here followed the stream.
    pub(crate) followed: bool,
    /// Whether a replica here was sent the packet.
    pub(crate) sent: bool,
}

/// A fan-out taken out to be served, to be [put back](FanoutQueues::put_back).
pub(crate) struct Checkout {
    slot: usize,
    fanout: Fanout,
}

impl FanoutQueues {
    /// Adds a replica to a stream's fan-out.
    pub(crate) fn add(&mut self, generation: Generation, id: ReplicaId, replica: usize) {
        let fanouts = &mut self.fanouts;
        let slot = *self.slots.entry(generation).or_insert_with(|| {
            fanouts.insert(Fanout {
                generation,
                ..Fanout::default()
            })
        });
        insert_sorted(&mut fanouts[slot].replicas, id, replica);
    }

    /// Removes a replica from a stream's fan-out.
    pub(crate) fn remove(&mut self, generation: Generation, id: ReplicaId) {
        if let Some(slot) = self.slots.get(&generation).copied() {
            remove_sorted(&mut self.fanouts[slot].replicas, id);
            self.tidy(slot);
        }
    }

    /// Removes a stream; returns the replicas that followed it.
    pub(crate) fn forget(&mut self, generation: Generation) -> Vec<(ReplicaId, usize)> {
        let Some(slot) = self.slots.get(&generation).copied() else {
            return Vec::new();
        };
        let replicas = std::mem::take(&mut self.fanouts[slot].replicas);
        self.tidy(slot);
        replicas
    }

    /// Whether a stream has replicas here.
    pub(crate) fn has(&self, generation: Generation) -> bool {
        let slot = self.slots.get(&generation);
        slot.is_some_and(|slot| !self.fanouts[*slot].replicas.is_empty())
    }

    /// Queues a packet for its replicas; returns it when too many packets wait, or no replica here
    /// follows its stream.
    pub(crate) fn push(&mut self, packet: Arc<Packet>) -> Result<(), Rejected> {
        let info = packet.info();
        let Some(slot) = self.slots.get(&info.generation).copied() else {
            return Err(Rejected::Unfollowed(packet));
        };
        // A stream may change its kind while packets of it wait: those are served first.
        let kind = self.fanouts[slot].queued.unwrap_or(info.kind);
        if self.queue(kind).waiting >= WAITING_MAX {
            return Err(Rejected::Full(packet));
        }
        self.queue(kind).waiting += 1;
        self.list(slot, kind);
        self.fanouts[slot].waiting.push_back(packet);
        Ok(())
    }

    /// Queues a video stream for a replica that is to be sent what it has kept.
    pub(crate) fn push_early(&mut self, generation: Generation, id: ReplicaId) {
        if let Some(slot) = self.slots.get(&generation).copied() {
            self.fanouts[slot].early.push_back(id);
            self.list(slot, MediaKind::Video);
        }
    }

    /// Puts a fan-out into a queue, unless it is in one.
    fn list(&mut self, slot: usize, kind: MediaKind) {
        if self.fanouts[slot].queued.is_none() {
            self.fanouts[slot].queued = Some(kind);
            self.queue(kind).slots.push_back(slot);
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.audio.slots.is_empty() && self.video.slots.is_empty()
    }

    /// Takes out the next fan-out to be served.
    pub(crate) fn next(&mut self, kind: MediaKind) -> Option<Checkout> {
        let slot = self.queue(kind).slots.pop_front()?;
        Some(Checkout {
            slot,
            fanout: std::mem::take(&mut self.fanouts[slot]),
        })
    }

    /// Puts a fan-out back, after all others if it still has packets waiting.
    pub(crate) fn put_back(&mut self, checkout: Checkout, kind: MediaKind) {
        let Checkout { slot, mut fanout } = checkout;
        let has_packets = fanout.has_packets();
        fanout.queued = has_packets.then_some(kind);
        if has_packets {
            self.queue(kind).slots.push_back(slot);
        }
        self.fanouts[slot] = fanout;
        self.tidy(slot);
    }

    /// Subtracts packets that were taken into a batch from those waiting.
    pub(crate) fn begun(&mut self, kind: MediaKind, packets: usize) {
        self.queue(kind).waiting -= packets;
    }

    fn queue(&mut self, kind: MediaKind) -> &mut Queue {
        match kind {
            MediaKind::Audio => &mut self.audio,
            MediaKind::Video => &mut self.video,
        }
    }

    /// Drops a fan-out without replicas. A queued one is dropped after its batch.
    fn tidy(&mut self, slot: usize) {
        let fanout = &self.fanouts[slot];
        if fanout.replicas.is_empty() && fanout.queued.is_none() {
            self.slots.remove(&fanout.generation);
            self.fanouts.remove(slot);
        }
    }
}

/// Why a packet was not queued.
pub(crate) enum Rejected {
    Unfollowed(Arc<Packet>),
    Full(Arc<Packet>),
}

impl Checkout {
    /// Continues the batch that was interrupted, or starts one of the oldest packets. Returns how
    /// many packets were taken from the queue, and passes those that waited too long to `hopeless`.
    pub(crate) fn begin(&mut self, now: Instant, mut hopeless: impl FnMut(Arc<Packet>)) -> usize {
        if !self.fanout.batch.packets.is_empty() {
            return 0;
        }
        self.fanout.batch.served = None;
        let count = self.fanout.waiting.len().min(TOGETHER);
        for packet in self.fanout.waiting.drain(..count) {
            let (kind, age) = (packet.info().kind, now.saturating_duration_since(packet.info().at));
            if kind == MediaKind::Video && age > HOPELESS {
                hopeless(packet);
                continue;
            }
            self.fanout.batch.packets.push(QueuedPacket::new(packet));
        }
        if self.fanout.batch.packets.len() > 1 {
            even_out(&mut self.fanout.batch.packets);
        }
        count
    }

    /// The batch, and its next replicas within `budget` packets: at least one.
    pub(crate) fn part(&mut self, budget: usize) -> (&mut Batch, &[(ReplicaId, usize)]) {
        let Fanout { replicas, batch, .. } = &mut self.fanout;
        let start = batch
            .served
            .map_or(0, |served| replicas.partition_point(|(id, _)| *id <= served));
        let most = (budget / batch.packets.len().max(1)).max(1);
        let part = &replicas[start..replicas.len().min(start.saturating_add(most))];
        if let Some((last, _)) = part.last() {
            batch.served = Some(*last);
        }
        (batch, part)
    }

    /// Ends the batch if all replicas have been served; returns its packets then.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = QueuedPacket> {
        let last = self.fanout.replicas.last().map(|(id, _)| *id);
        let is_over = last.is_none() || last <= self.fanout.batch.served;
        let count = if is_over { self.fanout.batch.packets.len() } else { 0 };
        self.fanout.batch.packets.drain(..count)
    }

    pub(crate) fn has_packets(&self) -> bool {
        self.fanout.has_packets()
    }

    /// Takes out the next replica that is to be sent what it has kept.
    pub(crate) fn next_early(&mut self) -> Option<(ReplicaId, usize)> {
        let Fanout { replicas, early, .. } = &mut self.fanout;
        // Some may have been removed since.
        let slot_of = |id| replicas.binary_search_by_key(&id, |(id, _)| *id).ok();
        std::iter::from_fn(|| early.pop_front()).find_map(|id| slot_of(id).map(|index| replicas[index]))
    }

    /// Puts a replica back that has more to be sent.
    pub(crate) fn put_early_back(&mut self, id: ReplicaId) {
        self.fanout.early.push_front(id);
    }
}

impl Fanout {
    fn has_packets(&self) -> bool {
        !(self.early.is_empty() && self.waiting.is_empty() && self.batch.packets.is_empty())
    }
}

/// Pads video packets of nearly the same length to the longest: encoders cut a frame into packets
/// whose lengths differ by a byte, which would end a run in the middle of each frame.
fn even_out(packets: &mut [QueuedPacket]) {
    let mut rest = packets;
    while !rest.is_empty() {
        let (mut least, mut most) = (usize::MAX, 0);
        let alike = rest.iter().take_while(|queued| {
            let len = queued.packet.payload().len();
            (least, most) = (least.min(len), most.max(len));
            let is_picture = queued.packet.info().kind == MediaKind::Video;
            is_picture && most - least <= usize::from(PADDING_MAX)
        });
        let count = alike.count().max(1);
        let (stretch, others) = rest.split_at_mut(count);
        let longest = stretch.iter().map(|queued| queued.packet.payload().len()).max();
        for queued in stretch {
            queued.padding = (longest.unwrap_or_default() - queued.packet.payload().len()) as u8;
        }
        rest = others;
    }
}
