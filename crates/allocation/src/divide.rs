//! Divides a budget among ladders: a pure function of requests and costs, without memory or time.
//!
//! The lowest rung of every ladder comes first, the most important ladders first. An encoding that
//! is sent exactly gets as much as fits in its turn: the smaller encodings of its track are ladders
//! of their own, and with all their frames they are worth more than a few frames of it. The rest of
//! the budget is spent by gain per bit. A move takes a ladder from its rung to any higher one. Of
//! all moves that can be paid, the one with the highest gain per bit is made, until none can be
//! paid.
//!
//! Without such encodings a larger budget never gives a lower total utility. Gain per bit falls
//! from move to move, since a later move could have been made earlier. Take the first move that a
//! larger budget can pay and a smaller one cannot. It gains more than everything that the smaller
//! budget makes of its rest, which is less money at no better a price.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::BitRate;
use crate::ladder::{Ladders, Rung};

/// Divides budgets. Only its buffers are kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Divider {
    /// The best move of each ladder, as it was when more was left.
    moves: BinaryHeap<Move>,
    /// The rung of each ladder; `None` while it gets nothing.
    levels: Vec<Option<usize>>,
}

/// How much there is to cut up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// For lowest rungs.
    pub(crate) lowest: BitRate,
    /// For everything, once lowest rungs are paid for. It may be less than that: then there are no
    /// moves up.
    pub(crate) all: BitRate,
    /// Weight of the utility that a ladder has already, relative to new utility.
    pub(crate) had_counts: f64,
}

/// From where a ladder has got to to a higher rung. Sorts by gain, then by importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    /// Gain per bit, as the bits of a non-negative number, which sort like the number.
    gain: u64,
    ladder: Reverse<usize>,
    to: usize,
}

impl Divider {
    /// Writes into `plan` which rung of each ladder is paid for.
    ///
    /// All of it together costs at most the budget, apart from the lowest rungs of ladders that
    /// must not be paused.
    pub(crate) fn divide(&mut self, budget: Budget, ladders: &Ladders, plan: &mut Vec<Option<Rung>>) {
        let spent = self.lowest_rungs(&budget, ladders);
        self.best_moves(budget.all.less(spent), budget.had_counts, ladders);
        plan.clear();
        let rung = |(ladder, level): (usize, &Option<usize>)| level.map(|level| ladders.get(ladder)[level]);
        plan.extend(self.levels.iter().enumerate().map(rung));
    }

    /// Returns their cost.
    fn lowest_rungs(&mut self, budget: &Budget, ladders: &Ladders) -> BitRate {
        let mut spent = BitRate(0);
        self.levels.clear();
        self.levels.resize(ladders.len(), None);
        for ladder in (0..ladders.len()).filter(|ladder| !ladders.may_pause(*ladder)) {
            spent = spent.plus(ladders.get(ladder)[0].cost);
            self.levels[ladder] = Some(0);
        }
        for ladder in (0..ladders.len()).filter(|ladder| ladders.may_pause(*ladder)) {
            let rungs = ladders.get(ladder);
            let within = |budget: BitRate| rungs.iter().rposition(|rung| spent.plus(rung.cost) <= budget);
            let most = within(budget.all).filter(|_| ladders.is_exact(ladder));
            let least = within(budget.lowest).map(|_| 0);
            if let Some(level) = most.or(least) {
                spent = spent.plus(rungs[level].cost);
                self.levels[ladder] = Some(level);
            }
        }
        spent
    }

    /// Makes moves until none can be paid. A move that no longer can is replaced by the best one of
    /// its ladder that can, which gains less per bit, so that the first in the heap is always at
    /// least as good as all others.
    fn best_moves(&mut self, mut left: BitRate, had_counts: f64, ladders: &Ladders) {
        let best_move = |ladder, from, left| best_move(ladders, ladder, from, left, had_counts);
        self.moves.clear();
        for (ladder, level) in self.levels.iter().enumerate() {
            self.moves
                .extend(level.and_then(|level| best_move(ladder, level, left)));
        }
        while let Some(best) = self.moves.pop() {
            let Reverse(ladder) = best.ladder;
            let rungs = ladders.get(ladder);
            let Some(level) = &mut self.levels[ladder] else {
                continue;
            };
            let cost = rungs[best.to].cost.less(rungs[*level].cost);
            if cost <= left {
                left = left.less(cost);
                *level = best.to;
            }
            self.moves.extend(best_move(ladder, *level, left));
        }
    }
}

/// The move from a rung with the highest gain per bit, among those that can be paid.
fn best_move(ladders: &Ladders, ladder: usize, from: usize, left: BitRate, had_counts: f64) -> Option<Move> {
    let rungs = ladders.get(ladder);
    let here = rungs[from];
    let affordable = |(_, rung): &(usize, &Rung)| rung.cost.less(here.cost) <= left;
    let above = rungs.iter().enumerate().skip(from + 1).take_while(affordable);
    let moves = above.map(|(to, rung)| Move {
        gain: (ladders.gain(ladder, &here, rung, had_counts) / rung.cost.less(here.cost).0 as f64).to_bits(),
        ladder: Reverse(ladder),
        to,
    });
    moves.max()
}

#[cfg(test)]
mod tests;
