//! The transports of a node, for controllers and for its drain.

use std::time::Duration;

use ::cluster::MediaRecord;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::media::ReceiverQuery;
use crate::serve::drain::Occupants;

/// How often controllers may learn of another load.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// A load that differs from the told one by less than this share of the capacity is no news.
const STEPS: u32 = 100;

/// The transports that a node has. Cheap to clone.
#[derive(Clone)]
pub(in crate::serve) struct Transports {
    query: ReceiverQuery,
    record: watch::Sender<MediaRecord>,
}

impl Transports {
    /// Those of the node that this asks, for its record.
    pub(in crate::serve) fn new(query: ReceiverQuery, record: watch::Sender<MediaRecord>) -> Self {
        Self { query, record }
    }

    /// Keeps the load of the record up to date, without an end.
    pub(in crate::serve) async fn report(self) {
        let mut due = interval(REPORT_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            // A node that is too busy to say is told of the next time.
            if let Ok(transports) = self.query.transports().await {
                let load = transports.try_into().unwrap_or(u32::MAX);
                self.record.send_if_modified(|record| set_load(record, load));
            }
        }
    }
}

/// Returns whether the load is news: it has changed by a step, or the node is empty or full now, or
/// not any more.
fn set_load(record: &mut MediaRecord, load: u32) -> bool {
    let (told, capacity) = (record.load, record.capacity);
    let is_step = load.abs_diff(told) >= (capacity / STEPS).max(1);
    let is_other = (load == 0) != (told == 0) || (load >= capacity) != (told >= capacity);
    if is_step || is_other {
        record.load = load;
    }
    is_step || is_other
}

impl Occupants for Transports {
    type Left = String;

    async fn tell(&self) {
        self.record
            .send_if_modified(|record| !std::mem::replace(&mut record.draining, true));
    }

    async fn left(&self) -> Option<String> {
        match self.query.transports().await {
            Ok(0) => None,
            Ok(transports) => Some(format!("{transports} transports")),
            Err(_) => Some("an agent that does not answer".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_told_by_steps_and_at_both_ends() {
        let mut record = MediaRecord {
            capacity: 1_000,
            ..MediaRecord::default()
        };
        let loads = [1, 5, 10, 11, 500, 505, 510, 995, 999, 1_000, 1_001, 999, 3, 0, 0];
        let told: Vec<u32> = loads.into_iter().filter(|load| set_load(&mut record, *load)).collect();
        assert_eq!(told, [1, 11, 500, 510, 995, 1_000, 999, 3, 0]);
        record.capacity = 20;
        assert!(set_load(&mut record, 1) && set_load(&mut record, 2) && !set_load(&mut record, 2));
    }
}
