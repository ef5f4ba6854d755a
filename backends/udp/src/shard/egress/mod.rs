//! Egress: packets are rewritten, paced, sealed and collected in runs.
//!
//! `rewrite` holds the changes to a packet for one receiver. `send` sends it at once, or queues it
//! in the leg's pacer (`pace`), from which `pacing` sends it when it is due. `write` writes a
//! packet into the leg's `runs`: its `header` with its `descriptor`, its payload and its padding.
//! `seal` claims its index and protects it. `resend`, `rtcp`, `fill` and `probe` serve the agent.

mod descriptor;
mod fill;
pub(crate) mod header;
pub(crate) mod pace;
mod pacing;
mod probe;
mod resend;
pub(crate) mod rewrite;
mod rtcp;
pub(crate) mod runs;
mod seal;
mod send;
mod write;

pub use runs::{Run, Transmit};

use header::Layouts;
use runs::EgressRuns;

/// The runs of a batch, and the cached headers they are written from.
pub(super) struct Egress {
    pub(super) runs: EgressRuns,
    layouts: Layouts,
}

impl Egress {
    pub(super) fn new() -> Self {
        Egress {
            runs: EgressRuns::new(),
            layouts: Layouts::new(),
        }
    }
}
