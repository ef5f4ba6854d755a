//! Spreads what leaves on one leg, so that a key frame does not fill a thin downlink's queue, and sends probes.
//!
//! Sans-IO: packets of any type go in with their class, and come out when they may leave. What leaves together within a few
//! milliseconds leaves as one burst, which a socket sends with one call.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::PACER_BYTES_MAX;
use crate::{Probe, ProbeId};

/// How much faster than the estimate packets leave: fast enough that a pacer adds little delay, slow enough that the path's queue
/// stays short.
const FACTOR: f64 = 2.5;
/// As much as leaves in this time may leave at once.
const BURST: Duration = Duration::from_millis(5);
/// A packet waits no longer than this; the rate rises as far as that takes.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// What padding packets carry. Shape: bytes of UDP payload.
const PADDING_MIN: u32 = 200;
const PADDING_MAX: u32 = 1200;

/// What a packet is, in the order in which they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Sound never waits: it is small, and a gap in it is heard.
    Audio,
    /// A packet that was asked for again, which a whole frame waits for.
    Resend,
    /// Everything else.
    Video,
}

/// What may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave<T> {
    /// A packet, perhaps as part of a probe.
    Packet {
        /// As it was pushed.
        item: T,
        /// The probe it is part of.
        probe: Option<ProbeId>,
    },
    /// Padding for a probe, or a retransmission of about this size in its place.
    Padding {
        /// Bytes of UDP payload.
        bytes: u32,
        /// The probe it is part of.
        probe: ProbeId,
    },
}

/// One leg's pacer.
#[derive(Debug)]
pub struct Pacer<T> {
    queues: [VecDeque<(u32, T)>; 3],
    queued: usize,
    /// Shape: bits per second.
    rate: f64,
    /// When everything sent so far would have left at the pacing rate.
    clear: Option<Instant>,
    probes: VecDeque<Probing>,
}

#[derive(Debug)]
struct Probing {
    probe: Probe,
    packets: u32,
    bytes: u32,
    /// When its next packet leaves.
    next: Option<Instant>,
}

impl<T> Pacer<T> {
    /// A pacer for a path that carries so many bits per second.
    pub fn new(estimate: u64) -> Self {
        Self {
            queues: Default::default(),
            queued: 0,
            rate: estimate as f64,
            clear: None,
            probes: VecDeque::new(),
        }
    }

    /// The path carries so many bits per second.
    pub fn set_estimate(&mut self, estimate: u64) {
        self.rate = estimate as f64;
    }

    /// A burst to send as soon as possible.
    pub fn probe(&mut self, probe: Probe) {
        self.probes.push_back(Probing {
            probe,
            packets: 0,
            bytes: 0,
            next: None,
        });
    }

    /// A packet to send.
    ///
    /// Errors: the packet, when [`PACER_BYTES_MAX`] wait already.
    pub fn push(&mut self, class: Class, bytes: u32, item: T) -> Result<(), T> {
        if self.queued + bytes as usize > PACER_BYTES_MAX {
            return Err(item);
        }
        self.queued += bytes as usize;
        self.queues[class as usize].push_back((bytes, item));
        Ok(())
    }

    /// What leaves now. Call until there is nothing.
    pub fn poll(&mut self, now: Instant) -> Option<Leave<T>> {
        if let Some((bytes, item)) = self.take(Class::Audio..=Class::Audio) {
            let probe = self.probed(now, bytes);
            self.charge(now, bytes);
            return Some(Leave::Packet { item, probe });
        }
        if !self.probes.is_empty() {
            return self.poll_probe(now);
        }
        if self.clear.is_some_and(|clear| clear > now + BURST) {
            return None;
        }
        let (bytes, item) = self.take(Class::Resend..=Class::Video)?;
        self.charge(now, bytes);
        Some(Leave::Packet { item, probe: None })
    }

    fn poll_probe(&mut self, now: Instant) -> Option<Leave<T>> {
        let probing = self.probes.front()?;
        if probing.next.is_some_and(|next| next > now) {
            return None;
        }
        let (id, padding) = (probing.probe.id, probing.padding());
        let (bytes, leave) = match self.take(Class::Resend..=Class::Video) {
            Some((bytes, item)) => (bytes, Leave::Packet { item, probe: Some(id) }),
            None => (
                padding,
                Leave::Padding {
                    bytes: padding,
                    probe: id,
                },
            ),
        };
        self.probed(now, bytes);
        self.charge(now, bytes);
        Some(leave)
    }

    /// Bytes leave while a probe runs, if one does, and are part of it.
    fn probed(&mut self, now: Instant, bytes: u32) -> Option<ProbeId> {
        let probing = self.probes.front_mut()?;
        let id = probing.probe.id;
        probing.packets += 1;
        probing.bytes += bytes;
        let took = Duration::from_secs_f64(f64::from(bytes) * 8.0 / probing.probe.rate.max(1) as f64);
        probing.next = Some(probing.next.unwrap_or(now).max(now - took.min(BURST)) + took);
        if probing.packets >= probing.probe.packets && probing.bytes >= probing.probe.bytes {
            self.probes.pop_front();
        }
        Some(id)
    }

    fn take(&mut self, classes: std::ops::RangeInclusive<Class>) -> Option<(u32, T)> {
        let queues = &mut self.queues[*classes.start() as usize..=*classes.end() as usize];
        let (bytes, item) = queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.queued -= bytes as usize;
        Some((bytes, item))
    }

    fn charge(&mut self, now: Instant, bytes: u32) {
        let took = Duration::from_secs_f64(f64::from(bytes) * 8.0 / self.pace());
        self.clear = Some(self.clear.map_or(now, |clear| clear.max(now)) + took);
    }

    /// Shape: bits per second.
    fn pace(&self) -> f64 {
        let in_time = self.queued as f64 * 8.0 / WAIT_MAX.as_secs_f64();
        (FACTOR * self.rate).max(in_time).max(1.0)
    }

    /// When to poll again, if anything waits.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.probes.front() {
            Some(probing) => probing.next,
            None if self.queued > 0 => Some(self.clear? - BURST),
            None => None,
        }
    }

    /// Bytes that wait.
    pub fn queued(&self) -> usize {
        self.queued
    }
}

impl Probing {
    /// A size with which the packets still needed make up the bytes still needed.
    fn padding(&self) -> u32 {
        let packets = self.probe.packets.saturating_sub(self.packets).max(1);
        let bytes = self.probe.bytes.saturating_sub(self.bytes);
        (bytes / packets).clamp(PADDING_MIN, PADDING_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn now() -> Instant {
        Instant::now()
    }

    fn at(pacer: &mut Pacer<u32>, now: Instant) -> Vec<Leave<u32>> {
        std::iter::from_fn(|| pacer.poll(now)).collect()
    }

    #[test]
    fn a_key_frame_leaves_at_two_and_a_half_times_the_estimate() {
        let (mut pacer, start) = (Pacer::new(400_000), now());
        for packet in 0..25 {
            pacer.push(Class::Video, 1000, packet).unwrap();
        }
        // 200 kbit at 1 Mbit/s.
        let mut left = 0;
        for millisecond in 0..=190 {
            left += at(&mut pacer, start + Duration::from_millis(millisecond)).len();
            let due = (millisecond + 5) / 8 + 1;
            assert_eq!(left as u64, due.min(25), "after {millisecond} ms");
        }
    }

    #[test]
    fn sound_does_not_wait_behind_pictures() {
        let (mut pacer, start) = (Pacer::new(100_000), now());
        for packet in 0..10 {
            pacer.push(Class::Video, 1000, packet).unwrap();
        }
        at(&mut pacer, start);
        pacer.push(Class::Audio, 100, 99).unwrap();
        let sound = Leave::Packet { item: 99, probe: None };
        assert_eq!(at(&mut pacer, start), [sound]);
    }

    #[test]
    fn a_probe_is_filled_up_with_padding_at_its_own_rate() {
        let (mut pacer, start) = (Pacer::new(300_000), now());
        pacer.push(Class::Video, 1000, 1).unwrap();
        pacer.probe(Probe {
            id: ProbeId(1),
            rate: 1_600_000,
            bytes: 5000,
            packets: 5,
        });
        let first = Leave::Packet {
            item: 1,
            probe: Some(ProbeId(1)),
        };
        assert_eq!(at(&mut pacer, start), [first]);
        let padding = Leave::Padding {
            bytes: 1000,
            probe: ProbeId(1),
        };
        for packet in 1..5 {
            assert_eq!(at(&mut pacer, start + Duration::from_millis(5 * packet)), [padding]);
        }
        assert!(at(&mut pacer, start + Duration::from_millis(25)).is_empty());
    }

    #[test]
    fn a_full_pacer_gives_packets_back() {
        let mut pacer = Pacer::new(1);
        pacer.push(Class::Video, PACER_BYTES_MAX as u32, 1).unwrap();
        assert_eq!(pacer.push(Class::Audio, 1, 2), Err(2));
    }
}
