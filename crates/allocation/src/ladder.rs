//! Ladders: for each video its decode targets from the cheapest to the best, without those that
//! cost more and are no better.

use std::cmp::Ordering;
use std::ops::Range;

use crate::quality::Scale;
use crate::{BitRate, DecodeTarget, Offer, Request};

/// A target is a rung only if its utility is this multiple of a cheaper one.
const BETTER: f64 = 1.02;

/// One decode target with its price and its worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rung {
    pub(crate) target: DecodeTarget,
    /// The total rate: of this layer, and of the lower layers that it needs.
    pub(crate) cost: BitRate,
    /// Weighted quality.
    pub(crate) utility: f64,
}

/// The ladders of all videos, the most important first.
#[derive(Debug, Default)]
pub(crate) struct Ladders {
    rungs: Vec<Rung>,
    ladders: Vec<Ladder>,
}

#[derive(Clone, Debug)]
struct Ladder {
    rungs: Range<usize>,
    may_pause: bool,
    is_exact: bool,
    /// The utility of the present rung.
    had: f64,
}

impl Ladders {
    pub(crate) fn clear(&mut self) {
        self.rungs.clear();
        self.ladders.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ladders.len()
    }

    /// From the lowest up, costs and utilities both rising; never empty.
    pub(crate) fn get(&self, index: usize) -> &[Rung] {
        &self.rungs[self.ladders[index].rungs.clone()]
    }

    /// Gain of a move from one rung of a ladder to another, if present utility has weight
    /// `had_counts`.
    pub(crate) fn gain(&self, index: usize, from: &Rung, to: &Rung, had_counts: f64) -> f64 {
        let had = self.ladders[index].had;
        let of_it = to.utility.min(had) - from.utility.min(had);
        to.utility - from.utility + (had_counts - 1.0) * of_it
    }

    /// Whether the video may be paused.
    pub(crate) fn may_pause(&self, index: usize) -> bool {
        self.ladders[index].may_pause
    }

    /// Whether it is one encoding, for which no other is sent.
    pub(crate) fn is_exact(&self, index: usize) -> bool {
        self.ladders[index].is_exact
    }

    /// Adds a ladder of the usable `offers`, of which there must be one, for a video that has
    /// `current`; it ends there if `capped`, but always has its lowest rung. Returns the cost of
    /// its highest rung without the cap.
    pub(crate) fn push(&mut self, request: &Request, offers: &[Offer], current: Option<Rung>, capped: bool) -> BitRate {
        let begin = self.rungs.len();
        let scale = Scale::new(request, offers);
        self.rungs
            .extend(usable(request, offers).map(|offer| rung(&scale, offers, offer)));
        let rungs = &mut self.rungs[begin..];
        rungs.sort_unstable_by(cheapest_first);
        let improvements = keep_improvements(rungs);
        let best = rungs[improvements - 1].cost;
        let (cost, had) = current.map_or((BitRate(0), 0.0), |current| (current.cost, current.utility));
        let allowed = |rung: &Rung| rung.cost <= cost && rung.utility <= had;
        let kept = match capped {
            true => rungs[..improvements].partition_point(allowed).max(1),
            false => improvements,
        };
        self.rungs.truncate(begin + kept);
        self.ladders.push(Ladder {
            rungs: begin..begin + kept,
            may_pause: request.may_pause,
            is_exact: request.encoding_exact,
            had,
        });
        best
    }

    #[cfg(test)]
    pub(crate) fn had(&mut self, index: usize, utility: f64) {
        self.ladders[index].had = utility;
    }

    #[cfg(test)]
    pub(crate) fn push_rungs(&mut self, rungs: &[(u64, f64)], may_pause: bool) {
        let begin = self.rungs.len();
        let rung = |(cost, utility): &(u64, f64)| Rung {
            target: DecodeTarget::default(),
            cost: BitRate(*cost),
            utility: *utility,
        };
        self.rungs.extend(rungs.iter().map(rung));
        self.ladders.push(Ladder {
            rungs: begin..self.rungs.len(),
            may_pause,
            is_exact: false,
            had: 0.0,
        });
    }
}

/// Rate and utility of a target that is sent; `None` if it does not arrive, or is no longer wanted.
/// A target without a limit of its frame rate counts as the highest one that arrives.
pub(crate) fn price(request: &Request, offers: &[Offer], target: DecodeTarget) -> Option<Rung> {
    let exact = usable(request, offers).find(|offer| offer.target == target);
    let unlimited = target.layer.temporal == u8::MAX;
    let covered = usable(request, offers).filter(|offer| unlimited && target.covers(offer.target));
    let offer =
        exact.or_else(|| covered.max_by_key(|offer| (offer.target.layer.spatial, offer.target.layer.temporal)))?;
    Some(rung(&Scale::new(request, offers), offers, offer))
}

/// The layers that arrive in the wanted encodings and sizes. If none of those encodings arrives, it
/// is the lowest one in their place, or none where no other may be sent.
pub(crate) fn usable<'a>(request: &Request, offers: &'a [Offer]) -> impl Iterator<Item = &'a Offer> {
    let (exact, only) = (request.encoding_exact, request.encoding_max);
    let may_be_sent = move |offer: &&Offer| !exact || offer.target.encoding == only;
    let arriving = offers.iter().filter(may_be_sent).filter(|offer| arrives(offer, offers));
    let lowest = arriving.clone().map(|offer| offer.target.encoding).min().unwrap_or(0);
    let highest = request.encoding_max.max(lowest);
    let allowed = arriving.filter(move |offer| offer.target.encoding <= highest);
    let smallest = allowed
        .clone()
        .map(|offer| offer.target.layer.spatial)
        .min()
        .unwrap_or(0);
    let largest = request.spatial_max.max(smallest);
    allowed.filter(move |offer| offer.target.layer.spatial <= largest)
}

/// A frame rate arrives if any layer of the same size does: the higher layers are empty while
/// nothing moves.
fn arrives(offer: &Offer, offers: &[Offer]) -> bool {
    let same_size = |other: &&Offer| {
        let (one, other) = (offer.target, other.target);
        one.encoding == other.encoding && one.layer.spatial == other.layer.spatial
    };
    let moves = |offer: &Offer| offer.rate > BitRate(0);
    moves(offer) || offers.iter().filter(same_size).any(moves)
}

fn rung(scale: &Scale, offers: &[Offer], offer: &Offer) -> Rung {
    Rung {
        target: offer.target,
        cost: offer.target.cost(offers),
        utility: scale.utility(offer),
    }
}

/// By cost. Of two with equal cost the better one is first, and of two equal ones the lower, so
/// that the order of the input does not matter.
fn cheapest_first(one: &Rung, other: &Rung) -> Ordering {
    let place = |rung: &Rung| {
        (
            rung.target.encoding,
            rung.target.layer.spatial,
            rung.target.layer.temporal,
        )
    };
    let by_price = one.cost.cmp(&other.cost).then(other.utility.total_cmp(&one.utility));
    by_price.then_with(|| place(one).cmp(&place(other)))
}

/// Moves the rungs that are better than every cheaper one to the front, and returns their number.
/// `rungs` are sorted by cost.
fn keep_improvements(rungs: &mut [Rung]) -> usize {
    let mut kept = 1;
    for at in 1..rungs.len() {
        if rungs[at].utility > rungs[kept - 1].utility * BETTER {
            rungs[kept] = rungs[at];
            kept += 1;
        }
    }
    kept
}
