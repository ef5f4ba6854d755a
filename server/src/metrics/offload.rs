//! What is forwarded in the kernel, in `/metrics` and to whoever asks where an entry runs.

use std::fmt::Write;

use backend_ebpf::{CopiesAt, Found, Path, Statistics, Whereabouts};
use layered::{Place, Places};

use super::text::Text;

/// What there is to look at.
#[derive(Clone)]
pub struct Offloaded {
    /// What the program counts.
    pub statistics: Statistics,
    /// Which entry runs where.
    pub places: Places,
    /// Where relays run.
    pub relays: Whereabouts,
    /// Where copies for rooms are made, if any are.
    pub rooms: Option<CopiesAt>,
}

impl Offloaded {
    /// The families.
    pub fn write(&self, text: &mut Text) {
        text.family(
            "weir_ebpf",
            "counter",
            "What became of packets to relays that the kernel looked at, by reason",
        );
        for (counter, value) in self.statistics.read().iter() {
            text.sample("weir_ebpf_total", &[("reason", counter.name())], value);
        }
        let name = "weir_offload_entries";
        text.family(name, "gauge", "Entries of the data plane that run in the kernel");
        text.sample(name, &[], self.places.offloaded());
        text.family(
            "weir_offload_refused",
            "counter",
            "Entries that the kernel was offered and that run in the base instead, by reason",
        );
        for (refused, count) in self.places.refusals() {
            text.sample("weir_offload_refused_total", &[("reason", refused.name())], count);
        }
    }

    /// Where relays run and copies for rooms are made, and every entry and where it runs, one a
    /// line; the refused ones with the reason.
    pub fn list(&self) -> String {
        let mut list = format!("relays\t{}\n", place_of(&self.relays.found()));
        if let Some(rooms) = &self.rooms {
            writeln!(list, "rooms\t{rooms}").expect("writing to a string does not fail");
        }
        for (entry, place) in self.places.entries() {
            let place = match place {
                Place::Offload => "kernel".to_owned(),
                Place::Base(refused) => format!("base ({refused})"),
            };
            writeln!(list, "{entry}\t{place}").expect("writing to a string does not fail");
        }
        list
    }
}

/// The places where relays run, one sample each, and the reason if they do not run where they would
/// cost less.
pub(super) fn write_place(offload: Option<&Offloaded>, why_not: Option<&str>, text: &mut Text) {
    let name = "weir_offload_interfaces";
    text.family(
        name,
        "gauge",
        "Interfaces at which the kernel relays calls, by where; of sockets, which relay everything else, 1 with the reason where it relays none",
    );
    let Some(offload) = offload else {
        return text.sample(name, &[("path", "sockets"), ("reason", why_not.unwrap_or_default())], 1);
    };
    let found = offload.relays.found();
    for path in [Path::Driver, Path::Stack, Path::Generic] {
        let there: Vec<&Found> = found.iter().filter(|found| found.path == path).collect();
        let reason = there.iter().find_map(|found| found.why_not.as_deref());
        let path = match path {
            Path::Driver => "driver",
            Path::Stack => "stack",
            Path::Generic => "generic",
        };
        text.sample(
            name,
            &[("path", path), ("reason", reason.unwrap_or_default())],
            there.len(),
        );
    }
}

/// In words: the place, where it is one for all interfaces, or else each with its interfaces.
fn place_of(found: &[Found]) -> String {
    let is_one = found.windows(2).all(|pair| pair[0].path == pair[1].path);
    if is_one && found.iter().all(|found| found.why_not.is_none()) {
        return found.first().map_or_else(String::new, |found| found.path.to_string());
    }
    let names = |path: Path| {
        let there = found
            .iter()
            .filter(|found| found.path == path)
            .map(|found| match &found.why_not {
                Some(why_not) => format!("{}, as {why_not}", found.interface),
                None => found.interface.clone(),
            });
        there.collect::<Vec<_>>().join(", ")
    };
    let places = [Path::Driver, Path::Stack, Path::Generic].map(|path| (path, names(path)));
    let places = places.into_iter().filter(|(_, names)| !names.is_empty());
    let places = places.map(|(path, names)| format!("{path} ({names})"));
    places.collect::<Vec<_>>().join("; ")
}
