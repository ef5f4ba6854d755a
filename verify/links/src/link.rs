//! One bottleneck with a drop-tail queue, and the path after it.

use std::collections::VecDeque;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Capacity;
use crate::loss::{Loss, Losses};

/// Additional delay of a reordered packet. Shape: milliseconds.
const REORDERED: std::ops::Range<u64> = 5..25;
const CROSS_PACKET: u16 = 1200;

/// Settings of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Capacity of the bottleneck. Sizes are those of UDP payloads: headers are left out on both
    /// sides of every comparison.
    pub capacity: Capacity,
    /// How much waiting the queue holds at the present rate; a packet beyond it is dropped.
    pub queue: Duration,
    /// Loss after the bottleneck.
    pub loss: Loss,
    /// One way, without queue.
    pub delay: Duration,
    /// Mean of the random delay, which keeps the order.
    pub jitter: Duration,
    /// Part of the packets that are reordered.
    pub reordering: f64,
    /// Interval of times in which the receiver has no processor, and their greatest length: it sees
    /// packets of that time afterwards.
    pub stalls: Option<(Duration, Duration)>,
    /// Traffic that does not adapt, on the same queue. Shape: as a capacity.
    pub cross: Option<Capacity>,
}

/// A packet on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) flow: usize,
    pub(crate) number: u16,
    pub(crate) size: u16,
    /// When it entered the queue.
    pub(crate) entered: Duration,
}

/// A packet at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) at: Duration,
    pub(crate) packet: Packet,
}

/// Cross traffic's packets belong to nobody.
const NOBODY: usize = usize::MAX;

/// The bottleneck.
pub(crate) struct Link {
    path: Path,
    rng: StdRng,
    losses: Losses,
    waiting: VecDeque<Packet>,
    waiting_bytes: u64,
    /// When the packet being sent is gone.
    free_at: Duration,
    /// When the last packet in order arrived.
    in_order: Duration,
    /// Begin and end of the receiver's stall, with random numbers of its own: other paths stay the
    /// same.
    stall: (Duration, Duration),
    stall_rng: StdRng,
    /// Bytes of cross traffic due.
    cross_due: f64,
    /// Bytes of cross traffic offered so far.
    pub(crate) crossed: u64,
    stepped: Duration,
    /// How long the last packet waited.
    pub(crate) waited: Duration,
    pub(crate) dropped: u64,
}

impl Link {
    pub(crate) fn new(path: Path, seed: u64) -> Self {
        Self {
            losses: Losses::new(path.loss),
            path,
            rng: StdRng::seed_from_u64(seed),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: Duration::ZERO,
            in_order: Duration::ZERO,
            stall: (Duration::ZERO, Duration::ZERO),
            stall_rng: StdRng::seed_from_u64(seed.wrapping_mul(7919)),
            cross_due: 0.0,
            crossed: 0,
            stepped: Duration::ZERO,
            waited: Duration::ZERO,
            dropped: 0,
        }
    }

    /// A packet enters the queue, if there is room.
    pub(crate) fn offer(&mut self, packet: Packet) {
        let backlog = (self.waiting_bytes + u64::from(packet.size)) as f64 * 8.0;
        if backlog / self.path.capacity.at(packet.entered) > self.path.queue.as_secs_f64() && !self.waiting.is_empty() {
            self.dropped += 1;
            return;
        }
        self.waiting_bytes += u64::from(packet.size);
        self.waiting.push_back(packet);
    }

    /// Moves the packets on their way whose sending begins before `now`.
    pub(crate) fn step(&mut self, now: Duration, out: &mut Vec<Arrived>) {
        self.cross(now);
        while let Some(packet) = self.waiting.front().copied() {
            let begins = self.free_at.max(packet.entered);
            if begins >= now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(packet.size);
            let takes = f64::from(packet.size) * 8.0 / self.path.capacity.at(begins);
            self.free_at = begins + Duration::from_secs_f64(takes);
            self.waited = begins - packet.entered;
            if packet.flow != NOBODY && !self.losses.next(&mut self.rng) {
                let at = self.travel(self.free_at);
                out.push(Arrived { at, packet });
            }
        }
        if self.waiting.is_empty() {
            self.waited = Duration::ZERO;
        }
    }

    fn travel(&mut self, left: Duration) -> Duration {
        let jitter = self.path.jitter.mul_f64(exponential(&mut self.rng).min(4.0));
        if self.rng.random_bool(self.path.reordering) {
            return left + self.path.delay + jitter + Duration::from_millis(self.rng.random_range(REORDERED));
        }
        let at = self.seen(left + self.path.delay + jitter);
        self.in_order = self.in_order.max(at);
        self.in_order
    }

    /// The time when the receiver sees a packet that arrives at this time.
    fn seen(&mut self, at: Duration) -> Duration {
        let Some((every, most)) = self.path.stalls else {
            return at;
        };
        while at >= self.stall.1 {
            let from = self.stall.1 + every.mul_f64(exponential(&mut self.stall_rng));
            self.stall = (from, from + most.mul_f64(self.stall_rng.random_range(0.0..1.0)));
        }
        if at < self.stall.0 { at } else { self.stall.1 }
    }

    fn cross(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.stepped);
        self.stepped = now;
        let Some(cross) = &self.path.cross else {
            return;
        };
        self.cross_due += cross.at(now) / 8.0 * passed.as_secs_f64();
        while self.cross_due >= f64::from(CROSS_PACKET) {
            // Packets of uneven distance, the same rate over time.
            self.cross_due -= f64::from(CROSS_PACKET) * exponential(&mut self.rng).max(0.1);
            self.crossed += u64::from(CROSS_PACKET);
            self.offer(Packet {
                flow: NOBODY,
                number: 0,
                size: CROSS_PACKET,
                entered: now,
            });
        }
    }
}

impl Path {
    /// Capacity left for adaptive flows. Shape: bits per second.
    pub fn available(&self, at: Duration) -> f64 {
        let cross = self.cross.as_ref().map_or(0.0, |cross| cross.at(at));
        self.capacity.at(at) - cross
    }
}

fn exponential(rng: &mut StdRng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}
