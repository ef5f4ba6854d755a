//! The parts that relays and rooms share while they handle one input.

use std::time::{Duration, Instant};

use crate::P4Config;
use crate::cells::Cells;
use crate::services::Services;
use crate::table_writer::TableWriter;

/// After so long without an answer the switch is gone.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The shared parts, at one moment.
pub(crate) struct Context<'a> {
    pub now: Instant,
    pub config: &'a P4Config,
    pub writer: &'a mut TableWriter,
    pub services: &'a mut Services,
    pub cells: &'a mut Cells,
    /// Since when the switch is not there; `None` while it is.
    pub away_since: Option<Instant>,
    /// Whether the switch may number packets: it has a lease, and none of its entries is stale.
    pub is_leased: bool,
}

impl Context<'_> {
    /// Whether the switch has been away for so long that nothing is expected of it.
    pub(crate) fn is_gone(&self) -> bool {
        self.away_since
            .is_some_and(|since| self.now.saturating_duration_since(since) >= ANSWER_MAX)
    }
}
