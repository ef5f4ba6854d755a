//! Histories for replicas that number by frames, which depend on packets left out, lost and late.

use dataplane::{Replica, Rewriting, Update};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Step;

/// A history in which all replicas are numbered in one way.
pub fn numbered(steps: Vec<Step>, rewriting: Rewriting) -> Vec<Step> {
    let number = |step| match step {
        Step::Write(Update::SetReplica(id, replica)) => {
            Step::Write(Update::SetReplica(id, Replica { rewriting, ..replica }))
        }
        other => other,
    };
    steps.into_iter().map(number).collect()
}

/// A history of which one packet in ten is lost on the way here, and one in ten arrives after some
/// later ones.
pub fn disturbed(steps: Vec<Step>, seed: u64) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut on_time, mut late) = (Vec::new(), Vec::new());
    for step in steps {
        let is_sent = matches!(step, Step::Send(_));
        match rng.random_range(0..10) {
            0 if is_sent => {}
            1 if is_sent => late.push((on_time.len() + rng.random_range(1..12), step)),
            _ => on_time.push(step),
        }
        let (due, still): (Vec<_>, Vec<_>) = late.into_iter().partition(|(at, _)| *at <= on_time.len());
        on_time.extend(due.into_iter().map(|(_, step)| step));
        late = still;
    }
    on_time
}
