//! Divides one receiver's estimate over its subscriptions, and keeps its grants as long as it can.

use std::time::{Duration, Instant};

use wire::MediaKind;

use crate::candidates::{Candidate, Candidates, PreviousGrant, before, offers};
use crate::divide::{Budget, Divider};
use crate::hysteresis::Hysteresis;
use crate::ladder::Rung;
use crate::{Allocation, BitRate, EstimateHistory, Grant, Headroom, Policy, Subscription};

/// A plan that takes from some videos to give to others must gain this multiple of the loss: every
/// change of size takes a key frame, after which encoders skip some frames, for all viewers. So
/// equal videos do not swap grants, nor do two speakers who alternate.
const WORTHWHILE: f64 = 2.0;

/// The same when everything is divided anew, after a change of subscriptions or requests.
const KEEPS: f64 = 1.25;

/// The utility of a larger size must be this multiple of the present one.
const LARGER: f64 = 1.25;

/// A plan that only saves must cost no more than this part of the present rate.
const CHEAPER: f64 = 0.9;

/// The rate sent may exceed the estimate by this factor before it is cut back: estimates waver, and
/// a queue that grows lowers the estimate soon enough.
const TOLERATED: f64 = 1.1;

/// The estimate must have been this multiple of everything wanted for this time, for everything to
/// be granted before the hold is over. This is for all of it, not for a part: every size on the way
/// takes a key frame.
const PLENTY: (Duration, f64) = (Duration::from_secs(1), 1.3);

/// The estimate must have been this multiple of everything wanted for this time, for everything to
/// be granted with less than the margin. While less is sent the estimate does not grow, and a probe
/// of a path with hardly more capacity finds no more.
const CALM: (Duration, f64) = (Duration::from_secs(6), 1.08);

/// This part of the room for video is left free after a cut.
const SPARE: f64 = 0.05;

/// How cautious an allocator is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Quality is raised only to rates that stay below the estimate by this margin. Shape: a part,
    /// 0.15 for 15 %.
    pub margin: f64,
    /// It is raised only after the estimate has been that high for this time, and for up to 8 s
    /// after rises that failed.
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
/// important first, and then the layers with the highest gain per bit. A call has one of four
/// results:
///
/// - A request changed, or a layer that was sent is gone: everything is divided anew, at once,
///   within the rate in use or safe to use.
/// - The rate sent no longer fits the estimate: it is cut back at once, and no video gets more than
///   before.
/// - A better plan has fitted the estimate with a margin for a while: it is taken. A screen that
///   starts does not wait.
/// - Otherwise all grants stay.
///
/// It keeps its buffers, so that calls allocate nothing once there have been as many subscriptions.
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
    /// For a new receiver.
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
            self.keep();
        }
    }

    /// Plans what is sent already.
    fn keep(&mut self) {
        self.plan.clear();
        self.plan
            .extend(self.candidates.list.iter().map(|candidate| candidate.current));
    }

    /// Raises screens to the best rung within the rate of their start, whatever was estimated
    /// before. A size that begins to arrive later than another would wait for the hold otherwise.
    /// Returns whether any is raised.
    fn start_screens(&mut self, most: BitRate) -> bool {
        let mut is_raised = false;
        let mut used = cost(self.plan.iter().copied());
        let candidates = self.candidates.list.iter().enumerate();
        for (ladder, _) in candidates.filter(|(_, candidate)| candidate.is_screen()) {
            let Some(present) = self.plan[ladder] else { continue };
            let others = used.less(present.cost);
            let is_within = |rung: &&Rung| others.plus(rung.cost) <= most && rung.cost > present.cost;
            if let Some(best) = self.candidates.ladders.get(ladder).iter().rfind(is_within) {
                used = others.plus(best.cost);
                self.plan[ladder] = Some(*best);
                is_raised = true;
            }
        }
        is_raised
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

    /// Everything wanted, if the estimate has been a little higher for long, and no similar rise
    /// failed recently.
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

    /// Records the plan as grants, and their requests. Returns the cost.
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
        let Headroom {
            now: estimate,
            carried,
            screen_start,
        } = room;
        self.history.push(now, estimate);
        let audio = audio(subscriptions);
        let room = estimate.less(audio);
        self.candidates.read(subscriptions, &self.previous_grants);
        let fits = self.candidates.used() <= estimate.scaled(TOLERATED).less(audio);
        let wanted = self.candidates.build(subscriptions, !fits && !self.candidates.changed);
        if self.candidates.changed {
            self.start_over(now, estimate, audio, wanted);
            self.start_screens(screen_start.less(audio));
        } else if fits {
            self.keep();
            if !self.start_screens(screen_start.less(audio)) {
                self.improve(now, room, audio, wanted);
            }
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

/// The rung, or, if a larger size is not worth its key frame, the best rung of the present size for
/// the same rate. A key frame is sent all at once.
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
