//! The places of entries in numbers: the answer of `/api/places`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Entry, Place, Places};

/// The parts of a data plane, and the number of its entries at each place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PlacesOverview {
    /// The parts, in the order of `weir inspect`.
    pub parts: Vec<PartState>,
    /// The entries, by table and place.
    pub entries: Vec<EntryCount>,
}

/// A part of a data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PartState {
    /// `relays`, `rooms`, `switch` or the name of another part, as `weir inspect` shows it.
    pub name: String,
    /// How it stands, in words.
    pub state: String,
}

/// The entries of one table at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EntryCount {
    /// `relay`, `leg`, `stream` or `replica`.
    pub table: String,
    /// The place, and why the entries are not elsewhere: as `weir inspect` shows it.
    pub place: String,
    /// The number of entries.
    pub count: usize,
}

impl Places {
    /// The same in numbers. Its length does not depend on the number of entries.
    pub fn overview(&self) -> PlacesOverview {
        let (mut parts, mut counts) = (Vec::new(), BTreeMap::<(&str, String), usize>::new());
        for place in &self.places {
            match place {
                Place::Entry { entry, location } => {
                    *counts.entry((entry.table(), location.to_string())).or_default() += 1;
                }
                part => parts.extend(part.lines().into_iter().map(|(name, state)| PartState { name, state })),
            }
        }
        let entries = counts.into_iter().map(|((table, place), count)| EntryCount {
            table: table.to_owned(),
            place,
            count,
        });
        PlacesOverview {
            parts,
            entries: entries.collect(),
        }
    }
}

impl Entry {
    /// The name of its table.
    pub const fn table(&self) -> &'static str {
        match self {
            Entry::Relay { .. } => "relay",
            Entry::Leg { .. } => "leg",
            Entry::Stream { .. } => "stream",
            Entry::Replica { .. } => "replica",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{Location, Refusal, Runner};

    #[test]
    fn overview_counts_entries_by_table_and_place() {
        let replica = |replica, runner: Runner, reason: &[&str]| Place::Entry {
            entry: Entry::Replica { replica, leg: 1 },
            location: Location {
                runner,
                refusals: reason
                    .iter()
                    .map(|reason| Refusal {
                        offload: "kernel".to_owned(),
                        reason: (*reason).to_owned(),
                    })
                    .collect(),
            },
        };
        let kernel = || Runner::Offload {
            name: "kernel".to_owned(),
            is_silent: false,
        };
        let places = Places {
            places: vec![
                Place::Sockets { reason: None },
                replica(1, kernel(), &[]),
                replica(2, Runner::Base, &["full"]),
                replica(3, kernel(), &[]),
            ],
        };
        let overview = places.overview();
        assert_eq!(
            (&*overview.parts[0].name, &*overview.parts[0].state),
            ("relays", "by sockets")
        );
        let counts = overview
            .entries
            .iter()
            .map(|entry| (&*entry.table, &*entry.place, entry.count));
        let expected = [("replica", "base (full)", 1), ("replica", "kernel", 2)];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
    }
}
