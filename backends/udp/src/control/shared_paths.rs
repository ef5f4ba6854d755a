//! Paths that several legs have, and the SSRCs that tell these apart.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dataplane::{LegId, Path};
use wire::Ssrc;

/// For each shared path, the leg of each SSRC.
///
/// A leg has at least one SSRC, so a path without any is no leg's.
#[derive(Debug, Default)]
pub(super) struct SharedPaths(HashMap<Path, HashMap<Ssrc, LegId>>);

impl SharedPaths {
    /// Each path with one of its legs.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, LegId)> {
        let of_path = |(path, legs)| Some((path, *HashMap::values(legs).next()?));
        self.0.iter().filter_map(of_path)
    }

    /// One of the legs that share a path.
    pub(super) fn a_leg_at(&self, path: &Path) -> Option<LegId> {
        self.0.get(path)?.values().next().copied()
    }

    /// Whether an SSRC is another leg's.
    pub(super) fn is_taken(&self, path: &Path, ssrc: Ssrc, by_another_than: LegId) -> bool {
        let leg = self.0.get(path).and_then(|legs| legs.get(&ssrc));
        leg.is_some_and(|leg| *leg != by_another_than)
    }

    /// Adds an SSRC of a leg. Returns whether it is the first at its path.
    pub(super) fn add(&mut self, path: Path, ssrc: Ssrc, leg: LegId) -> bool {
        match self.0.entry(path) {
            Entry::Occupied(mut known) => {
                known.get_mut().insert(ssrc, leg);
                false
            }
            Entry::Vacant(new) => {
                new.insert(HashMap::from([(ssrc, leg)]));
                true
            }
        }
    }

    /// Removes SSRCs. Returns whether no leg has the path any more.
    pub(super) fn remove(&mut self, path: &Path, ssrcs: &[Ssrc]) -> bool {
        let Some(legs) = self.0.get_mut(path) else {
            return true;
        };
        for ssrc in ssrcs {
            legs.remove(ssrc);
        }
        let is_empty = legs.is_empty();
        if is_empty {
            self.0.remove(path);
        }
        is_empty
    }
}
