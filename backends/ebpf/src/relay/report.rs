//! The numbers and places of relays, for operators.

use dataplane::statistics::Kind;
use dataplane::{Family, Sample};
use operator::Place;
use operator::places::Interface;

use super::{Attachment, Statistics, Whereabouts};
use crate::Path;

/// Relays in the kernel, as operators see them.
pub(super) struct Report {
    pub(super) statistics: Statistics,
    pub(super) whereabouts: Whereabouts,
}

impl dataplane::Statistics for Report {
    fn families(&self) -> Vec<Family> {
        let counts = self.statistics.read();
        let counts = counts.iter().map(|(counter, value)| (counter.name(), value));
        let found = self.whereabouts.found();
        let places = [Path::Driver, Path::Stack, Path::Generic].map(|path| {
            let there: Vec<&Attachment> = found.iter().filter(|found| found.path == path).collect();
            let reason = there.iter().find_map(|found| found.why_not.as_deref());
            sample(name_of(path), reason.unwrap_or_default(), there.len() as u64)
        });
        vec![
            Family::by_reason("ebpf", "Packets to relays in the kernel, by result", counts),
            interfaces(places.into()),
        ]
    }

    fn places(&self) -> Vec<Place> {
        let interface = |found: Attachment| Interface {
            interface: found.interface,
            path: found.path.view(),
            why_not: found.why_not,
        };
        vec![Place::Relays {
            interfaces: self.whereabouts.found().into_iter().map(interface).collect(),
        }]
    }
}

/// The families of a machine where the kernel relays nothing, for this reason.
pub fn families_of_none(reason: &str) -> Vec<Family> {
    vec![interfaces(vec![sample("sockets", reason, 1)])]
}

fn interfaces(samples: Vec<Sample>) -> Family {
    Family {
        name: "offload_interfaces",
        kind: Kind::Gauge,
        help: "Interfaces at which the kernel relays calls, by where; of sockets, which relay everything else, 1 with the reason where it relays none",
        samples,
    }
}

fn sample(path: &str, reason: &str, value: u64) -> Sample {
    Sample {
        labels: vec![("path", path.to_owned()), ("reason", reason.to_owned())],
        value,
    }
}

fn name_of(path: Path) -> &'static str {
    match path {
        Path::Driver => "driver",
        Path::Stack => "stack",
        Path::Generic => "generic",
    }
}
