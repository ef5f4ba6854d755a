//! The candidates: one receiver's videos in the order of their importance, with their present and
//! possible layers.

use std::cmp::Reverse;

use crate::ladder::{Ladders, Rung, price, usable};
use crate::limits::OFFERS_MAX;
use crate::quality::displayed;
use crate::{BitRate, Grant, Key, Offer, Request, Source, Subscription};

/// A subscription's last grant, and the request that it was for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreviousGrant {
    pub(crate) key: Key,
    pub(crate) request: Request,
    pub(crate) grant: Grant,
}

/// One video that is wanted and arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    importance: Importance,
    key: Key,
    /// Among the subscriptions.
    pub(crate) index: usize,
    /// Its present rung, at the current rates.
    pub(crate) current: Option<Rung>,
}

/// Screens come before speakers, speakers before others; then follows the viewer's priority. The
/// most important ones sort first.
type Importance = (u8, u8, Reverse<u8>, Reverse<u32>);

/// The class of screens in it.
const SCREEN: u8 = 0;

impl Candidate {
    /// Whether it is a shared screen.
    pub(crate) fn is_screen(&self) -> bool {
        self.importance.0 == SCREEN
    }
}

/// All of them, and their ladders.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) list: Vec<Candidate>,
    pub(crate) ladders: Ladders,
    /// Something other than a rate is not as it was: it is answered at once.
    pub(crate) changed: bool,
}

impl Candidates {
    /// Reads the requests. `previous_grants` are sorted by key.
    pub(crate) fn read(&mut self, subscriptions: &[Subscription<'_>], previous_grants: &[PreviousGrant]) {
        self.list.clear();
        self.changed = false;
        for (index, subscription) in subscriptions.iter().enumerate() {
            if !is_candidate(subscription) {
                continue;
            }
            let before = before(subscription.key, previous_grants);
            let current = before
                .and_then(|before| before.grant.target())
                .and_then(|target| price(&subscription.request, offers(subscription), target));
            let is_new = |before: &PreviousGrant| {
                is_other(&before.request, &subscription.request) || before.grant == Grant::Idle
            };
            self.changed |= before.is_none_or(is_new);
            self.changed |= current.is_none() && before.is_some_and(|before| before.grant != Grant::Paused);
            self.list.push(Candidate {
                importance: importance(&subscription.request),
                key: subscription.key,
                index,
                current,
            });
        }
        self.list
            .sort_unstable_by_key(|candidate| (candidate.importance, candidate.key));
    }

    /// Builds all ladders. If `capped`, they end at the present rung; videos without one may then
    /// have their lowest. Returns the cost of all highest rungs.
    pub(crate) fn build(&mut self, subscriptions: &[Subscription<'_>], capped: bool) -> BitRate {
        self.ladders.clear();
        let mut wanted = BitRate(0);
        for candidate in &self.list {
            let subscription = &subscriptions[candidate.index];
            let best = (self.ladders).push(&subscription.request, offers(subscription), candidate.current, capped);
            wanted = wanted.plus(best);
        }
        wanted
    }

    /// The rate of all present rungs.
    pub(crate) fn used(&self) -> BitRate {
        let current = self.list.iter().filter_map(|candidate| candidate.current);
        current.fold(BitRate(0), |sum, rung| sum.plus(rung.cost))
    }
}

/// A subscription's last grant. `previous_grants` are sorted by key.
pub(crate) fn before(key: Key, previous_grants: &[PreviousGrant]) -> Option<&PreviousGrant> {
    let found = previous_grants.binary_search_by_key(&key, |previous_grant| previous_grant.key);
    found.ok().map(|at| &previous_grants[at])
}

/// The layers of a subscription that are looked at.
pub(crate) fn offers<'a>(subscription: &Subscription<'a>) -> &'a [Offer] {
    &subscription.offers[..subscription.offers.len().min(OFFERS_MAX)]
}

/// Whether a request changed. The speaker rank is not a request and changes by itself: it has its
/// weight, and a change of it waits as a change of rate does.
fn is_other(before: &Request, after: &Request) -> bool {
    let heard_alike = Request {
        speaker: after.speaker,
        ..*before
    };
    heard_alike != *after
}

/// Whether it is a video that is wanted and arrives.
fn is_candidate(subscription: &Subscription<'_>) -> bool {
    let Request { enabled, kind, .. } = subscription.request;
    let arrives = || usable(&subscription.request, offers(subscription)).next().is_some();
    enabled && kind == wire::MediaKind::Video && arrives()
}

fn importance(request: &Request) -> Importance {
    let (class, place) = match (request.source, request.speaker) {
        (Source::Screen, _) => (SCREEN, 0),
        (Source::Camera, Some(place)) => (1, place),
        (Source::Camera, None) => (2, 0),
    };
    (class, place, Reverse(request.priority), Reverse(displayed(request)))
}
