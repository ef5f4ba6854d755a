//! A store in memory, with leases, and faults that real ones have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster::{StoreAnswer, StoreOperation, StoredValue};

/// The holder of the records of media nodes.
const MEDIA: usize = usize::MAX;

/// The store of all controllers.
pub(crate) struct Store {
    records: BTreeMap<String, Record>,
    leases: BTreeMap<usize, Instant>,
    revision: u64,
    term: Duration,
    /// The records of a moment ago, for a store that forgets.
    earlier: BTreeMap<String, Record>,
    /// Watchers have to be told of a change.
    pub(crate) changed: bool,
    pub(crate) is_reachable: bool,
}

#[derive(Clone)]
struct Record {
    value: Vec<u8>,
    revision: u64,
    holder: usize,
}

impl Store {
    pub(crate) fn new(term: Duration) -> Self {
        Self {
            records: BTreeMap::new(),
            leases: BTreeMap::new(),
            revision: 0,
            term,
            earlier: BTreeMap::new(),
            changed: false,
            is_reachable: true,
        }
    }

    /// Ends the leases that are over.
    pub(crate) fn expire(&mut self, now: Instant) {
        let over: Vec<_> = self.leases.iter().filter(|(_, until)| **until <= now).collect();
        let over: Vec<_> = over.into_iter().map(|(holder, _)| *holder).collect();
        for holder in over {
            self.end_lease(holder);
        }
    }

    pub(crate) fn end_lease(&mut self, holder: usize) {
        if self.leases.remove(&holder).is_some() {
            self.records.retain(|_, record| record.holder != holder);
            self.changed = true;
        }
    }

    pub(crate) fn remember(&mut self) {
        self.earlier = self.records.clone();
    }

    /// Forgets what was written since it last remembered.
    pub(crate) fn forget(&mut self) {
        let media = self
            .records
            .clone()
            .into_iter()
            .filter(|(_, record)| record.holder == MEDIA);
        // Media nodes write their records again at once.
        let media: Vec<_> = media.collect();
        self.records = self.earlier.clone();
        self.records.extend(media);
        self.records
            .retain(|_, record| self.leases.contains_key(&record.holder));
        self.changed = true;
    }

    /// The records of members, for watchers.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        let members = self.records.iter().filter(|(key, _)| !key.starts_with("rooms/"));
        members.map(|(key, record)| (key, &record.value))
    }

    pub(crate) fn room(&self, key: &str) -> Option<&Vec<u8>> {
        self.records.get(key).map(|record| &record.value)
    }

    pub(crate) fn keep_media(&mut self, key: String, value: Vec<u8>) {
        self.write(key, value, MEDIA);
        self.leases
            .insert(MEDIA, Instant::now() + Duration::from_secs(1_000_000));
    }

    pub(crate) fn answer(&mut self, now: Instant, holder: usize, operation: StoreOperation) -> StoreAnswer {
        let has_lease = self.leases.contains_key(&holder);
        match operation {
            StoreOperation::GrantLease => {
                self.end_lease(holder);
                self.leases.insert(holder, now + self.term);
                StoreAnswer::Done
            }
            StoreOperation::KeepAlive if has_lease => {
                self.leases.insert(holder, now + self.term);
                StoreAnswer::Done
            }
            StoreOperation::Read { key } => StoreAnswer::Entry(self.value(&key)),
            _ if !has_lease => StoreAnswer::LeaseLost,
            StoreOperation::KeepAlive => StoreAnswer::LeaseLost,
            StoreOperation::Claim { key, value } => match self.value(&key) {
                Some(found) => StoreAnswer::Taken(found),
                None => self.write(key, value, holder),
            },
            StoreOperation::Swap { key, revision, value } => match self.value(&key) {
                Some(found) if found.revision == revision => self.write(key, value, holder),
                Some(found) => StoreAnswer::Taken(found),
                None => StoreAnswer::Gone,
            },
            StoreOperation::Delete { key, revision } => {
                if self.value(&key).is_some_and(|found| found.revision == revision) {
                    self.records.remove(&key);
                    self.changed = true;
                }
                StoreAnswer::Done
            }
        }
    }

    fn value(&self, key: &str) -> Option<StoredValue> {
        let record = self.records.get(key)?;
        Some(StoredValue {
            value: record.value.clone(),
            revision: record.revision,
        })
    }

    fn write(&mut self, key: String, value: Vec<u8>, holder: usize) -> StoreAnswer {
        self.revision += 1;
        let revision = self.revision;
        self.changed |= !key.starts_with("rooms/");
        self.records.insert(
            key,
            Record {
                value,
                revision,
                holder,
            },
        );
        StoreAnswer::Won { revision }
    }
}
