//! The entries and leases of a store in memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use crate::entry::Entry;
use crate::store::{LIST_MAX, Lease, Listing, StoreError};
use crate::watch::Change;

/// The most writes that can be forgotten.
pub const JOURNAL_MAX: usize = 4096;

#[derive(Clone, Default)]
pub(super) struct State {
    entries: BTreeMap<String, Bound>,
    leases: BTreeMap<i64, Granted>,
    revision: u64,
    last_lease: i64,
    journal: VecDeque<Undo>,
}

#[derive(Clone)]
struct Bound {
    entry: Entry,
    lease: Option<i64>,
}

#[derive(Clone)]
struct Granted {
    granted: Duration,
    end: Duration,
    keys: BTreeSet<String>,
}

/// The entry before a write.
#[derive(Clone)]
struct Undo {
    at: Duration,
    key: String,
    before: Option<Bound>,
}

impl State {
    pub(super) fn get(&self, key: &str) -> Option<Entry> {
        Some(self.entries.get(key)?.entry.clone())
    }

    pub(super) fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        let mut listing = Listing::default();
        let from = self.entries.range(prefix.to_owned()..);
        for (key, bound) in from.take_while(|(key, _)| key.starts_with(prefix)) {
            listing.push(key.clone(), bound.entry.clone())?;
        }
        Ok(listing.entries)
    }

    pub(super) fn grant(&mut self, ttl: Duration, now: Duration) -> Lease {
        self.last_lease += 1;
        let granted = Granted {
            granted: now,
            end: now + ttl,
            keys: BTreeSet::new(),
        };
        self.leases.insert(self.last_lease, granted);
        Lease {
            id: self.last_lease,
            ttl,
        }
    }

    pub(super) fn keep_alive(&mut self, lease: Lease, now: Duration) -> Result<(), StoreError> {
        let granted = self.leases.get_mut(&lease.id).ok_or(StoreError::LeaseLost)?;
        granted.end = now + lease.ttl;
        Ok(())
    }

    fn check_lease(&self, lease: Option<Lease>) -> Result<(), StoreError> {
        match lease {
            Some(lease) if !self.leases.contains_key(&lease.id) => Err(StoreError::LeaseLost),
            _ => Ok(()),
        }
    }

    pub(super) fn put(
        &mut self,
        key: &str,
        value: Bytes,
        lease: Option<Lease>,
        now: Duration,
    ) -> Result<(u64, Vec<Change>), StoreError> {
        self.check_lease(lease)?;
        if self.entries.len() == LIST_MAX && !self.entries.contains_key(key) {
            return Err(StoreError::TooLong(format!("more than {LIST_MAX} entries")));
        }
        self.revision += 1;
        let entry = Entry {
            value,
            revision: self.revision,
        };
        let bound = Bound {
            entry: entry.clone(),
            lease: lease.map(|lease| lease.id),
        };
        self.write(key, Some(bound), now);
        Ok((self.revision, vec![Change::Put(key.into(), entry)]))
    }

    pub(super) fn delete(&mut self, key: &str, now: Duration) -> (u64, Vec<Change>) {
        self.revision += 1;
        self.write(key, None, now);
        (self.revision, vec![Change::Deleted(key.into())])
    }

    pub(super) fn revoke(&mut self, lease: i64, now: Duration) -> Vec<Change> {
        let keys = self.leases.remove(&lease).map(|granted| granted.keys);
        let keys = keys.into_iter().flatten();
        keys.flat_map(|key| self.delete(&key, now).1).collect()
    }

    pub(super) fn expire(&mut self, now: Duration) -> Vec<Change> {
        let over = self.leases.iter().filter(|(_, granted)| granted.end <= now);
        let over: Vec<i64> = over.map(|(id, _)| *id).collect();
        over.into_iter().flat_map(|id| self.revoke(id, now)).collect()
    }

    pub(super) fn forget_since(&mut self, moment: Duration) {
        while let Some(undo) = self.journal.pop_back_if(|undo| undo.at >= moment) {
            self.bind(&undo.key, undo.before);
        }
        let lost = self.leases.extract_if(.., |_, granted| granted.granted >= moment);
        let keys: Vec<String> = lost.flat_map(|(_, granted)| granted.keys).collect();
        for key in keys {
            self.entries.remove(&key);
        }
        // An entry that is back may be of a lease that has ended since.
        let leases = &self.leases;
        self.entries
            .retain(|_, bound| bound.lease.is_none_or(|id| leases.contains_key(&id)));
        let highest = self.entries.values().map(|bound| bound.entry.revision).max();
        self.revision = highest.unwrap_or_default();
    }

    fn write(&mut self, key: &str, bound: Option<Bound>, now: Duration) {
        let before = self.bind(key, bound);
        if self.journal.len() == JOURNAL_MAX {
            self.journal.pop_front();
        }
        self.journal.push_back(Undo {
            at: now,
            key: key.into(),
            before,
        });
    }

    /// Replaces an entry and says what was there.
    fn bind(&mut self, key: &str, bound: Option<Bound>) -> Option<Bound> {
        let lease = bound.as_ref().and_then(|bound| bound.lease);
        let before = match bound {
            Some(bound) => self.entries.insert(key.into(), bound),
            None => self.entries.remove(key),
        };
        if let Some(granted) = before.as_ref().and_then(|it| self.leases.get_mut(&it.lease?)) {
            granted.keys.remove(key);
        }
        if let Some(granted) = lease.and_then(|id| self.leases.get_mut(&id)) {
            granted.keys.insert(key.into());
        }
        before
    }
}
