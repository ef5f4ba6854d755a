//! Limits repairs while the node itself loses packets.
//!
//! A packet that a late worker lost is asked for and sent again, which adds to that worker's load.
//! Each receiver also asks for it, up to ten times, in vain, because it is not here. Without a
//! limit, a short overload would last as long as the calls. So while the device loses packets,
//! publishers are asked for a small part of the arrivals, over all streams. Further losses are left
//! to key frames, which are limited too ([`key_frames`](super::key_frames)). Few packets of each
//! subscription are sent again ([`RESENDS_PER_SECOND_MIN`](crate::limits::RESENDS_PER_SECOND_MIN)).

use std::time::{Duration, Instant};

use dataplane::{Counter, DataPlane};

/// Arrivals for each packet that is asked for, while the device loses packets.
const ARRIVALS_PER_PACKET: u32 = 16;

/// The most arrivals that may be saved up: a few packets of each of a few streams.
const SAVED_MAX: u32 = 64 * ARRIVALS_PER_PACKET;

/// How long after it was seen a loss counts.
const HOLD: Duration = Duration::from_millis(500);

/// How often the device is asked, at most.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Packets lost by the device, and the NACKs allowed in the meantime.
#[derive(Debug, Default)]
pub(super) struct Overload {
    looked: Option<Instant>,
    lost: u64,
    seen: Option<Instant>,
    saved: u32,
}

impl Overload {
    /// `packets` packets arrived.
    pub(super) fn arrived(&mut self, packets: usize) {
        self.saved = self.saved.saturating_add(packets as u32).min(SAVED_MAX);
    }

    /// How many packets publishers may be asked for now.
    pub(super) fn room(&mut self, now: Instant, plane: &mut dyn DataPlane) -> usize {
        match self.is_seen(now, plane) {
            true => (self.saved / ARRIVALS_PER_PACKET) as usize,
            false => usize::MAX,
        }
    }

    /// Whether the device loses packets.
    pub(super) fn is_seen(&mut self, now: Instant, plane: &mut dyn DataPlane) -> bool {
        let is_recent = |at: Option<Instant>, limit| at.is_some_and(|at| now.saturating_duration_since(at) < limit);
        if !is_recent(self.looked, LOOK_INTERVAL) {
            self.looked = Some(now);
            // Its queues to the agent do not count: one peer can fill them.
            let lost = plane.counters()[Counter::ReceiveOverflow];
            if std::mem::replace(&mut self.lost, lost) != lost {
                self.seen = Some(now);
            }
        }
        is_recent(self.seen, HOLD)
    }

    /// `packets` packets were asked for.
    pub(super) fn asked(&mut self, packets: usize) {
        let cost = (packets as u32).saturating_mul(ARRIVALS_PER_PACKET);
        self.saved = self.saved.saturating_sub(cost);
    }
}

#[cfg(test)]
mod tests {
    use dataplane::Clock;
    use virtual_device::Plane;
    use wire::NtpTime;

    use super::*;

    fn device(origin: Instant) -> Plane {
        Plane::new(Clock {
            origin,
            ntp: NtpTime(0),
        })
    }

    #[test]
    fn requests_are_unbounded_without_overload() {
        let (now, mut overload) = (Instant::now(), Overload::default());
        overload.asked(1_000);
        assert_eq!(overload.room(now, &mut device(now)), usize::MAX);
    }

    #[test]
    fn while_the_device_loses_packets_few_are_asked_for() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut device, mut overload) = (device(start), Overload::default());
        device.lose(Counter::ReceiveOverflow, 7);
        assert_eq!(overload.room(at(0), &mut device), 0);
        overload.arrived(3 * ARRIVALS_PER_PACKET as usize);
        assert_eq!(overload.room(at(0), &mut device), 3);
        overload.asked(2);
        assert_eq!(overload.room(at(1), &mut device), 1);
        overload.arrived(1_000_000);
        assert_eq!(
            overload.room(at(1), &mut device),
            64,
            "not more than a little is saved up"
        );
        device.lose(Counter::ReceiveOverflow, 1);
        assert_eq!(overload.room(at(60), &mut device), 64);
        assert_eq!(overload.room(at(559), &mut device), 64);
        assert_eq!(
            overload.room(at(560), &mut device),
            usize::MAX,
            "half a second without loss"
        );
    }
}
