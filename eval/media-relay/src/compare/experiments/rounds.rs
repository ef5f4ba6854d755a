//! The same load for all by turns, again and again.

use super::{Measured, Planned};
use crate::compare::Options;
use crate::compare::subprocess::Job;
use crate::scene::Load;

/// Calls offered in a second.
const PACE: u32 = 100;

/// As many calls as were asked for, for as long.
pub(crate) fn steady(options: &Options) -> Load {
    Load {
        calls: options.calls,
        per_second: PACE,
        settle: Some(options.settle),
        window: options.window,
        timeline: false,
    }
}

/// Rounds, in each of which every job has a turn.
pub(crate) fn in_rounds(jobs: Vec<Job>, rounds: u32, load: Load) -> Vec<Vec<Planned>> {
    let round = |round: u32| {
        // The first job changes, so that periodic load of the machine meets every job.
        let first = (round as usize - 1) % jobs.len();
        let mut jobs = jobs.clone();
        jobs.rotate_left(first);
        let planned = |job| Planned { job, round, load };
        jobs.into_iter().map(planned).collect()
    };
    (1..=rounds).map(round).collect()
}

/// The load and how often it was measured, for the page.
pub(crate) fn how_often(all: &[Measured]) -> String {
    let rounds = all.iter().map(|measured| measured.round).max().unwrap_or(0);
    let load = all.first().map(|measured| measured.load);
    load.map_or_else(String::new, |load| {
        format!(
            "{} calls, {} packets a second, {rounds} alternating runs of {} s",
            load.calls,
            load.calls * 100,
            load.window.as_secs()
        )
    })
}
