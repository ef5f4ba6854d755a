//! The entries of one table.

use std::collections::HashMap;
use std::sync::Arc;

use crate::program::{Key, MatchKind, Table, Word};
use crate::statistics::Count;

/// The key of an entry: a value and a mask for each part. Bits outside of the mask are zero.
pub(crate) type EntryKey = Vec<(Word, Word)>;

/// An action with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The action's place in the table's list.
    pub(crate) choice: usize,
    pub(crate) data: Arc<[Word]>,
}

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: EntryKey,
    /// Higher numbers are first.
    pub(crate) priority: i64,
    pub(crate) bound: Bound,
    pub(crate) count: Count,
    /// The controller's note, which the switch keeps and does not read.
    pub(crate) metadata: Vec<u8>,
    pub(crate) is_constant: bool,
}

/// The entries of a table, and the action of a miss.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Without a hole: a removed entry's place is taken by the last one.
    pub(crate) all: Vec<Entry>,
    /// Places in `all` by key and priority.
    places: HashMap<(EntryKey, i64), usize, foldhash::fast::FixedState>,
    /// Of a table with exact keys only: places by the values.
    exact: Option<HashMap<Vec<Word>, usize, foldhash::fast::FixedState>>,
    /// Of other tables: places, the first match first.
    ordered: Vec<usize>,
    pub(crate) default: Option<Bound>,
    initial: Option<Bound>,
}

impl Entries {
    pub(crate) fn new(table: &Table) -> Self {
        let is_exact = table.keys.iter().all(|it| it.kind == MatchKind::Exact);
        let default = table.default.as_ref().map(|(choice, data)| Bound {
            choice: *choice,
            data: data.as_slice().into(),
        });
        let mut entries = Self {
            all: Vec::new(),
            places: HashMap::default(),
            exact: is_exact.then(HashMap::default),
            ordered: Vec::new(),
            default: default.clone(),
            initial: default,
        };
        for entry in &table.entries {
            entries.insert(Entry {
                key: entry.parts.clone(),
                priority: -i64::try_from(entry.priority).unwrap_or(i64::MAX),
                bound: Bound {
                    choice: entry.choice,
                    data: entry.data.as_slice().into(),
                },
                count: Count::default(),
                metadata: Vec::new(),
                is_constant: true,
            });
        }
        entries
    }

    /// The entry with a key and a priority.
    pub(crate) fn get(&self, key: &EntryKey, priority: i64) -> Option<&Entry> {
        self.places.get(&(key.clone(), priority)).map(|it| &self.all[*it])
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, key: &EntryKey, priority: i64) -> Option<&mut Entry> {
        self.places.get(&(key.clone(), priority)).map(|it| &mut self.all[*it])
    }

    /// Adds an entry; one with its key and priority must not be there.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let place = self.all.len();
        if let Some(exact) = &mut self.exact {
            exact.insert(entry.key.iter().map(|it| it.0).collect(), place);
        } else {
            let rank = rank(&entry);
            let at = self.ordered.partition_point(|it| self::rank(&self.all[*it]) >= rank);
            self.ordered.insert(at, place);
        }
        self.places.insert((entry.key.clone(), entry.priority), place);
        self.all.push(entry);
    }

    /// Removes the entry with a key and a priority.
    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i64) -> Option<Entry> {
        let place = self.places.remove(&(key.clone(), priority))?;
        let last = self.all.len() - 1;
        if let Some(exact) = &mut self.exact {
            exact.remove(&values(key));
        } else {
            self.ordered.retain(|it| *it != place);
        }
        let removed = self.all.swap_remove(place);
        if place != last {
            let moved = &self.all[place];
            self.places.insert((moved.key.clone(), moved.priority), place);
            match &mut self.exact {
                Some(exact) => {
                    exact.insert(values(&moved.key), place);
                }
                None => self
                    .ordered
                    .iter_mut()
                    .filter(|it| **it == last)
                    .for_each(|it| *it = place),
            }
        }
        Some(removed)
    }

    /// Gives a miss the program's own action again.
    pub(crate) fn reset_default(&mut self) {
        self.default.clone_from(&self.initial);
    }

    /// The place of the entry that a packet's values match.
    pub(crate) fn look_up(&self, keys: &[Key], values: &[Word]) -> Option<usize> {
        if keys.is_empty() {
            return None;
        }
        if let Some(exact) = &self.exact {
            return exact.get(values).copied();
        }
        let is_hit = |place: &&usize| {
            let parts = self.all[**place].key.iter().zip(values);
            parts.into_iter().all(|((value, mask), it)| it & mask == *value)
        };
        self.ordered.iter().find(is_hit).copied()
    }
}

fn values(key: &EntryKey) -> Vec<Word> {
    key.iter().map(|it| it.0).collect()
}

/// Priority first, then the length of the prefix. Only tables without priorities have a prefix that
/// decides.
fn rank(entry: &Entry) -> (i64, u32) {
    (entry.priority, entry.key.iter().map(|it| it.1.count_ones()).sum())
}
