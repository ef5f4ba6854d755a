//! A transport as the receiver of media.

use std::collections::BTreeSet;

use dataplane::{ReplicaId, ReplicaStatistics};
use southbound::SubscriptionId;
use wire::Ssrc;

use super::copies::Copies;
use super::deferred_rtx::DeferredRtx;
use super::playout::Playout;
use crate::map::Map;
use crate::media::rate_limit::RateLimit;
use crate::media::rtx_history::congested_limit;

/// What is known of one receiver, beside its subscriptions.
pub(super) struct Receiver {
    pub(super) subscriptions: BTreeSet<SubscriptionId>,
    /// The subscription each SSRC we send here belongs to.
    pub(super) by_ssrc: Map<Ssrc, SubscriptionId>,
    /// What it loses, and how long it is to hold pictures back for that.
    pub(super) playout: Playout,
    /// What is to be sent to it once more.
    pub(super) copies: Copies,
    /// What it is to have sent again once the path has room.
    pub(super) deferred_rtx: DeferredRtx,
    /// What it had sent again while its path was full.
    pub(super) rtx_limit: RateLimit,
    /// What the data plane has answered in this round of reports.
    pub(super) pending: Vec<(ReplicaId, ReplicaStatistics)>,
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            subscriptions: BTreeSet::new(),
            by_ssrc: Map::default(),
            playout: Playout::default(),
            copies: Copies::default(),
            deferred_rtx: DeferredRtx::default(),
            rtx_limit: congested_limit(),
            pending: Vec::new(),
        }
    }
}
