//! A per-stream function as a policy for a whole receiver: each video by itself, as Scallop has it.

use std::time::Instant;

use wire::MediaKind;

use crate::allocator::{audio, without_contest};
use crate::candidates::offers;
use crate::ladder::usable;
use crate::{
    Allocation, BitRate, DecodeTarget, EstimateHistory, Grant, Headroom, Key, Policy, SelectDecodeTarget, Subscription,
};

/// Asks a [`SelectDecodeTarget`] about each video, with an equal share of the receiver's estimate
/// after audio.
///
/// In Scallop a receiver estimates every sender's stream separately; here there is one estimate for
/// all of them. Of a request only the best wanted encoding and layer count, and no video is ever
/// paused. It is meant for comparisons.
///
/// Source: Scallop sections 5.3 and 5.4.
#[derive(Debug)]
pub struct PerStream<S> {
    select: S,
    /// Shares, not whole estimates.
    history: EstimateHistory,
    /// The grant of each video, by key.
    current: Vec<PreviousGrant>,
    /// The same, while it is being made.
    next: Vec<PreviousGrant>,
    grants: Vec<Grant>,
}

#[derive(Clone, Copy, Debug)]
struct PreviousGrant {
    key: Key,
    /// The last selected target.
    selected: DecodeTarget,
    /// The nearest to it among the offers that arrived last.
    sent: Option<DecodeTarget>,
}

impl<S: SelectDecodeTarget> PerStream<S> {
    /// For a new receiver.
    pub fn new(select: S) -> Self {
        Self {
            select,
            history: EstimateHistory::new(),
            current: Vec::new(),
            next: Vec::new(),
            grants: Vec::new(),
        }
    }

    /// The grant of a video within its share. A video of which nothing arrives for the moment keeps
    /// its grant.
    fn stand(&self, subscription: &Subscription<'_>, share: BitRate) -> PreviousGrant {
        let key = subscription.key;
        let before = self
            .current
            .binary_search_by_key(&key, |previous_grant| previous_grant.key);
        let before = before.ok().map(|at| self.current[at]);
        let selected = before.map_or(DecodeTarget::default(), |before| before.selected);
        let selected = self.select.select(selected, &self.history, share);
        let sent = arriving(selected, subscription);
        PreviousGrant {
            key,
            selected,
            sent: sent.or(before.and_then(|before| before.sent)),
        }
    }
}

impl<S: SelectDecodeTarget> Policy for PerStream<S> {
    fn allocate(&mut self, now: Instant, room: Headroom, subscriptions: &[Subscription<'_>]) -> Allocation<'_> {
        let sound = audio(subscriptions);
        let videos = subscriptions.iter().filter(|it| is_wanted_video(it)).count();
        let share = BitRate(room.now.less(sound).0 / videos.max(1) as u64);
        self.history.push(now, share);
        self.grants.clear();
        self.next.clear();
        let (mut used, mut wanted) = (sound, sound);
        for subscription in subscriptions {
            if !is_wanted_video(subscription) {
                self.grants.push(without_contest(subscription));
                continue;
            }
            let previous_grant = self.stand(subscription, share);
            self.next.push(previous_grant);
            self.grants.push(previous_grant.sent.map_or(Grant::Idle, Grant::Send));
            let offers = offers(subscription);
            used = used.plus(previous_grant.sent.map_or(BitRate(0), |sent| sent.cost(offers)));
            let costs = usable(&subscription.request, offers).map(|offer| offer.target.cost(offers));
            wanted = wanted.plus(costs.max().unwrap_or_default());
        }
        self.next.sort_unstable_by_key(|previous_grant| previous_grant.key);
        std::mem::swap(&mut self.current, &mut self.next);
        Allocation {
            grants: &self.grants,
            used,
            wanted,
        }
    }
}

fn is_wanted_video(subscription: &Subscription<'_>) -> bool {
    let request = &subscription.request;
    request.enabled && request.kind == MediaKind::Video && !subscription.offers.is_empty()
}

/// The best that arrives at or below a target and is wanted, or else the lowest there is. Sizes are
/// the same whether they are encodings or spatial layers.
fn arriving(target: DecodeTarget, subscription: &Subscription<'_>) -> Option<DecodeTarget> {
    let size = |target: DecodeTarget| target.encoding.saturating_add(target.layer.spatial);
    let rank = |other: &DecodeTarget| (size(*other), other.layer.temporal);
    let below = |other: &DecodeTarget| {
        size(*other) < size(target) || size(*other) == size(target) && other.layer.temporal <= target.layer.temporal
    };
    let targets = || usable(&subscription.request, offers(subscription)).map(|offer| offer.target);
    targets()
        .filter(below)
        .max_by_key(rank)
        .or_else(|| targets().min_by_key(rank))
}
