//! The places where the parts and entries of a data plane run: the answer of `/api/entries`, which
//! `weir inspect` shows as lines.

mod entry;
mod kernel;
mod overview;
mod switch;

use serde::{Deserialize, Serialize};

pub use entry::{Entry, Location, Refusal, Runner};
pub use kernel::{Interface, KernelPath};
pub use overview::{EntryCount, PartState, PlacesOverview};
pub use switch::{Forwarded, Switch, SwitchState, TableUse};

/// Everything that runs somewhere, in the order it is to be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The parts of the data plane, and the entries.
    pub places: Vec<Place>,
}

/// One part or entry of a data plane, and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Place {
    /// The kernel relays calls at these interfaces.
    Relays {
        /// Each with its place.
        interfaces: Vec<Interface>,
    },
    /// Sockets relay all calls.
    Sockets {
        /// Why the kernel relays none, where it could.
        reason: Option<String>,
    },
    /// The kernel copies packets of rooms.
    Rooms {
        /// The place.
        path: KernelPath,
        /// Why not in the driver, if that was wanted.
        why_not: Option<String>,
    },
    /// A switch forwards on its own.
    Switch(Switch),
    /// A table entry.
    Entry {
        /// Which.
        entry: Entry,
        /// The place where it runs.
        location: Location,
    },
    /// Another device's part.
    Other {
        /// Its name.
        name: String,
        /// How it stands, in words.
        state: String,
    },
}

impl Places {
    /// A line for each, of a name, a tab and a state.
    pub fn text(&self) -> String {
        let lines = self.places.iter().flat_map(Place::lines);
        lines.map(|(name, state)| format!("{name}\t{state}\n")).collect()
    }
}

impl Place {
    /// Its lines for people: a name and a state each.
    pub fn lines(&self) -> Vec<(String, String)> {
        let one = |name: &str, state: String| vec![(name.to_owned(), state)];
        match self {
            Place::Relays { interfaces } => one("relays", kernel::words(interfaces)),
            Place::Sockets { reason: None } => one("relays", "by sockets".to_owned()),
            Place::Sockets { reason: Some(reason) } => one("relays", format!("by sockets: {reason}")),
            Place::Rooms { path, why_not: None } => one("rooms", path.to_string()),
            Place::Rooms {
                path,
                why_not: Some(why_not),
            } => one("rooms", format!("{path}: {why_not}")),
            Place::Switch(switch) => switch.lines(),
            Place::Entry { entry, location } => one(&entry.to_string(), location.to_string()),
            Place::Other { name, state } => one(name, state.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(place: &Place) -> Vec<String> {
        let lines = place.lines().into_iter();
        lines.map(|(name, state)| format!("{name}\t{state}")).collect()
    }

    fn relays(interfaces: &[(&str, KernelPath, Option<&str>)]) -> Place {
        let interface = |(name, path, why_not): &(&str, KernelPath, Option<&str>)| Interface {
            interface: (*name).to_owned(),
            path: *path,
            why_not: why_not.map(str::to_owned),
        };
        Place::Relays {
            interfaces: interfaces.iter().map(interface).collect(),
        }
    }

    fn entry(runner: Runner, refusals: &[(&str, &str)]) -> Place {
        let refusal = |(offload, reason): &(&str, &str)| Refusal {
            offload: (*offload).to_owned(),
            reason: (*reason).to_owned(),
        };
        Place::Entry {
            entry: Entry::Relay {
                address: ([203, 0, 113, 7], 30_024).into(),
            },
            location: Location {
                runner,
                refusals: refusals.iter().map(refusal).collect(),
            },
        }
    }

    fn offload(is_silent: bool) -> Runner {
        Runner::Offload {
            name: "kernel".to_owned(),
            is_silent,
        }
    }

    fn switch() -> Place {
        let forwarded = |entries, packets| Forwarded { entries, packets };
        let table = |name: &str, used, size| TableUse {
            name: name.to_owned(),
            used,
            size,
        };
        Place::Switch(Switch {
            address: ([198, 19, 77, 2], 9559).into(),
            device: 1,
            state: SwitchState::Connected { has_lease: false },
            replication: "multicast".to_owned(),
            copies_rooms: false,
            relays: forwarded(4, 312),
            replicas: forwarded(0, 0),
            tables: vec![table("relay", 4, Some(65_536)), table("groups", 2, None)],
        })
    }

    #[test]
    fn places_have_lines() {
        use KernelPath::{Driver, Generic, Stack};
        let pending = Runner::Pending {
            name: "kernel".to_owned(),
        };
        for (place, expected) in [
            (Place::Sockets { reason: None }, "relays\tby sockets"),
            (relays(&[]), "relays\t"),
            (
                relays(&[("a", Driver, None), ("b", Driver, None)]),
                "relays\tin the driver",
            ),
            (
                relays(&[("a", Stack, None), ("b", Generic, Some("it is old"))]),
                "relays\tin the stack (a); in the stack, as if in the driver (b, as it is old)",
            ),
            (entry(offload(false), &[]), "relay 203.0.113.7:30024\tkernel"),
            (
                entry(offload(true), &[]),
                "relay 203.0.113.7:30024\tkernel, or base while it does not answer",
            ),
            (
                entry(offload(false), &[("switch", "full")]),
                "relay 203.0.113.7:30024\tkernel (switch: full)",
            ),
            (
                entry(Runner::Base, &[("kernel", "sources")]),
                "relay 203.0.113.7:30024\tbase (sources)",
            ),
            (
                entry(pending, &[("switch", "full")]),
                "relay 203.0.113.7:30024\tbase (switch: full, kernel: pending)",
            ),
        ] {
            assert_eq!(lines(&place), [expected]);
        }
        let expected = [
            "switch\t198.19.77.2:9559 device 1: connected, without a lease",
            "switch program\treplication multicast, rooms none",
            "switch forwards\trelays 4 (312 packets), replicas 0 (0 packets)",
            "switch tables\trelay 4/65536, groups 2",
        ];
        assert_eq!(lines(&switch()), expected);
    }

    #[test]
    fn places_are_read_back() {
        let rooms = Place::Rooms {
            path: KernelPath::Stack,
            why_not: Some("copied packets also go to userspace".to_owned()),
        };
        let other = Place::Other {
            name: "everything".to_owned(),
            state: "nowhere".to_owned(),
        };
        let interface = ("a", KernelPath::Generic, Some("it is old"));
        let places = Places {
            places: vec![
                relays(&[interface]),
                rooms,
                switch(),
                entry(offload(true), &[("p4", "full")]),
                other,
            ],
        };
        let json = serde_json::to_string(&places).unwrap();
        assert_eq!(serde_json::from_str::<Places>(&json).unwrap(), places, "{json}");
    }
}
