//! A burst at a rate of its own.

use std::time::{Duration, Instant};

use crate::limits::{PROBE_PACKETS_MAX, PROBE_TIME_MAX};

/// Lateness of a probe's packet that is made up for: about what a sleeping thread oversleeps.
/// Beyond it the probe takes longer.
const LATENESS_MAX: Duration = Duration::from_millis(5);

/// A burst to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name, which is returned with every packet of it.
    pub id: u32,
    /// How fast, in bits per second.
    pub rate: u64,
    /// The least number of bytes.
    pub bytes: u32,
    /// The least number of packets.
    pub packets: u32,
}

/// A probe that is under way or waits for its turn.
#[derive(Debug)]
pub(crate) struct Probing {
    probe: Probe,
    left_bytes: u32,
    left_packets: u32,
    /// How many more it may have at most.
    allowed: u32,
    times: Option<Times>,
}

/// Of a probe whose first packet has left.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// The time of its next packet.
    next: Instant,
    /// When it is over in any case.
    end: Instant,
}

impl Probing {
    pub(crate) fn new(probe: Probe) -> Self {
        Probing {
            probe,
            left_bytes: probe.bytes,
            left_packets: probe.packets,
            allowed: PROBE_PACKETS_MAX,
            times: None,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.probe.id
    }

    /// When something is to be done about it; `None` for at once.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.times.map(|times| times.next.min(times.end))
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.times.is_none_or(|times| times.next <= now)
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let complete = self.left_bytes == 0 && self.left_packets == 0;
        complete || self.allowed == 0 || self.times.is_some_and(|times| times.end <= now)
    }

    /// A packet of it has left.
    pub(crate) fn count(&mut self, now: Instant, bytes: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes as u32);
        self.left_packets = self.left_packets.saturating_sub(1);
        self.allowed = self.allowed.saturating_sub(1);
        let took = Duration::from_secs_f64(bytes as f64 * 8.0 / self.probe.rate.max(1) as f64);
        let times = self.times.get_or_insert(Times {
            next: now,
            end: now + PROBE_TIME_MAX,
        });
        times.next = times.next.max(now.checked_sub(LATENESS_MAX).unwrap_or(now)) + took;
    }
}
