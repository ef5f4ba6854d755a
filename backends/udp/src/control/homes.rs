//! Which shard hears from which address.

use std::collections::HashMap;

use dataplane::Path;

/// How many addresses are remembered at least; at most twice as many.
const REMEMBERED: usize = 4_096;

/// Remembers at which shard datagrams between two addresses arrive, so that a leg can be owned
/// where its packets come in.
///
/// Two generations: when the younger one is full it becomes the older one. A flood of addresses
/// costs the comfort of a good choice, not memory.
#[derive(Debug, Default)]
pub(super) struct Homes {
    young: HashMap<Path, usize>,
    old: HashMap<Path, usize>,
}

impl Homes {
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
