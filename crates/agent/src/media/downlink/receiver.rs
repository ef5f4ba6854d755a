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

/// State of one receiver, beside its subscriptions.
pub(super) struct Receiver {
    pub(super) subscriptions: BTreeSet<SubscriptionId>,
    /// The subscription each SSRC we send here belongs to.
    pub(super) by_ssrc: Map<Ssrc, SubscriptionId>,
    /// Its losses, and the playout delay because of them.
    pub(super) playout: Playout,
    /// Repeated packets that wait to be sent to it.
    pub(super) copies: Copies,
    /// Retransmissions that wait until its path has room.
    pub(super) deferred_rtx: DeferredRtx,
    /// Limit on its retransmissions while its path is full.
    pub(super) rtx_limit: RateLimit,
    /// Statistics that the data plane has returned in this round of reports.
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
