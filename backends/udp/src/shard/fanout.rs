//! Which replicas see a stream's packets, and the packets that wait for them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::ReplicaId;
use wire::MediaKind;

use super::Life;
use super::hash::Mixed;
use super::leg::{insert_sorted, remove_sorted};
use super::packet::Packet;
use super::slab::Slab;

/// How many packets may wait for their replicas in one shard, of sound and of pictures each. Those
/// beyond are lost, and counted.
const WAITING_MAX: usize = 4_096;

/// How many packets of a stream are offered to a replica in one go: a whole picture, most often, so
/// that they leave in one run.
const TOGETHER: usize = 32;

/// A packet is padded by so many bytes at most.
const PADDING_MAX: u8 = 2;

/// A picture that has waited longer than this comes too late to be of use.
const HOPELESS: Duration = Duration::from_millis(250);

/// The fan-outs of a shard, by stream, and which of them have packets waiting.
#[derive(Default)]
pub(super) struct Fanouts {
    places: HashMap<Life, usize, Mixed>,
    fanouts: Slab<Fanout>,
    audio: Queue,
    video: Queue,
}

/// The fan-outs with packets waiting, in the order of their turns, and how many packets these are.
#[derive(Default)]
struct Queue {
    places: VecDeque<usize>,
    waiting: usize,
}

/// The replicas here of one stream, sorted by id, and its packets that wait for them.
#[derive(Debug, Default)]
struct Fanout {
    life: Life,
    replicas: Vec<(ReplicaId, usize)>,
    waiting: VecDeque<Arc<Packet>>,
    /// What is left of an interrupted turn.
    turn: Turn,
    /// The queue it is in.
    queued: Option<MediaKind>,
}

/// Packets that are offered together to one replica after the other.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) offered: Vec<Offered>,
    /// The last replica served, when the turn was interrupted. The list may change meanwhile; its
    /// order does not.
    behind: Option<ReplicaId>,
}

/// A packet and what became of it here.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) packet: Arc<Packet>,
    /// Bytes of padding that make it as long as its neighbours.
    pub(super) padding: u8,
    pub(super) progress: Progress,
    /// Whether it has waited so long that there must be more to do than can be done.
    pub(super) is_late: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Whether anybody here followed the stream.
    pub(super) followed: bool,
    /// Whether anybody here got the packet.
    pub(super) sent: bool,
}

/// A fan-out taken out to be served, to be [put back](Fanouts::put_back).
pub(super) struct Taken {
    place: usize,
    fanout: Fanout,
}

impl Fanouts {
    /// A replica is to see a stream's packets.
    pub(super) fn add(&mut self, life: Life, id: ReplicaId, replica: usize) {
        let fanouts = &mut self.fanouts;
        let place = *self.places.entry(life).or_insert_with(|| {
            fanouts.insert(Fanout {
                life,
                ..Fanout::default()
            })
        });
        insert_sorted(&mut fanouts[place].replicas, id, replica);
    }

    /// A replica is not to see them any more.
    pub(super) fn remove(&mut self, life: Life, id: ReplicaId) {
        if let Some(place) = self.places.get(&life).copied() {
            remove_sorted(&mut self.fanouts[place].replicas, id);
            self.tidy(place);
        }
    }

    /// A stream is gone; returns who followed it.
    pub(super) fn forget(&mut self, life: Life) -> Vec<(ReplicaId, usize)> {
        let Some(place) = self.places.get(&life).copied() else {
            return Vec::new();
        };
        let replicas = std::mem::take(&mut self.fanouts[place].replicas);
        self.tidy(place);
        replicas
    }

    /// Whether anybody here is to see a stream's packets.
    pub(super) fn has(&self, life: Life) -> bool {
        let place = self.places.get(&life);
        place.is_some_and(|place| !self.fanouts[*place].replicas.is_empty())
    }

    /// Has a packet wait for its replicas; gives it back when too much waits, or nobody here
    /// follows its stream.
    pub(super) fn push(&mut self, packet: Arc<Packet>) -> Result<(), Refused> {
        let facts = packet.facts();
        let Some(place) = self.places.get(&facts.life).copied() else {
            return Err(Refused::Unfollowed(packet));
        };
        // A stream may become one of the other kind while packets of it wait: those go first.
        let queued = self.fanouts[place].queued;
        let kind = queued.unwrap_or(facts.kind);
        let queue = self.queue(kind);
        if queue.waiting >= WAITING_MAX {
            return Err(Refused::Full(packet));
        }
        queue.waiting += 1;
        if queued.is_none() {
            queue.places.push_back(place);
        }
        let fanout = &mut self.fanouts[place];
        fanout.queued = Some(kind);
        fanout.waiting.push_back(packet);
        Ok(())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.audio.places.is_empty() && self.video.places.is_empty()
    }

    /// Takes out the fan-out whose turn it is.
    pub(super) fn next(&mut self, kind: MediaKind) -> Option<Taken> {
        let place = self.queue(kind).places.pop_front()?;
        Some(Taken {
            place,
            fanout: std::mem::take(&mut self.fanouts[place]),
        })
    }

    /// Puts a fan-out back, behind all others if it still has something waiting.
    pub(super) fn put_back(&mut self, taken: Taken, kind: MediaKind) {
        let Taken { place, mut fanout } = taken;
        let has_packets = !(fanout.waiting.is_empty() && fanout.turn.offered.is_empty());
        fanout.queued = has_packets.then_some(kind);
        if has_packets {
            self.queue(kind).places.push_back(place);
        }
        self.fanouts[place] = fanout;
        self.tidy(place);
    }

    /// Packets that were taken to be served do not wait any more.
    pub(super) fn begun(&mut self, kind: MediaKind, packets: usize) {
        self.queue(kind).waiting -= packets;
    }

    fn queue(&mut self, kind: MediaKind) -> &mut Queue {
        match kind {
            MediaKind::Audio => &mut self.audio,
            MediaKind::Video => &mut self.video,
        }
    }

    /// Drops a fan-out that nobody needs. One that is queued goes when its turn is over.
    fn tidy(&mut self, place: usize) {
        let fanout = &self.fanouts[place];
        if fanout.replicas.is_empty() && fanout.queued.is_none() {
            self.places.remove(&fanout.life);
            self.fanouts.remove(place);
        }
    }
}

/// Why a packet does not wait here.
pub(super) enum Refused {
    Unfollowed(Arc<Packet>),
    Full(Arc<Packet>),
}

impl Taken {
    /// The turn that was interrupted, or else a new one of the oldest packets. Says how many of
    /// them did not wait until then, and returns those that waited too long.
    pub(super) fn begin(&mut self, now: Instant, mut hopeless: impl FnMut(Arc<Packet>)) -> usize {
        if !self.fanout.turn.offered.is_empty() {
            return 0;
        }
        self.fanout.turn.behind = None;
        let count = self.fanout.waiting.len().min(TOGETHER);
        for packet in self.fanout.waiting.drain(..count) {
            let (kind, age) = (packet.facts().kind, now.saturating_duration_since(packet.facts().at));
            if kind == MediaKind::Video && age > HOPELESS {
                hopeless(packet);
                continue;
            }
            self.fanout.turn.offered.push(Offered {
                packet,
                padding: 0,
                progress: Progress::default(),
                is_late: false,
            });
        }
        if self.fanout.turn.offered.len() > 1 {
            even_out(&mut self.fanout.turn.offered);
        }
        count
    }

    /// The turn, and the next replicas that may be served with so many packets: at least one.
    pub(super) fn part(&mut self, budget: usize) -> (&mut Turn, &[(ReplicaId, usize)]) {
        let Fanout { replicas, turn, .. } = &mut self.fanout;
        let start = turn
            .behind
            .map_or(0, |behind| replicas.partition_point(|(id, _)| *id <= behind));
        let most = (budget / turn.offered.len().max(1)).max(1);
        let part = &replicas[start..replicas.len().min(start.saturating_add(most))];
        if let Some((last, _)) = part.last() {
            turn.behind = Some(*last);
        }
        (turn, part)
    }

    /// Ends the turn if everybody has been served; returns its packets then.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Offered> {
        let last = self.fanout.replicas.last().map(|(id, _)| *id);
        let is_over = last.is_none() || last <= self.fanout.turn.behind;
        let count = if is_over { self.fanout.turn.offered.len() } else { 0 };
        self.fanout.turn.offered.drain(..count)
    }

    pub(super) fn has_packets(&self) -> bool {
        !(self.fanout.waiting.is_empty() && self.fanout.turn.offered.is_empty())
    }
}

/// Pads pictures' packets of nearly the same length to the longest: encoders cut a frame into
/// packets whose lengths differ by a byte, which would end a run in the middle of each frame.
fn even_out(offered: &mut [Offered]) {
    let mut rest = offered;
    while !rest.is_empty() {
        let (mut least, mut most) = (usize::MAX, 0);
        let alike = rest.iter().take_while(|offered| {
            let len = offered.packet.payload().len();
            (least, most) = (least.min(len), most.max(len));
            let is_picture = offered.packet.facts().kind == MediaKind::Video;
            is_picture && most - least <= usize::from(PADDING_MAX)
        });
        let count = alike.count().max(1);
        let (stretch, others) = rest.split_at_mut(count);
        let longest = stretch.iter().map(|offered| offered.packet.payload().len()).max();
        for offered in stretch {
            offered.padding = (longest.unwrap_or_default() - offered.packet.payload().len()) as u8;
        }
        rest = others;
    }
}
