//! One receiver's pacer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::{BYTES_MAX, PACKETS_MAX, PROBES_MAX, WAIT_MAX};
use crate::probe::{Probe, Probing};

/// The amount sent at the pace in this time may be sent at once. A socket sends it with one call,
/// and a thread that oversleeps by a millisecond or two loses nothing.
const BURST: Duration = Duration::from_millis(5);

/// Packets for which memory is kept when none waits. A queue that grew beyond this is given back to
/// the allocator.
const PACKETS_KEPT: usize = 256;

/// The class of a packet, in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Audio never waits: it is small, and a gap in it is heard.
    Audio,
    /// A packet that was asked for again, which a whole frame waits for.
    Resend,
    /// Everything else.
    Video,
}

/// An item that may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave<T> {
    /// A packet that waited.
    Packet(T),
    /// Padding, of any size: a probe is under way and no packet waits.
    Padding,
}

/// Too much waits: the packet that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<T>(pub T);

/// Decides when packets to one receiver may be sent, and queues those that may not yet.
///
/// A packet for which [`may_leave`](Self::may_leave) holds is sent. Any other is
/// [`push`](Self::push)ed, and returned by [`poll`](Self::poll) later. Every packet that is sent,
/// queued or not, is reported with [`left`](Self::left). Packets of one class leave in the order in
/// which they were pushed.
#[derive(Debug)]
pub struct Pacer<T> {
    resends: VecDeque<Waiting<T>>,
    videos: VecDeque<Waiting<T>>,
    queued: usize,
    /// Shape: bits per second.
    pace: f64,
    /// The pace that sends waiting packets in time; zero when none waits.
    raised: f64,
    /// The amount sent ahead of the pace, as of `at`. Shape: bits.
    debt: f64,
    at: Instant,
    probes: VecDeque<Probing>,
}

#[derive(Debug)]
struct Waiting<T> {
    since: Instant,
    bytes: u32,
    item: T,
}

impl<T> Pacer<T> {
    /// A pacer with a pace in bits per second.
    pub fn new(now: Instant, pace: u64) -> Self {
        Pacer {
            resends: VecDeque::new(),
            videos: VecDeque::new(),
            queued: 0,
            pace: pace.max(1) as f64,
            raised: 0.0,
            debt: 0.0,
            at: now,
            probes: VecDeque::new(),
        }
    }

    /// Changes the pace, in bits per second.
    pub fn set_pace(&mut self, now: Instant, pace: u64) {
        self.settle(now);
        self.pace = pace.max(1) as f64;
    }

    /// Whether a packet may be sent at once: no packet of a higher class waits, and the pace has
    /// room for it.
    pub fn may_leave(&mut self, now: Instant, class: Class) -> bool {
        let is_next = match class {
            Class::Audio => return true,
            Class::Resend => self.resends.is_empty(),
            Class::Video => self.resends.is_empty() && self.videos.is_empty(),
        };
        is_next && self.is_open(now)
    }

    /// Queues a packet of about `bytes` bytes until it may be sent.
    ///
    /// Errors: [`Full`] at one of the [`limits`](crate::limits).
    pub fn push(&mut self, now: Instant, class: Class, bytes: usize, item: T) -> Result<(), Full<T>> {
        if self.queued + bytes > BYTES_MAX || self.resends.len() + self.videos.len() >= PACKETS_MAX {
            return Err(Full(item));
        }
        self.settle(now);
        self.queued += bytes;
        let in_time = (self.debt + self.queued as f64 * 8.0) / WAIT_MAX.as_secs_f64();
        self.raised = self.raised.max(in_time);
        let queue = match class {
            Class::Resend => &mut self.resends,
            Class::Audio | Class::Video => &mut self.videos,
        };
        queue.push_back(Waiting {
            since: now,
            bytes: bytes as u32,
            item,
        });
        Ok(())
    }

    /// Queues a burst, to be sent as soon as possible after earlier ones.
    pub fn probe(&mut self, probe: Probe) {
        let probing = Probing::new(probe);
        if self.probes.len() < PROBES_MAX && !probing.is_over(self.at) {
            self.probes.push_back(probing);
        }
    }

    /// The next item that may be sent now. Call it until there is none, and report each packet that
    /// was sent in between.
    pub fn poll(&mut self, now: Instant) -> Option<Leave<T>> {
        while self.probes.front().is_some_and(|probing| probing.is_over(now)) {
            self.probes.pop_front();
        }
        if let Some(item) = self.take_overdue(now) {
            return Some(Leave::Packet(item));
        }
        if !self.is_open(now) {
            return None;
        }
        match self.take() {
            Some(item) => Some(Leave::Packet(item)),
            None if self.probes.is_empty() => None,
            None => Some(Leave::Padding),
        }
    }

    /// `bytes` bytes were sent; returns the probe that they belong to.
    pub fn left(&mut self, now: Instant, bytes: usize) -> Option<u32> {
        self.settle(now);
        // Audio is sent even without room. Its debt is bounded, so that it does not hold up
        // everything else for ever.
        let most = self.rate() * WAIT_MAX.as_secs_f64();
        self.debt = (self.debt + bytes as f64 * 8.0).min(most.max(self.debt));
        let probing = self.probes.front_mut()?;
        let id = probing.id();
        probing.count(now, bytes);
        if probing.is_over(now) {
            self.probes.pop_front();
        }
        Some(id)
    }

    /// Gives up the probe that is under way, for lack of padding.
    pub fn end_probe(&mut self) {
        self.probes.pop_front();
    }

    /// The time of the next [`poll`](Self::poll), if a packet is to be sent by itself.
    pub fn due(&self) -> Option<Instant> {
        let oldest = [&self.resends, &self.videos].into_iter().filter_map(VecDeque::front);
        let latest = oldest.map(|waiting| waiting.since + WAIT_MAX).min();
        let open = match self.probes.front() {
            Some(probing) => Some(probing.due().unwrap_or(self.at)),
            None => latest.map(|_| self.opens()),
        };
        open.into_iter().chain(latest).min()
    }

    /// Takes the next waiting packet, even if it may not be sent yet: for a caller that sends all
    /// packets, or none.
    pub fn take(&mut self) -> Option<T> {
        match self.resends.pop_front() {
            Some(waiting) => Some(self.taken(waiting)),
            None => self.take_video(),
        }
    }

    /// Forgets the packets for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.resends.retain(|waiting| keep(&waiting.item));
        self.videos.retain(|waiting| keep(&waiting.item));
        let waiting = self.resends.iter().chain(&self.videos);
        self.queued = waiting.map(|waiting| waiting.bytes as usize).sum();
        self.lower();
    }

    /// Bytes that wait.
    pub fn queued(&self) -> usize {
        self.queued
    }

    fn take_video(&mut self) -> Option<T> {
        let waiting = self.videos.pop_front()?;
        Some(self.taken(waiting))
    }

    fn taken(&mut self, waiting: Waiting<T>) -> T {
        self.queued -= waiting.bytes as usize;
        self.lower();
        waiting.item
    }

    /// A pace that was raised for a queue stays raised until the queue is empty: if it fell with
    /// the queue, the last packets would wait too long.
    fn lower(&mut self) {
        if self.resends.is_empty() && self.videos.is_empty() {
            self.raised = 0.0;
            self.resends.shrink_to(PACKETS_KEPT);
            self.videos.shrink_to(PACKETS_KEPT);
        }
    }

    /// Whether there is room for a packet at the pace, or at the probe's.
    fn is_open(&mut self, now: Instant) -> bool {
        if let Some(probing) = self.probes.front() {
            return probing.is_due(now);
        }
        self.settle(now);
        self.debt <= self.rate() * BURST.as_secs_f64()
    }

    /// The time when the pace has room for a few packets, which are then sent together.
    fn opens(&self) -> Instant {
        let debt = (self.debt - self.rate() * BURST.as_secs_f64() / 2.0).max(0.0);
        self.at + Duration::from_secs_f64((debt / self.rate()).min(WAIT_MAX.as_secs_f64()))
    }

    /// A packet that audio, retransmissions or probes have kept waiting too long.
    fn take_overdue(&mut self, now: Instant) -> Option<T> {
        let overdue =
            |queue: &VecDeque<Waiting<T>>| queue.front().is_some_and(|waiting| waiting.since + WAIT_MAX <= now);
        if overdue(&self.videos) {
            return self.take_video();
        }
        overdue(&self.resends).then(|| self.take()).flatten()
    }

    fn settle(&mut self, now: Instant) {
        // Of packets that are handled together only the first finds anything to settle.
        if now == self.at {
            return;
        }
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.debt = (self.debt - elapsed * self.rate()).max(0.0);
        self.at = self.at.max(now);
    }

    fn rate(&self) -> f64 {
        self.pace.max(self.raised)
    }
}

#[cfg(test)]
mod tests;
