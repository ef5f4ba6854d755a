//! A per-stream function as a policy for a whole receiver: each video by itself, as Scallop has it.

use std::time::Instant;

use wire::MediaKind;

use crate::allocator::{audio, without_contest};
use crate::contest::offers;
use crate::{
    Allocation, BitRate, DecodeTarget, EstimateHistory, Grant, Key, Offer, Policy, SelectDecodeTarget, Subscription,
};

/// Asks a [`SelectDecodeTarget`] about each video with the receiver's whole estimate.
///
/// Nothing is divided: with several videos the thresholds must have been chosen for so many. It is there to compare with.
#[derive(Debug)]
pub struct PerStream<S> {
    select: S,
    history: EstimateHistory,
    /// What each video was granted last, by key.
    current: Vec<(Key, DecodeTarget)>,
    /// The same, while it is being made.
    next: Vec<(Key, DecodeTarget)>,
    grants: Vec<Grant>,
}

impl<S: SelectDecodeTarget> PerStream<S> {
    /// For a receiver of whom nothing is known.
    pub fn new(select: S) -> Self {
        Self {
            select,
            history: EstimateHistory::new(),
            current: Vec::new(),
            next: Vec::new(),
            grants: Vec::new(),
        }
    }

    fn current(&self, key: Key) -> DecodeTarget {
        let found = self.current.binary_search_by_key(&key, |(key, _)| *key);
        found.map_or(DecodeTarget::default(), |at| self.current[at].1)
    }
}

impl<S: SelectDecodeTarget> Policy for PerStream<S> {
    fn allocate(&mut self, now: Instant, estimate: BitRate, subscriptions: &[Subscription<'_>]) -> Allocation<'_> {
        self.history.push(now, estimate);
        self.grants.clear();
        let (mut used, mut wanted) = (audio(subscriptions), audio(subscriptions));
        self.next.clear();
        for subscription in subscriptions {
            let video = subscription.wish.kind == MediaKind::Video && subscription.wish.enabled;
            if !video || offers(subscription).is_empty() {
                self.grants.push(without_contest(subscription));
                continue;
            }
            let before = self.current(subscription.key);
            let target = self.select.select(before, &self.history, estimate);
            self.next.push((subscription.key, target));
            let sent = arriving(target, offers(subscription));
            self.grants.push(sent.map_or(Grant::Idle, Grant::Send));
            used = used.plus(sent.map_or(BitRate(0), |sent| sent.cost(offers(subscription))));
            let costs = offers(subscription)
                .iter()
                .map(|offer| offer.target.cost(offers(subscription)));
            wanted = wanted.plus(costs.max().unwrap_or_default());
        }
        self.next.sort_unstable_by_key(|(key, _)| *key);
        std::mem::swap(&mut self.current, &mut self.next);
        Allocation {
            grants: &self.grants,
            used,
            wanted,
        }
    }
}

/// The best that arrives at or below a target, or else the lowest there is.
fn arriving(target: DecodeTarget, offers: &[Offer]) -> Option<DecodeTarget> {
    let rank = |target: &DecodeTarget| (target.encoding, target.layer.spatial, target.layer.temporal);
    let targets = || {
        offers
            .iter()
            .filter(|offer| offer.rate > BitRate(0))
            .map(|offer| offer.target)
    };
    let below = |other: &DecodeTarget| {
        other.encoding < target.encoding || other.encoding == target.encoding && target.layer.covers(other.layer)
    };
    targets()
        .filter(below)
        .max_by_key(rank)
        .or_else(|| targets().min_by_key(rank))
}
