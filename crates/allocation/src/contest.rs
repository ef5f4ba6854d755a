//! Those who want a share: one receiver's videos in the order of their importance, with what they have and could have.

use std::cmp::Reverse;

use crate::ladder::{Ladders, Rung, price};
use crate::limits::OFFERS_MAX;
use crate::quality::displayed;
use crate::{BitRate, Grant, Key, Offer, Source, Subscription, Wish};

/// What a subscription was given, and for which wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) key: Key,
    pub(crate) wish: Wish,
    pub(crate) grant: Grant,
}

/// One video that is wanted and arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    importance: Importance,
    key: Key,
    /// Among the subscriptions.
    pub(crate) index: usize,
    /// What it has, at today's price.
    pub(crate) current: Option<Rung>,
}

/// Screens before speakers before everybody else, then by what the viewer chose. Sorts the most important first.
type Importance = (u8, u8, Reverse<u8>, Reverse<u32>);

/// All of them, and their ladders.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    pub(crate) contenders: Vec<Contender>,
    pub(crate) ladders: Ladders,
    /// Something other than a rate is not as it was: it is answered at once.
    pub(crate) changed: bool,
}

impl Contest {
    /// Reads who wants what. `standings` are sorted by key.
    pub(crate) fn read(&mut self, subscriptions: &[Subscription<'_>], standings: &[Standing]) {
        self.contenders.clear();
        self.changed = false;
        for (index, subscription) in subscriptions.iter().enumerate() {
            if !is_contended(subscription) {
                continue;
            }
            let before = before(subscription.key, standings);
            let current = before
                .and_then(|before| before.grant.target())
                .and_then(|target| price(&subscription.wish, offers(subscription), target));
            let is_new = |before: &Standing| is_other(&before.wish, &subscription.wish) || before.grant == Grant::Idle;
            self.changed |= before.is_none_or(is_new);
            self.changed |= current.is_none() && before.is_some_and(|before| before.grant != Grant::Paused);
            self.contenders.push(Contender {
                importance: importance(&subscription.wish),
                key: subscription.key,
                index,
                current,
            });
        }
        self.contenders
            .sort_unstable_by_key(|contender| (contender.importance, contender.key));
    }

    /// Builds everybody's ladder, no higher than what they have if `capped`: those who have nothing may then have their lowest rung.
    /// Gives what it would take to be at the top of all of them.
    pub(crate) fn build(&mut self, subscriptions: &[Subscription<'_>], capped: bool) -> BitRate {
        self.ladders.clear();
        let mut wanted = BitRate(0);
        for contender in &self.contenders {
            let subscription = &subscriptions[contender.index];
            let best = (self.ladders).push(&subscription.wish, offers(subscription), contender.current, capped);
            wanted = wanted.plus(best);
        }
        wanted
    }

    /// What they have takes so much.
    pub(crate) fn used(&self) -> BitRate {
        let current = self.contenders.iter().filter_map(|contender| contender.current);
        current.fold(BitRate(0), |sum, rung| sum.plus(rung.cost))
    }
}

/// What a subscription was given last. `standings` are sorted by key.
pub(crate) fn before(key: Key, standings: &[Standing]) -> Option<&Standing> {
    let found = standings.binary_search_by_key(&key, |standing| standing.key);
    found.ok().map(|at| &standings[at])
}

/// The layers of a subscription that are looked at.
pub(crate) fn offers<'a>(subscription: &Subscription<'a>) -> &'a [Offer] {
    &subscription.offers[..subscription.offers.len().min(OFFERS_MAX)]
}

/// Whether somebody asked for something else. Who speaks is nobody's choice and passes: it counts for as much as it counts, and waits like a rate.
fn is_other(before: &Wish, after: &Wish) -> bool {
    let heard_alike = Wish {
        speaker: after.speaker,
        ..*before
    };
    heard_alike != *after
}

/// Whether it is a video that is wanted and arrives.
fn is_contended(subscription: &Subscription<'_>) -> bool {
    let arrives = || offers(subscription).iter().any(|offer| offer.rate > BitRate(0));
    subscription.wish.enabled && subscription.wish.kind == wire::MediaKind::Video && arrives()
}

fn importance(wish: &Wish) -> Importance {
    let (class, place) = match (wish.source, wish.speaker) {
        (Source::Screen, _) => (0, 0),
        (Source::Camera, Some(place)) => (1, place),
        (Source::Camera, None) => (2, 0),
    };
    (class, place, Reverse(wish.priority), Reverse(displayed(wish)))
}
