//! Packets in place of missing media.

use std::time::Instant;

use dataplane::{Counter, ReplicaId};

use crate::channel::Fill;
use crate::shard::Shard;
use crate::shard::egress::write::{GeneratedPacket, write_made};
use crate::shard::rewrite::{BatchTime, RtpIdentity};

/// Padding of a packet that has nothing else; the last byte says how much there is (RFC 3550
/// section 5.1).
const PADDING: [u8; 4] = [0, 0, 0, 4];

impl Shard {
    /// Sends one of a replica that has not followed any stream.
    pub(crate) fn fill(&mut self, now: Instant, id: ReplicaId, fill: &Fill) {
        if let Err(reason) = self.try_fill(now, id, fill) {
            self.counters.count(reason);
        }
    }

    fn try_fill(&mut self, now: Instant, id: ReplicaId, fill: &Fill) -> Result<(), Counter> {
        let Some(slot) = self.tables.replica_slots.get(&id).copied() else {
            return Ok(());
        };
        let replica = &mut self.tables.replicas[slot];
        if !replica.may_fill() {
            return Ok(());
        }
        let leg = &mut self.tables.legs[replica.leg];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let (number, timestamp) = replica.next_fill(now, fill.clock_rate);
        let made = GeneratedPacket {
            identity: RtpIdentity {
                ssrc: replica.entry.ssrc,
                payload_type: fill.payload_type,
                index: number - (1 << 16),
                original: None,
            },
            timestamp,
            has_padding: fill.payload.is_empty(),
            bytes: match &fill.payload[..] {
                [] => &PADDING,
                payload => payload,
            },
        };
        let time = BatchTime::new(now, &self.clock);
        write_made(&mut self.egress, leg, path, replica, &made, None, &time)?;
        replica.filled(now, number, timestamp);
        replica.statistics.packets += 1;
        replica.statistics.octets += fill.payload.len() as u64;
        self.counters.count(Counter::Filled);
        Ok(())
    }
}
