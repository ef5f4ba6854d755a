//! Statistics of streams and replicas, for the agent.

use std::time::Instant;

use dataplane::LegId;

use crate::channel::Report;
use crate::shard::Shard;

impl Shard {
    /// Reports every stream of a leg and every replica sent to it, in the order of their ids.
    pub(crate) fn report_statistics(&mut self, now: Instant, id: LegId) {
        let Some(place) = self.tables.leg_places.get(&id) else {
            return;
        };
        let leg = &self.tables.legs[*place];
        for (_, place) in &leg.streams {
            let stream = &self.tables.streams[*place];
            let report = Report::Stream(Box::new((stream.key, stream.statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
        for (id, place) in &leg.replicas {
            let statistics = self.tables.replicas[*place].report();
            let report = Report::Replica(Box::new((*id, statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
    }
}
