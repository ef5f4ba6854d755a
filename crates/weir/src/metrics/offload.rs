//! What is forwarded in the kernel, in `/metrics` and to whoever asks where an entry runs.

use std::fmt::Write;

use backend_ebpf::{CopiesAt, Path, Statistics};
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
    pub relays: Path,
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

    /// Where relays run and copies for rooms are made, and every entry and where it runs, one a line; the refused ones with the reason.
    pub fn list(&self) -> String {
        let mut list = format!("relays\t{}\n", self.relays);
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
