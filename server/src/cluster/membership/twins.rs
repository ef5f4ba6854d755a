//! Other nodes under the name or the address of this one.

use std::time::Duration;

use ::cluster::{MEDIA_PREFIX, MediaRecord};
use stores::{Entry, Store};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::{CALL_MAX, TTL};
use crate::metrics::Metrics;

/// How long after its entry a node looks for the first time. By then the record of its own earlier
/// process is over.
const FIRST_LOOK: Duration = TTL.saturating_mul(2);

/// How often it looks. The records of a large cluster are some hundreds of kilobytes.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Looks for nodes that an operator has given what is this node's. Controllers take a node at the
/// same address for its successor, so two of them would replace each other for ever.
pub(super) struct Twins<'a> {
    store: &'a dyn Store,
    key: &'a str,
    records: watch::Receiver<MediaRecord>,
    metrics: &'a Metrics,
}

impl<'a> Twins<'a> {
    /// Those of the node whose record has this key.
    pub(super) fn new(
        store: &'a dyn Store,
        key: &'a str,
        records: watch::Receiver<MediaRecord>,
        metrics: &'a Metrics,
    ) -> Self {
        Self {
            store,
            key,
            records,
            metrics,
        }
    }

    /// Looks from time to time, without an end.
    pub(super) async fn look_out(self) {
        let mut known = Vec::new();
        sleep(FIRST_LOOK).await;
        loop {
            // A list that cannot be had now is had the next time.
            if let Ok(Ok(entries)) = timeout(CALL_MAX, self.store.list(MEDIA_PREFIX)).await {
                let found = self.among(&entries);
                self.tell(&known, &found);
                known = found;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The twins among entries. One that drains is about to end, and may be the process before an
    /// upgrade.
    fn among(&self, entries: &[(String, Entry)]) -> Vec<Twin> {
        let ours = self.records.borrow();
        let others = entries.iter().filter(|(key, _)| key != self.key);
        let twins = others.filter_map(|(key, entry)| {
            let record: MediaRecord = serde_json::from_slice(&entry.value).ok()?;
            let has = match (record.name == ours.name, record.address == ours.address) {
                _ if record.draining => return None,
                (_, true) => "address",
                (true, false) => "name",
                (false, false) => return None,
            };
            let key = key.clone();
            Some(Twin { key, record, has })
        });
        twins.collect()
    }

    fn tell(&self, known: &[Twin], found: &[Twin]) {
        self.metrics.of_cluster(|counts| counts.set_twins(found.len()));
        for twin in found
            .iter()
            .filter(|twin| known.iter().all(|known| known.key != twin.key))
        {
            let Twin { key, record, has } = twin;
            warn!(
                key,
                name = record.name,
                address = record.address,
                "another media node is in the cluster's store with the {has} of this one: give each its own \
                 `cluster.name` and `cluster.advertise`"
            );
        }
        if found.is_empty() && !known.is_empty() {
            info!("no other media node has the name or the address of this one any more");
        }
    }
}

/// Another node with something that is this node's.
struct Twin {
    key: String,
    record: MediaRecord,
    /// The setting that both have.
    has: &'static str,
}
