//! The numbers and lines of a switch, for operators.

use std::sync::Arc;

use dataplane::statistics::Kind;
use dataplane::{Family, Sample, Statistics};

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

    fn places(&self) -> Vec<(String, String)> {
        let core = self.0.core();
        let config = core.config();
        let switch = format!("{} device {}: {}", config.switch, config.device, state(&core));
        let rooms = if config.rooms { "copy_and_pass" } else { "none" };
        let program = format!("replication {}, rooms {rooms}", config.replication.name());
        let forwards = format!(
            "relays {} ({} packets), replicas {} ({} packets)",
            core.relays.len(),
            core.relayed(),
            core.rooms.len(),
            core.verdict("forwarded"),
        );
        let tables = core
            .used()
            .into_iter()
            .filter(|(_, used)| *used > 0)
            .map(|(table, used)| {
                let name = table.map_or("groups and clone sessions", |table| table.name());
                match table.and_then(|table| self.0.schema.size(table)) {
                    Some(size) => format!("{name} {used}/{size}"),
                    None => format!("{name} {used}"),
                }
            });
        let tables: Vec<String> = tables.collect();
        let lines = [
            ("switch", switch),
            ("switch program", program),
            ("switch forwards", forwards),
            ("switch tables", tables.join(", ")),
        ];
        lines.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

fn state(core: &Core) -> String {
    let Some((why, since)) = core.link.away() else {
        let without = if core.link.is_leased() { "" } else { ", without a lease" };
        return format!("connected{without}");
    };
    let why = match why {
        Away::Begin => "connecting",
        Away::Unreachable => "unreachable",
        Away::NotPrimary => "another controller has the mastership,",
    };
    format!("{why} for {} s", core.time_since(since).as_secs())
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
