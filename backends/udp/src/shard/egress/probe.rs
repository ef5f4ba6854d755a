//! Probes: padding sent at a rate of its own.

use std::time::Instant;

use dataplane::limits::PROBE_PACKETS_MAX;
use dataplane::{Counter, LegId};
use pacing::Probe;

use crate::shard::Shard;
use crate::shard::egress::write::write_padding;
use crate::shard::rewrite::BatchTime;

impl Shard {
    /// Sends a probe, at its own rate on a leg with a pace, else at once.
    pub(crate) fn probe(&mut self, now: Instant, id: LegId, probe: Probe) {
        let time = BatchTime::new(now, &self.clock);
        let Some(slot) = self.tables.leg_slots.get(&id).copied() else {
            return self.counters.count(Counter::NotReady);
        };
        let sent = match (self.tables.may_pad(slot), &mut self.tables.legs[slot].pace) {
            (Err(reason), _) => Err(reason),
            (Ok(_), None) => self.pad_at_once(slot, probe, &time),
            (Ok(_), Some(pace)) => {
                pace.pacer.probe(probe);
                self.send_due_of(slot, &time);
                Ok(())
            }
        };
        if let Err(reason) = sent {
            self.counters.count(reason);
        }
    }

    fn pad_at_once(&mut self, leg: usize, probe: Probe, time: &BatchTime) -> Result<(), Counter> {
        let (mut left_bytes, mut left_packets) = (probe.bytes as usize, probe.packets);
        for _ in 0..PROBE_PACKETS_MAX {
            if left_bytes == 0 && left_packets == 0 {
                return Ok(());
            }
            let sent = self.pad(leg, Some(probe.id), time)?;
            left_bytes = left_bytes.saturating_sub(sent);
            left_packets = left_packets.saturating_sub(1);
        }
        Ok(())
    }

    /// Sends one packet of padding, on the retransmission SSRC of the first replica that has one;
    /// returns its size.
    pub(super) fn pad(&mut self, leg: usize, probe: Option<u32>, time: &BatchTime) -> Result<usize, Counter> {
        let slot = self.tables.may_pad(leg)?;
        let replica = &mut self.tables.replicas[slot];
        let leg = &mut self.tables.legs[leg];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let sent = write_padding(&mut self.egress, leg, path, replica, probe, time)?;
        replica.rtx_next += 1;
        self.counters.count(Counter::Probed);
        Ok(sent)
    }

    pub(super) fn end_probe(&mut self, leg: usize) {
        if let Some(pace) = &mut self.tables.legs[leg].pace {
            pace.pacer.end_probe();
        }
    }
}
