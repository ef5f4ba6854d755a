//! Creation of shards and of the rings between them.

use std::sync::Arc;

use dataplane::Clock;

use crate::channel::{ShardCommand, WorkerLink};
use crate::shard::Shard;
use crate::shard::handoff::HandoffRing;
use crate::wakeup::Wakeup;

/// Shards that can reach each other, and the handle's links to them.
pub(super) fn shard_parts(
    clock: Clock,
    wakeups: &[Arc<Wakeup>],
    agent: &Arc<Wakeup>,
) -> (Vec<WorkerLink<ShardCommand>>, Vec<Shard>) {
    let mut meshes = mesh(wakeups);
    let parts = wakeups.iter().enumerate().map(|(index, wakeup)| {
        let (link, ends) = WorkerLink::new(wakeup, agent);
        let rings = std::mem::take(&mut meshes[index]);
        let shard = Shard::new(index, clock, ends.counters, ends.commands, ends.reports, rings);
        (link, shard)
    });
    parts.unzip()
}

/// For each shard, its links to all others.
fn mesh(wakeups: &[Arc<Wakeup>]) -> Vec<Vec<Option<HandoffRing>>> {
    let count = wakeups.len();
    let mut meshes: Vec<Vec<Option<HandoffRing>>> = (0..count).map(|_| (0..count).map(|_| None).collect()).collect();
    for first in 0..count {
        for second in first + 1..count {
            let [ours, theirs] = HandoffRing::pair([&wakeups[first], &wakeups[second]]);
            meshes[first][second] = Some(ours);
            meshes[second][first] = Some(theirs);
        }
    }
    meshes
}
