//! The cluster's store, in memory.

use std::collections::BTreeMap;

use cluster::{StoreAnswer, StoreOperation, StoredValue};

/// Records by their keys, and the number of the last change.
#[derive(Debug, Default)]
pub(crate) struct Store {
    records: BTreeMap<String, StoredValue>,
    revision: u64,
    /// The number of requests.
    pub(crate) requests: usize,
}

impl Store {
    pub(crate) fn perform(&mut self, operation: StoreOperation) -> StoreAnswer {
        self.requests += 1;
        match operation {
            StoreOperation::GrantLease | StoreOperation::KeepAlive => StoreAnswer::Done,
            StoreOperation::Read { key } => StoreAnswer::Entry(self.records.get(&key).cloned()),
            StoreOperation::Claim { key, value } => match self.records.get(&key) {
                Some(found) => StoreAnswer::Taken(found.clone()),
                None => self.write(key, value),
            },
            StoreOperation::Swap { key, revision, value } => match self.records.get(&key) {
                Some(found) if found.revision == revision => self.write(key, value),
                Some(found) => StoreAnswer::Taken(found.clone()),
                None => StoreAnswer::Gone,
            },
            StoreOperation::Delete { key, .. } => {
                self.records.remove(&key);
                StoreAnswer::Done
            }
        }
    }

    fn write(&mut self, key: String, value: Vec<u8>) -> StoreAnswer {
        self.revision += 1;
        let revision = self.revision;
        self.records.insert(key, StoredValue { value, revision });
        StoreAnswer::Won { revision }
    }
}
