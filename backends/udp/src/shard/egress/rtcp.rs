//! RTCP of the agent.

use dataplane::{Counter, LegId};

use crate::shard::Shard;
use crate::shard::egress::seal::seal_rtcp;

impl Shard {
    /// Protects and sends RTCP on a leg.
    pub(crate) fn send_rtcp(&mut self, id: LegId, bytes: &[u8]) {
        if let Err(reason) = self.try_send_rtcp(id, bytes) {
            self.counters.count(reason);
        }
    }

    fn try_send_rtcp(&mut self, id: LegId, bytes: &[u8]) -> Result<(), Counter> {
        let slot = self.tables.leg_slots.get(&id).ok_or(Counter::NotReady)?;
        let leg = &mut self.tables.legs[*slot];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let mut run = leg.run;
        let buffer = self.egress.runs.buffer(id, &mut run);
        leg.run = run;
        let start = buffer.bytes.len();
        buffer.bytes.extend_from_slice(bytes);
        if let Err(reason) = seal_rtcp(leg, &mut buffer.bytes, start) {
            buffer.bytes.truncate(start);
            return Err(reason);
        }
        buffer.cut(path, start);
        Ok(())
    }
}
