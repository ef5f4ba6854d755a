//! The entries that the switch is to have and those it has, and the writes that lead from the one
//! to the other.
//!
//! One batch of writes is on its way at a time. Entries are inserted and modified in the order of
//! their ranks, so that an entry is there before another depends on it; then entries are deleted in
//! the reverse order. An entry that names a group is written only when that group is complete, and
//! a group is deleted only when no entry has named it for a while. A change is therefore
//! make-before-break: the new value is complete before packets use it, and the old one stays until
//! none does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::entry::{Key, Op, Refusal, Table, Value, Write, group_of};

/// How many updates one write request has.
pub(crate) const BATCH_MAX: usize = 100;

/// A group that no entry names stays for so long: packets that matched an entry with its name may
/// still be in the switch, which copies them one pass after the other.
pub(crate) const GROUP_REST: Duration = Duration::from_millis(500);

/// After so many refusals in a row for an entry that is said to be there, or not to be there, it is
/// given up.
const ATTEMPTS_MAX: u8 = 3;

/// The reason why an entry is not on the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// There is no room.
    Full,
    /// The switch does not accept it.
    Refused,
}

/// The outcome of a wanted entry: it is there, or why not.
pub(crate) type Settled = (Key, Result<(), Failed>);

/// The switch's entries, wanted and real.
#[derive(Debug, Default)]
pub(crate) struct TableWriter {
    desired: BTreeMap<Key, Value>,
    /// As far as the switch has answered.
    installed: BTreeMap<Key, Value>,
    /// Entries whose wanted value is not the installed one, by rank.
    to_write: BTreeSet<(u8, Key)>,
    to_delete: BTreeSet<(u8, Key)>,
    failed: BTreeMap<Key, Failed>,
    attempts: BTreeMap<Key, u8>,
    in_flight: Vec<Write>,
    /// Entries whose last write was never answered.
    unknown: BTreeSet<Key>,
    /// Entries of the switch that send to a group.
    users: BTreeMap<u16, usize>,
    /// Groups that are to be deleted, and since when no entry names them.
    idle: BTreeMap<u16, Instant>,
    /// How many writes the switch has refused so far.
    pub(crate) refused: u64,
}

impl TableWriter {
    /// Has the switch have an entry with this value.
    pub(crate) fn want(&mut self, key: Key, value: Value) {
        if self.desired.get(&key) == Some(&value) && !self.failed.contains_key(&key) {
            return;
        }
        self.failed.remove(&key);
        self.attempts.remove(&key);
        if let Some(group) = part_of(&key) {
            self.idle.remove(&group);
        }
        self.desired.insert(key.clone(), value);
        self.compare(key);
    }

    /// Has the switch not have an entry.
    pub(crate) fn unwant(&mut self, key: &Key) {
        self.desired.remove(key);
        self.failed.remove(key);
        self.attempts.remove(key);
        self.compare(key.clone());
    }

    /// Whether the switch has a wanted entry with its wanted value.
    pub(crate) fn is_written(&self, key: &Key) -> bool {
        let desired = self.desired.get(key);
        desired.is_some() && self.installed.get(key) == desired
    }

    /// The copies that the switch has, or may have, by a group.
    pub(crate) fn copies(&self, key: &Key) -> BTreeSet<(u16, u16)> {
        let on_their_way = self.in_flight.iter().filter(|write| write.key == *key);
        let values = on_their_way.map(|write| &write.value).chain(self.installed.get(key));
        let copies = values.filter_map(|value| match value {
            Value::Copies(copies) => Some(copies),
            _ => None,
        });
        copies.flatten().copied().collect()
    }

    /// Whether the switch has all entries that it can have, with their newest values.
    pub(crate) fn has_written(&self) -> bool {
        self.to_write.is_empty() && self.in_flight.is_empty()
    }

    /// Whether the switch certainly does not have an entry.
    pub(crate) fn is_absent(&self, key: &Key) -> bool {
        let is_on_its_way = self.in_flight.iter().any(|write| write.key == *key);
        let may_be_there = self.installed.contains_key(key) || is_on_its_way || self.unknown.contains(key);
        !may_be_there && !self.desired.contains_key(key)
    }

    /// How many entries of a table the switch has, or of groups.
    pub(crate) fn used(&self, table: Option<Table>) -> usize {
        self.installed.keys().filter(|key| key.table() == table).count()
    }

    /// Whether the switch has all that is wanted and nothing else, as far as it can.
    #[cfg(test)]
    pub(crate) fn is_settled(&self) -> bool {
        self.to_write.is_empty() && self.to_delete.is_empty() && self.in_flight.is_empty()
    }

    /// Whether an entry of this table is still to be deleted.
    pub(crate) fn deletes(&self, table: Table) -> bool {
        let is_of = |key: &Key| key.table() == Some(table);
        self.to_delete.iter().any(|(_, key)| is_of(key))
            || self
                .in_flight
                .iter()
                .any(|write| write.op == Op::Delete && is_of(&write.key))
    }

    /// The next writes, none while some are on their way. Entries that cannot be written because a
    /// group they name could not be are added to `settled`.
    pub(crate) fn next_batch(&mut self, now: Instant, settled: &mut Vec<Settled>) -> &[Write] {
        if self.in_flight.is_empty() {
            self.in_flight = self.next_writes(settled);
            if self.in_flight.is_empty() {
                self.in_flight = self.next_deletes(now);
            }
            return &self.in_flight;
        }
        &[]
    }

    fn next_writes(&mut self, settled: &mut Vec<Settled>) -> Vec<Write> {
        let mut writes = Vec::new();
        let mut hopeless = Vec::new();
        let mut rank = None;
        for (of, key) in &self.to_write {
            if rank.is_some_and(|rank| rank != *of) || writes.len() == BATCH_MAX {
                break;
            }
            let Some(value) = self.desired.get(key) else { continue };
            if let Some(why) = group_of(key, value).and_then(|group| self.failure_of(group)) {
                hopeless.push((key.clone(), why));
                continue;
            }
            rank = Some(*of);
            let op = if self.installed.contains_key(key) {
                Op::Modify
            } else {
                Op::Insert
            };
            let (key, value) = (key.clone(), value.clone());
            writes.push(Write { op, key, value });
        }
        for (key, why) in hopeless {
            self.fail(key, why, settled);
        }
        for write in &writes {
            self.to_write.remove(&(write.key.rank(), write.key.clone()));
        }
        writes
    }

    fn next_deletes(&mut self, now: Instant) -> Vec<Write> {
        let mut writes: Vec<Write> = Vec::new();
        for (rank, key) in self.to_delete.iter().rev() {
            if writes.first().is_some_and(|first| first.key.rank() != *rank) || writes.len() == BATCH_MAX {
                break;
            }
            if let Some(group) = part_of(key) {
                if self.users.contains_key(&group) {
                    self.idle.remove(&group);
                    continue;
                }
                let since = *self.idle.entry(group).or_insert(now);
                if now.saturating_duration_since(since) < GROUP_REST {
                    continue;
                }
            }
            let value = self.installed.get(key).cloned().unwrap_or(Value::Foreign);
            let (op, key) = (Op::Delete, key.clone());
            writes.push(Write { op, key, value });
        }
        for write in &writes {
            self.to_delete.remove(&(write.key.rank(), write.key.clone()));
        }
        writes
    }

    /// Why a group is not complete and will not be.
    fn failure_of(&self, group: u16) -> Option<Failed> {
        let members = Key::Entry(Table::Participant, vec![group.into()]);
        let after = Key::Entry(Table::Participant, vec![u128::from(group) + 1]);
        let failed = self.failed.get(&Key::Group(group));
        failed
            .or_else(|| self.failed.range(members..after).next().map(|(_, why)| why))
            .copied()
    }

    /// The switch has answered the batch that was on its way: one outcome for each write, in order.
    pub(crate) fn answered(&mut self, outcomes: &[Result<(), Refusal>], settled: &mut Vec<Settled>) {
        let writes = std::mem::take(&mut self.in_flight);
        let missing = std::iter::repeat(&Err(Refusal::Other));
        for (write, outcome) in writes.into_iter().zip(outcomes.iter().chain(missing)) {
            match outcome {
                Ok(()) => self.done(write, settled),
                Err(refusal) => self.refused(write, *refusal, settled),
            }
        }
    }

    fn done(&mut self, write: Write, settled: &mut Vec<Settled>) {
        self.attempts.remove(&write.key);
        match write.op {
            Op::Delete => self.note_absent(&write.key),
            Op::Insert | Op::Modify => self.note(write.key.clone(), write.value),
        }
        if self.is_written(&write.key) {
            settled.push((write.key.clone(), Ok(())));
        }
        self.compare(write.key);
    }

    fn refused(&mut self, write: Write, refusal: Refusal, settled: &mut Vec<Settled>) {
        self.refused += 1;
        let key = write.key;
        match (refusal, write.op) {
            (Refusal::Absent, Op::Delete) => {
                self.note_absent(&key);
                return self.compare(key);
            }
            (Refusal::Absent, _) => self.note_absent(&key),
            (Refusal::Exists, _) => self.note(key.clone(), Value::Foreign),
            (Refusal::Full | Refusal::Other, _) => {}
        }
        let attempts = self.attempts.entry(key.clone()).or_default();
        *attempts += 1;
        let is_again = matches!(refusal, Refusal::Absent | Refusal::Exists) || write.op == Op::Delete;
        if is_again && *attempts < ATTEMPTS_MAX {
            return self.compare(key);
        }
        let why = if refusal == Refusal::Full {
            Failed::Full
        } else {
            Failed::Refused
        };
        self.fail(key, why, settled);
    }

    fn fail(&mut self, key: Key, why: Failed, settled: &mut Vec<Settled>) {
        self.to_write.remove(&(key.rank(), key.clone()));
        if self.desired.contains_key(&key) {
            self.failed.insert(key.clone(), why);
            settled.push((key, Err(why)));
        }
    }

    /// The connection is lost: it is unknown whether the writes on their way were done.
    pub(crate) fn lost(&mut self) {
        for write in std::mem::take(&mut self.in_flight) {
            self.unknown.insert(write.key.clone());
            self.compare(write.key);
        }
    }

    /// The switch has been found to have these entries. Returns the number of those that were not
    /// wanted, or not so, and that are not known to have been written from here.
    pub(crate) fn found(&mut self, entries: BTreeMap<Key, Value>) -> usize {
        self.in_flight.clear();
        let unknown = std::mem::take(&mut self.unknown);
        let is_foreign = |(key, value): &(&Key, &Value)| {
            let is_known = self.desired.get(*key) == Some(*value) || self.installed.get(*key) == Some(*value);
            !is_known && !unknown.contains(*key)
        };
        let foreign = entries.iter().filter(is_foreign).count();
        self.installed.clear();
        self.users.clear();
        self.idle.clear();
        self.failed.clear();
        self.attempts.clear();
        let keys: BTreeSet<Key> = entries.keys().chain(self.desired.keys()).cloned().collect();
        for (key, value) in entries {
            self.note(key, value);
        }
        self.to_write.clear();
        self.to_delete.clear();
        for key in keys {
            self.compare(key);
        }
        foreign
    }

    fn note(&mut self, key: Key, value: Value) {
        self.note_absent(&key);
        if let Some(group) = group_of(&key, &value) {
            *self.users.entry(group).or_default() += 1;
        }
        self.installed.insert(key, value);
    }

    fn note_absent(&mut self, key: &Key) {
        let Some(before) = self.installed.remove(key) else {
            return;
        };
        if let Some(group) = group_of(key, &before)
            && let Some(users) = self.users.get_mut(&group)
        {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&group);
            }
        }
    }

    /// Notes whether an entry is to be written or deleted.
    fn compare(&mut self, key: Key) {
        let (desired, installed) = (self.desired.get(&key), self.installed.get(&key));
        let is_written = desired.is_some() && desired == installed;
        let to_write = desired.is_some() && !is_written && !self.failed.contains_key(&key);
        let to_delete = desired.is_none() && installed.is_some();
        let place = (key.rank(), key);
        if to_write {
            self.to_write.insert(place.clone());
        } else {
            self.to_write.remove(&place);
        }
        if to_delete {
            self.to_delete.insert(place);
        } else {
            self.to_delete.remove(&place);
        }
    }
}

/// The group that an entry is a part of.
fn part_of(key: &Key) -> Option<u16> {
    match key {
        Key::Group(group) => Some(*group),
        Key::Entry(Table::Participant, _) => Some(key.field(0) as u16),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
