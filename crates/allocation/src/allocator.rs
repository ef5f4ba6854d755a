//! Divides one receiver's estimate over its subscriptions, and keeps what it said as long as it
//! can.

use std::time::{Duration, Instant};

use wire::MediaKind;

use crate::candidates::{Candidate, Candidates, PreviousGrant, before, offers};
use crate::divide::{Budget, Divider};
use crate::hysteresis::Hysteresis;
use crate::ladder::Rung;
use crate::{Allocation, BitRate, EstimateHistory, Grant, Headroom, Policy, Subscription};

/// A plan that takes from some to give to others must give so much more than it takes: every
/// picture that changes its size takes a key frame, after which encoders leave some pictures out,
/// for everybody who watches. So equals do not change places, nor do two who speak in turn.
const WORTHWHILE: f64 = 2.0;

/// The same where all is divided anew, since somebody comes or asks for something else.
const KEEPS: f64 = 1.25;

/// A larger picture must be worth so many times what there is.
const LARGER: f64 = 1.25;

/// A plan that only saves must cost no more than this part of what is sent.
const CHEAPER: f64 = 0.9;

/// The rate sent may exceed the estimate by this factor before it is cut back: estimates waver, and
/// a queue that grows lowers the estimate soon enough.
const TOLERATED: f64 = 1.1;

/// For so long and so many times what everything takes, the estimate must have been high for
/// everything to be given sooner than after the hold. Not a part of it: every size on the way takes
/// a key frame.
const PLENTY: (Duration, f64) = (Duration::from_secs(1), 1.3);

/// For so long and so many times what everything takes, it must have been high for everything to be
/// given with less than the margin. While less is sent the estimate does not grow, and a probe of a
/// path that carries hardly more finds no more.
const CALM: (Duration, f64) = (Duration::from_secs(6), 1.08);

/// This part of what there is for video is left when it has to be cut back.
const SPARE: f64 = 0.05;

/// How cautious an allocator is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Quality goes up only to what takes so much less than the estimate. Shape: a part, 0.15 for
    /// 15 %.
    pub margin: f64,
    /// And only when the estimate has been that high for so long; for up to 8 s after rises that
    /// did not last.
    pub hold: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            margin: 0.15,
            hold: Duration::from_secs(2),
        }
    }
}

/// Weir's own policy, one for each receiver.
///
/// Audio is always sent. Of the rest of the estimate every video gets its lowest layer, the most
/// important first, and then whatever gains most per bit. Four things may happen in a call:
///
/// - A wish changed, or a layer that was sent is gone: all is divided anew, at once, within what is
///   in use or safe to use.
/// - What is sent no longer fits the estimate: it is cut back at once, and nobody gets more than
///   before.
/// - A better plan has fitted the estimate with a margin for a while: it is taken.
/// - Otherwise all stays as it is.
///
/// Keeps its buffers, so that calls allocate nothing once there have been as many subscriptions
/// before.
#[derive(Debug)]
pub struct Allocator {
    config: Config,
    history: EstimateHistory,
    hysteresis: Hysteresis,
    /// The last grants, by key.
    previous_grants: Vec<PreviousGrant>,
    candidates: Candidates,
    divider: Divider,
    /// The rung of each candidate.
    plan: Vec<Option<Rung>>,
    grants: Vec<Grant>,
}

impl Allocator {
    /// For a receiver of whom nothing is known.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            history: EstimateHistory::new(),
            hysteresis: Hysteresis::new(config.hold),
            previous_grants: Vec::new(),
            candidates: Candidates::default(),
            divider: Divider::default(),
            plan: Vec::new(),
            grants: Vec::new(),
        }
    }

    /// Divides everything anew. The rate in use may stay in use: it does not have to be safe twice.
    fn start_over(&mut self, now: Instant, estimate: BitRate, audio: BitRate, wanted: BitRate) {
        let room = estimate.less(audio);
        let safe = self.safe(now, wanted.plus(audio)).unwrap_or(self.with_margin(estimate));
        let steady = self.steady(now).unwrap_or(estimate).max(safe);
        let used = self.candidates.used();
        let budget = Budget {
            lowest: used.max(steady.less(audio)).min(room.scaled(TOLERATED)),
            all: used.max(safe.less(audio)).min(room),
            had_counts: KEEPS,
        };
        self.divider.divide(budget, &self.candidates.ladders, &mut self.plan);
    }

    /// Cuts back when the rate sent does not fit. A little more than necessary is cut, so that the
    /// next lower estimate does not cut again. No video is paused for that margin, nor for an
    /// excess that would be tolerated if it were sent already, nor for a queue.
    fn cut_back(&mut self, now: Instant, room: BitRate, carried: BitRate, audio: BitRate) {
        let budget = Budget {
            lowest: carried.scaled(TOLERATED).less(audio),
            all: room.scaled(1.0 - SPARE),
            had_counts: 1.0,
        };
        self.divider.divide(budget, &self.candidates.ladders, &mut self.plan);
        let had = self.candidates.list.iter().map(|candidate| candidate.current);
        if !had.eq(self.plan.iter().copied()) {
            self.hysteresis.fell(now, self.candidates.used().plus(audio));
        }
    }

    /// Looks for a better plan when the rate sent fits. Showing a video at all needs no margin: the
    /// tolerance then keeps it from being paused and resumed repeatedly.
    fn improve(&mut self, now: Instant, room: BitRate, audio: BitRate, wanted: BitRate) {
        let safe = self.safe(now, wanted.plus(audio)).unwrap_or_default();
        let steady = self.steady(now).unwrap_or_default();
        let budget = Budget {
            lowest: steady.max(safe).less(audio).min(room),
            all: safe.less(audio).max(self.candidates.used()).min(room),
            had_counts: WORTHWHILE,
        };
        self.divider.divide(budget, &self.candidates.ladders, &mut self.plan);
        for (ladder, (rung, candidate)) in self.plan.iter_mut().zip(&self.candidates.list).enumerate() {
            if let (Some(rung), Some(current)) = (rung, candidate.current) {
                *rung = without_key_frame(*rung, current, self.candidates.ladders.get(ladder));
            }
        }
        if is_better(&self.plan, &self.candidates.list) {
            self.hysteresis.rose(now);
        } else {
            self.plan.clear();
            self.plan
                .extend(self.candidates.list.iter().map(|candidate| candidate.current));
        }
    }

    /// The lowest estimate over a while, less the margin; `None` until it is known for that long.
    fn safe(&mut self, now: Instant, wanted: BitRate) -> Option<BitRate> {
        let (soon, times) = PLENTY;
        let steady = self.steady(now);
        let lowest = self.history.lowest_over(soon);
        let plenty = lowest.filter(|lowest| *lowest >= wanted.scaled(times)).map(|_| wanted);
        // An increase that failed waits for the hold.
        let plenty = plenty.filter(|_| self.hysteresis.hold_beyond().is_none());
        let beyond = self.hysteresis.hold_beyond().and_then(|(hold, least)| {
            let lowest = self.history.lowest_over(hold);
            lowest.filter(|lowest| *lowest >= least)
        });
        let usual = steady.max(beyond).map(|lowest| self.with_margin(lowest));
        plenty.max(usual).max(self.calm(wanted))
    }

    /// Everything, where it has been a little more than that for long, and nothing like it failed
    /// lately.
    fn calm(&self, wanted: BitRate) -> Option<BitRate> {
        let (long, times) = CALM;
        let lowest = self.history.lowest_over(long)?;
        let failed = self.hysteresis.hold_beyond().is_some_and(|(_, least)| lowest < least);
        (!failed && lowest >= wanted.scaled(times)).then_some(wanted)
    }

    /// The lowest estimate over the whole hold.
    fn steady(&mut self, now: Instant) -> Option<BitRate> {
        self.history.lowest_over(self.hysteresis.hold(now))
    }

    fn with_margin(&self, estimate: BitRate) -> BitRate {
        estimate.scaled(1.0 / (1.0 + self.config.margin))
    }

    /// Writes down the plan as grants, and what they were given for. Gives what it costs.
    fn conclude(&mut self, subscriptions: &[Subscription<'_>]) -> BitRate {
        self.grants.clear();
        let previous_grants = &self.previous_grants;
        self.grants.extend(
            subscriptions
                .iter()
                .map(|subscription| without_candidate(subscription, previous_grants)),
        );
        for (candidate, rung) in self.candidates.list.iter().zip(&self.plan) {
            self.grants[candidate.index] = rung.map_or(Grant::Paused, |rung| Grant::Send(rung.target));
        }
        self.previous_grants.clear();
        let previous_grant = |(subscription, grant): (&Subscription<'_>, &Grant)| PreviousGrant {
            key: subscription.key,
            request: subscription.request,
            grant: *grant,
        };
        self.previous_grants
            .extend(subscriptions.iter().zip(&self.grants).map(previous_grant));
        self.previous_grants
            .sort_unstable_by_key(|previous_grant| previous_grant.key);
        cost(self.plan.iter().copied())
    }
}

impl Policy for Allocator {
    fn allocate(&mut self, now: Instant, room: Headroom, subscriptions: &[Subscription<'_>]) -> Allocation<'_> {
        let Headroom { now: estimate, carried } = room;
        self.history.push(now, estimate);
        let audio = audio(subscriptions);
        let room = estimate.less(audio);
        self.candidates.read(subscriptions, &self.previous_grants);
        let fits = self.candidates.used() <= estimate.scaled(TOLERATED).less(audio);
        let wanted = self.candidates.build(subscriptions, !fits && !self.candidates.changed);
        if self.candidates.changed {
            self.start_over(now, estimate, audio, wanted);
        } else if fits {
            self.improve(now, room, audio, wanted);
        } else {
            self.cut_back(now, room, carried.max(estimate), audio);
        }
        let used = self.conclude(subscriptions);
        Allocation {
            grants: &self.grants,
            used: used.plus(audio),
            wanted: wanted.plus(audio),
        }
    }
}

/// A rung, or where a larger picture is not worth its key frame, which comes all at once, the best
/// for the same money of the size there is.
fn without_key_frame(rung: Rung, current: Rung, ladder: &[Rung]) -> Rung {
    let size = |rung: Rung| (rung.target.encoding, rung.target.layer.spatial);
    if size(rung) <= size(current) || rung.utility >= current.utility * LARGER {
        return rung;
    }
    let of_that_size = |other: &&Rung| size(**other) == size(current) && other.cost <= rung.cost;
    ladder.iter().rfind(of_that_size).copied().unwrap_or(current)
}

/// Whether a plan sends more important videos, or the same and better ones, or the same as well for
/// much less.
fn is_better(plan: &[Option<Rung>], list: &[Candidate]) -> bool {
    let (mut gained, mut lost) = (0.0, 0.0);
    for (rung, candidate) in plan.iter().zip(list) {
        if rung.is_some() != candidate.current.is_some() {
            return rung.is_some();
        }
        let utility = |rung: &Option<Rung>| rung.map_or(0.0, |rung| rung.utility);
        let change = utility(rung) - utility(&candidate.current);
        gained += change.max(0.0);
        lost -= change.min(0.0);
    }
    let now = cost(list.iter().map(|candidate| candidate.current));
    let cheaper = cost(plan.iter().copied()) < now.scaled(CHEAPER);
    gained > lost * WORTHWHILE || cheaper && lost == 0.0
}

fn cost(plan: impl Iterator<Item = Option<Rung>>) -> BitRate {
    plan.flatten().fold(BitRate(0), |sum, rung| sum.plus(rung.cost))
}

/// The rate of audio, which is always sent.
pub(crate) fn audio(subscriptions: &[Subscription<'_>]) -> BitRate {
    let enabled = subscriptions.iter().filter(|subscription| subscription.request.enabled);
    let audio = enabled.filter(|subscription| subscription.request.kind == MediaKind::Audio);
    let rates = audio.flat_map(offers).map(|offer| offer.rate);
    rates.fold(BitRate(0), BitRate::plus)
}

/// The grant of a subscription that does not compete. A video of which nothing arrives for the
/// moment, such as a screen without changes, keeps its grant.
fn without_candidate(subscription: &Subscription<'_>, previous_grants: &[PreviousGrant]) -> Grant {
    match without_contest(subscription) {
        Grant::Idle if subscription.request.enabled => {
            before(subscription.key, previous_grants).map_or(Grant::Idle, |it| it.grant)
        }
        grant => grant,
    }
}

/// The grant of a subscription of which nothing is known. Audio gets everything, even while it is
/// silent and nothing arrives; video gets nothing.
pub(crate) fn without_contest(subscription: &Subscription<'_>) -> Grant {
    if !subscription.request.enabled || subscription.request.kind == MediaKind::Video {
        return Grant::Idle;
    }
    let targets = offers(subscription).iter().map(|offer| offer.target);
    Grant::Send(targets.max_by_key(|target| target.encoding).unwrap_or_default())
}
