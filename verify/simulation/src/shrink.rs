//! Making a failing history smaller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{History, Invariant, run};

/// Removes steps that the failure does not need, in at most `runs_max` runs. The same invariant
/// must fail; `None` is a panic.
pub fn shrink(history: &History, invariant: Option<Invariant>, runs_max: usize) -> History {
    let mut smallest = history.clone();
    let mut runs = 0;
    let mut size = smallest.steps.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < smallest.steps.len() && runs < runs_max {
            let mut shorter = smallest.clone();
            shorter.steps.drain(start..(start + size).min(smallest.steps.len()));
            runs += 1;
            if fails(&shorter, invariant) {
                smallest = shorter;
            } else {
                start += size;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    smallest
}

fn fails(history: &History, invariant: Option<Invariant>) -> bool {
    match catch_unwind(AssertUnwindSafe(|| run(history, false))) {
        Ok(Ok(_)) => false,
        Ok(Err(failure)) => Some(failure.violation.invariant) == invariant,
        Err(_) => invariant.is_none(),
    }
}
