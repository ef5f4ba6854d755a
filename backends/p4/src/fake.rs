//! A switch for tests: it does writes as P4Runtime says, late, or not at all.

use std::collections::BTreeMap;

use crate::core::Core;
use crate::entry::{Key, Op, Refusal, Table, Value, Write, group_of};

/// The entries of a switch, and what it does.
#[derive(Debug, Default)]
pub(crate) struct FakeSwitch {
    pub entries: BTreeMap<Key, Value>,
    /// Tables that have no more room.
    pub full: Vec<Table>,
    pub groups_are_full: bool,
    /// All writes that were done, in their order.
    pub log: Vec<(Op, Key)>,
}

impl FakeSwitch {
    /// Does all that it is asked for.
    pub(crate) fn work(&mut self, core: &mut Core) {
        while self.step(core) {}
    }

    /// Does one batch; false if there is none.
    pub(crate) fn step(&mut self, core: &mut Core) -> bool {
        let batch = core.next_batch();
        if !batch.is_empty() {
            let outcomes: Vec<_> = batch.iter().map(|write| self.write(write)).collect();
            core.answered(&outcomes);
        }
        !batch.is_empty()
    }

    /// Does one write.
    ///
    /// Panics: where an entry that depends on others is written without them.
    pub(crate) fn write(&mut self, write: &Write) -> Result<(), Refusal> {
        let Write { op, key, value } = write;
        let is_there = self.entries.contains_key(key);
        match op {
            Op::Insert if is_there => return Err(Refusal::Exists),
            Op::Modify | Op::Delete if !is_there => return Err(Refusal::Absent),
            _ => {}
        }
        let is_full = match key {
            Key::Entry(table, _) => self.full.contains(table),
            Key::Group(_) => self.groups_are_full,
            Key::Session(_) => false,
        };
        if *op == Op::Insert && is_full {
            return Err(Refusal::Full);
        }
        self.log.push((*op, key.clone()));
        if *op == Op::Delete {
            let is_used = |group| {
                self.entries
                    .iter()
                    .any(|(key, value)| group_of(key, value) == Some(group))
            };
            if let Key::Group(group) = key {
                assert!(!is_used(*group), "a stream sends to group {group}");
            }
            self.entries.remove(key);
        } else {
            if let Some(group) = group_of(key, value) {
                let is_member = |(key, _): &(&[u128], &[u128])| key[0] == group.into();
                let is_there =
                    self.entries.contains_key(&Key::Group(group)) || self.of(Table::Participant).iter().any(is_member);
                assert!(is_there, "there is no group {group}");
            }
            if let Key::Entry(Table::Replica, fields) = key {
                assert!(
                    self.has(Table::Receiver, &[fields[0], fields[2]]),
                    "a replica without its leg"
                );
            }
            self.entries.insert(key.clone(), value.clone());
        }
        Ok(())
    }

    /// Whether it has an entry.
    pub(crate) fn has(&self, table: Table, fields: &[u128]) -> bool {
        self.entries.contains_key(&Key::Entry(table, fields.to_vec()))
    }

    /// All entries of a table.
    pub(crate) fn of(&self, table: Table) -> Vec<(&[u128], &[u128])> {
        let entries = self.entries.iter().filter_map(|(key, value)| match (key, value) {
            (Key::Entry(of, fields), Value::Data(data)) if *of == table => Some((&fields[..], &data[..])),
            _ => None,
        });
        entries.collect()
    }

    /// Its groups with their rids.
    pub(crate) fn groups(&self) -> BTreeMap<u16, Vec<u16>> {
        let groups = self.entries.iter().filter_map(|(key, value)| match (key, value) {
            (Key::Group(id), Value::Copies(copies)) => Some((*id, copies.iter().map(|(_, rid)| *rid).collect())),
            _ => None,
        });
        groups.collect()
    }
}
