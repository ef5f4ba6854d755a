//! The shard at which each path's datagrams arrive.

use std::collections::HashMap;

use dataplane::Path;

/// How many addresses are remembered at least; at most twice as many.
const REMEMBERED: usize = 4_096;

/// Remembers at which shard datagrams between two addresses arrive, so that this shard can own the
/// leg.
///
/// Two generations: when the younger one is full it becomes the older one. A flood of addresses
/// makes the choice of owners worse, and takes no memory.
#[derive(Debug, Default)]
pub(super) struct PathAffinity {
    young: HashMap<Path, usize>,
    old: HashMap<Path, usize>,
}

impl PathAffinity {
    pub(super) fn remember(&mut self, path: Path, shard: usize) {
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(path, shard);
    }

    pub(super) fn of(&self, path: &Path) -> Option<usize> {
        self.young.get(path).or_else(|| self.old.get(path)).copied()
    }
}
