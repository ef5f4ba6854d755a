//! The numbers and the state of a switch, for operators.

use std::sync::Arc;

use dataplane::statistics::Kind;
use dataplane::{Family, Sample, Statistics};
use operator::Place;
use operator::places::{Forwarded, Switch, SwitchState, TableUse};

use crate::core::Core;
use crate::counter::{VERDICTS, meaning};
use crate::link::Away;
use crate::shared::Shared;

/// The switch, as operators see it.
pub(crate) struct Report(pub(crate) Arc<Shared>);

impl Statistics for Report {
    fn families(&self) -> Vec<Family> {
        let core = self.0.core();
        let own = core.counters.iter().map(|(counter, value)| (counter.name(), value));
        let verdicts = VERDICTS.into_iter().filter(|verdict| meaning(verdict).is_none());
        let verdicts = verdicts.map(|verdict| (verdict, core.verdict(verdict)));
        let relayed = std::iter::once(("relayed", core.relayed()));
        let counts: Vec<(&str, u64)> = own.chain(verdicts).chain(relayed).collect();
        let used = core.used().into_iter().map(|(table, count)| Sample {
            labels: vec![("table", table.map_or("replication", |table| table.name()).to_owned())],
            value: count as u64,
        });
        vec![
            Family::by_reason(
                "p4",
                "Packets of the switch and events of its connection, by what became of them",
                counts.into_iter(),
            ),
            gauge(
                "p4_connected",
                "Whether the switch is connected and may be written",
                core.link.away().is_none().into(),
            ),
            gauge(
                "p4_relays",
                "Relays that the switch is to have",
                core.relays.len() as u64,
            ),
            gauge("p4_replicas", "Replicas that the switch sends", core.rooms.len() as u64),
            Family {
                name: "p4_entries",
                kind: Kind::Gauge,
                help: "Entries of the switch by table",
                samples: used.collect(),
            },
        ]
    }

    fn places(&self) -> Vec<Place> {
        let core = self.0.core();
        let config = core.config();
        let used = core.used().into_iter().filter(|(_, used)| *used > 0);
        let tables = used.map(|(table, used)| TableUse {
            name: table
                .map_or("groups and clone sessions", |table| table.name())
                .to_owned(),
            used: used as u64,
            size: table.and_then(|table| u64::try_from(self.0.schema.size(table)?).ok()),
        });
        vec![Place::Switch(Switch {
            address: config.switch,
            device: config.device,
            state: state(&core),
            replication: config.replication.name().to_owned(),
            copies_rooms: config.rooms,
            relays: Forwarded {
                entries: core.relays.len() as u64,
                packets: core.relayed(),
            },
            replicas: Forwarded {
                entries: core.rooms.len() as u64,
                packets: core.verdict("forwarded"),
            },
            tables: tables.collect(),
        })]
    }
}

fn state(core: &Core) -> SwitchState {
    let Some((why, since)) = core.link.away() else {
        return SwitchState::Connected {
            has_lease: core.link.is_leased(),
        };
    };
    let seconds = core.time_since(since).as_secs();
    match why {
        Away::Begin => SwitchState::Connecting { seconds },
        Away::Unreachable => SwitchState::Unreachable { seconds },
        Away::NotPrimary => SwitchState::NotPrimary { seconds },
    }
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    Family {
        name,
        kind: Kind::Gauge,
        help,
        samples: vec![Sample {
            labels: Vec::new(),
            value,
        }],
    }
}
