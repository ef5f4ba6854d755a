//! State of one publishing transport, beside its streams.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use dataplane::{LegId, StreamKey, StreamStatistics};
use southbound::TrackId;
use wire::NtpTime;

use super::feedback::Feedback;
use super::remb_out::RembOut;
use super::unmapped::UnmappedStream;
use crate::limits::STREAM_CHANGES_MAX;
use crate::media::rate_limit::RateLimit;

/// A transport as the source of media.
#[derive(Default)]
pub(super) struct Publisher {
    pub(super) tracks: BTreeSet<TrackId>,
    /// Streams that arrive and that no publication explains yet; oldest first.
    pub(super) unmapped: VecDeque<UnmappedStream>,
    /// How often its streams take the places of others.
    pub(super) stream_changes: StreamChanges,
    pub(super) feedback: Feedback,
    /// Whether its packets carry transport-wide sequence numbers, which we report on.
    pub(super) is_reported: bool,
    /// The estimate that it is told of its receivers' downlinks.
    pub(super) remb_out: RembOut,
    /// The receiver's leg whose estimates a device forwards to it instead.
    pub(super) heard: Option<LegId>,
    /// Statistics that the data plane has returned in this round of reports.
    pub(super) pending: Vec<(StreamKey, StreamStatistics)>,
    /// Offset added to the peer's wall clock to get ours, by its fastest sender reports. All its
    /// streams share one offset, so that they stay in sync.
    pub(super) clock_offset: Option<i64>,
}

/// How often streams take the places of others: each change is a write to the tables.
pub(super) struct StreamChanges(RateLimit);

impl Default for StreamChanges {
    fn default() -> Self {
        Self(RateLimit::new(STREAM_CHANGES_MAX, Duration::from_secs(1)))
    }
}

impl StreamChanges {
    pub(super) fn admit(&mut self, now: Instant, cost: u32) -> bool {
        self.0.admit(now, cost)
    }
}

impl Publisher {
    /// A sender report written at `sent` by the peer's clock arrived at `arrived` by ours. The
    /// fastest one is nearest to the truth; slower ones pull only a little, enough to follow two
    /// clocks that drift apart.
    pub(super) fn compared_clocks(&mut self, sent: NtpTime, arrived: NtpTime) {
        let sample = arrived.0.wrapping_sub(sent.0) as i64;
        self.clock_offset = Some(match self.clock_offset {
            Some(offset) if sample > offset => offset.saturating_add(sample.saturating_sub(offset) / 64),
            _ => sample,
        });
    }
}
