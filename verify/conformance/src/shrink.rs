//! Makes a failing history small enough to read.

use crate::Step;
use crate::differential::Difference;

/// How often a history is tried while it is made smaller.
const ATTEMPTS_MAX: usize = 4_000;

/// Removes steps that the failure does not need: ever shorter ranges, as long as any failure
/// remains.
///
/// `fails` runs a history from the beginning and returns its first difference.
pub fn shrink(
    mut steps: Vec<Step>,
    mut difference: Difference,
    mut fails: impl FnMut(&[Step]) -> Option<Difference>,
) -> (Vec<Step>, Difference) {
    steps.truncate(difference.step + 1);
    let mut attempts = 0;
    let mut stretch = steps.len().next_power_of_two() / 2;
    while stretch > 0 {
        let mut smaller = false;
        let mut from = 0;
        while from < steps.len() && attempts < ATTEMPTS_MAX {
            let to = (from + stretch).min(steps.len());
            let without: Vec<Step> = steps[..from].iter().chain(&steps[to..]).cloned().collect();
            attempts += 1;
            match fails(&without) {
                Some(found) => {
                    steps = without;
                    steps.truncate(found.step + 1);
                    difference = found;
                    smaller = true;
                }
                None => from = to,
            }
        }
        if !(smaller && stretch == 1) {
            stretch /= 2;
        }
    }
    (steps, difference)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_the_steps_that_the_failure_needs_are_left() {
        let wait = |millis: u64| Step::Wait(Duration::from_millis(millis));
        let steps: Vec<Step> = (0..500).map(wait).collect();
        let needs_two = |steps: &[Step]| {
            let first = steps.iter().position(|step| *step == wait(77))?;
            let second = steps[first..].iter().position(|step| *step == wait(301))?;
            let step = first + second;
            Some(Difference {
                step,
                what: "both".into(),
            })
        };
        let difference = needs_two(&steps).expect("it fails");
        let (left, _) = shrink(steps, difference, needs_two);
        assert_eq!(left, [wait(77), wait(301)]);
    }
}
