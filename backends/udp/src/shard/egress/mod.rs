//! Egress: packets are rewritten, paced, sealed and collected in runs.
//!
//! `send` sends a packet at once, or queues it in the leg's pacer, from which `pacing` sends it
//! when it is due. `write` writes a packet with its `Rewrite` into the leg's run: its `header`,
//! with its descriptor, its payload and its padding. `seal` claims its index and protects it.
//! `resend`, `rtcp`, `fill` and `probe` serve the agent.

mod fill;
pub(crate) mod header;
mod pacing;
mod probe;
mod resend;
mod rtcp;
mod seal;
mod send;
mod write;

use crate::shard::runs::EgressRuns;
use header::Layouts;

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
