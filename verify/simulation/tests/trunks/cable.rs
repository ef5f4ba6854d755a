//! One direction of the way between two nodes: a bottleneck with a queue, and random losses.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wire::{PacketKind, RtpPacket, Ssrc};

/// The way from one node to the other.
pub(crate) struct Cable {
    /// Capacity. Shape: bits per second.
    pub(crate) rate: u64,
    /// The part of datagrams that is lost, 0 to 1.
    pub(crate) loss: f64,
    /// Media packets that were handed in, and those of them that were lost, by SSRC.
    pub(crate) media: Vec<(u32, bool)>,
    /// The last datagrams, whether or not they arrived.
    pub(crate) seen: Vec<Vec<u8>>,
    /// The indexes that were sealed, by SSRC: of RTP, and of RTCP. No two trunks have an SSRC in
    /// common.
    sealed: HashSet<(bool, Ssrc, u32)>,
    free_at: Instant,
    rng: StdRng,
}

/// One way, without queue.
pub(crate) const DELAY: Duration = Duration::from_millis(20);
/// The longest wait in the queue.
const QUEUE: Duration = Duration::from_millis(200);
/// How many datagrams are kept to look at.
const SEEN: usize = 64;

impl Cable {
    pub(crate) fn new(seed: u64, now: Instant) -> Self {
        Cable {
            rate: 100_000_000,
            loss: 0.0,
            media: Vec::new(),
            seen: Vec::new(),
            sealed: HashSet::new(),
            free_at: now,
            rng: StdRng::seed_from_u64(seed),
        }
    }

    /// Sends a datagram. Returns when it arrives, if it does.
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8]) -> Option<Instant> {
        let waits = self.free_at.saturating_duration_since(now);
        let is_lost = self.rng.random_bool(self.loss) || waits > QUEUE;
        if wire::classify(bytes) == PacketKind::Rtp
            && let Ok(packet) = RtpPacket::parse_protected(bytes)
        {
            self.media.push((packet.ssrc().0, is_lost));
        }
        assert!(self.is_sealed_anew(bytes), "an index was used twice");
        self.seen.push(bytes.to_vec());
        if self.seen.len() > SEEN {
            self.seen.remove(0);
        }
        if is_lost {
            return None;
        }
        let time = Duration::from_micros(bytes.len() as u64 * 8_000_000 / self.rate);
        self.free_at = self.free_at.max(now) + time;
        Some(self.free_at + DELAY)
    }

    /// Notes the index of a sealed packet. Tests are too short for an RTP number to come again.
    fn is_sealed_anew(&mut self, bytes: &[u8]) -> bool {
        let Some(ssrc) = wire::ssrc(bytes) else { return true };
        let is_rtcp = wire::classify(bytes) == PacketKind::Rtcp;
        let index = match bytes.last_chunk() {
            // RFC 7714 section 9.1: the index of SRTCP is last.
            Some(word) if is_rtcp => u32::from_be_bytes(*word),
            _ => u32::from(u16::from_be_bytes([bytes[2], bytes[3]])),
        };
        self.sealed.insert((is_rtcp, ssrc, index))
    }

    /// How many packets with these SSRCs were handed in, and how many of them were lost.
    pub(crate) fn count(&self, ssrcs: &[u32]) -> (usize, usize) {
        let theirs = self.media.iter().filter(|(ssrc, _)| ssrcs.contains(ssrc));
        (theirs.clone().count(), theirs.filter(|(_, is_lost)| *is_lost).count())
    }
}
