//! The numbers of calls, for metrics.

use sip::Counters;
use sip::quality::Scores;
use sip::statistics::Snapshot;

/// The counts of the relay, and its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    /// The requests and calls it refused, ignored, gave up, and carried out.
    pub counters: Counters,
    /// How good streams were.
    pub scores: Scores,
    /// How many calls there are, with those that are over and still kept.
    pub calls: usize,
    /// How many ports they have.
    pub ports: usize,
    /// Statistics for dashboards.
    pub snapshot: Snapshot,
}
