//! Statistics of streams and replicas, for the agent.

use std::time::Instant;

use dataplane::LegId;

use crate::channel::Report;
use crate::shard::Shard;

impl Shard {
    /// Reports every stream of a leg and every replica sent to it, in the order of their ids.
    pub(crate) fn report_statistics(&mut self, now: Instant, id: LegId) {
        let Some(slot) = self.tables.leg_slots.get(&id) else {
            return;
        };
        let leg = &self.tables.legs[*slot];
        for (_, slot) in &leg.streams {
            let stream = &self.tables.streams[*slot];
            let report = Report::Stream(Box::new((stream.key, stream.statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
        for (id, slot) in &leg.replicas {
            let statistics = self.tables.replicas[*slot].report();
            let report = Report::Replica(Box::new((*id, statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
    }
}
