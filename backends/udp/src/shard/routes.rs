//! The routes of paths to legs and shards.

use std::collections::HashMap;

use dataplane::Path;
use wire::Ssrc;

use crate::hash::Mixed;
use crate::slab::Slab;

/// The leg or shard that datagrams of a path belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To a leg here, at this slot.
    Here(usize),
    /// To one of the legs here that share the path, which are at this slot.
    Shared(usize),
    /// To a leg of another shard.
    Elsewhere(usize),
}

/// The routes of a shard, by addresses.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    all: HashMap<Path, Route, Mixed>,
    /// The one that was found last: the packets of a frame arrive one after the other.
    last: Option<(Path, Route)>,
    /// For each shared path, the slot of the leg of each SSRC.
    shared: Slab<HashMap<Ssrc, usize, Mixed>>,
}

impl Routes {
    pub(crate) fn find(&mut self, path: &Path) -> Option<Route> {
        if let Some((last, route)) = &self.last
            && last == path
        {
            return Some(*route);
        }
        let route = self.all.get(path).copied()?;
        self.last = Some((*path, route));
        Some(route)
    }

    pub(crate) fn insert(&mut self, path: Path, route: Route) {
        self.last = None;
        self.all.insert(path, route);
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.last = None;
        self.all.remove(path);
    }

    /// The leg of a datagram at a shared path.
    pub(crate) fn find_shared(&self, slot: usize, datagram: &[u8]) -> Option<usize> {
        self.shared[slot].get(&wire::ssrc(datagram)?).copied()
    }

    /// Adds an SSRC of a leg that shares its path.
    pub(crate) fn share(&mut self, path: Path, ssrc: Ssrc, leg: usize) {
        let slot = match self.all.get(&path) {
            Some(Route::Shared(slot)) => *slot,
            _ => {
                let slot = self.shared.insert(HashMap::default());
                self.insert(path, Route::Shared(slot));
                slot
            }
        };
        self.shared[slot].insert(ssrc, leg);
    }

    /// Removes an SSRC of a leg that shares its path, and the path with the last one.
    pub(crate) fn unshare(&mut self, path: &Path, ssrc: Ssrc) {
        let Some(Route::Shared(slot)) = self.all.get(path).copied() else {
            return;
        };
        self.shared[slot].remove(&ssrc);
        if self.shared[slot].is_empty() {
            self.shared.remove(slot);
            self.remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_found_route_is_not_older_than_the_table() {
        let path = Path {
            local: "10.0.0.1:1".parse().unwrap(),
            remote: "10.0.0.2:2".parse().unwrap(),
        };
        let mut routes = Routes::default();
        assert_eq!(routes.find(&path), None);
        for route in [Route::Here(1), Route::Elsewhere(2)] {
            routes.insert(path, route);
            assert_eq!([routes.find(&path), routes.find(&path)], [Some(route); 2]);
        }
        routes.remove(&path);
        assert_eq!(routes.find(&path), None);
    }

    #[test]
    fn a_shared_path_is_there_as_long_as_one_of_its_ssrcs() {
        let path = Path {
            local: "10.0.0.1:1".parse().unwrap(),
            remote: "10.0.0.2:2".parse().unwrap(),
        };
        let mut routes = Routes::default();
        for (ssrc, leg) in [(1, 7), (2, 8)] {
            routes.share(path, Ssrc(ssrc), leg);
        }
        let Some(Route::Shared(slot)) = routes.find(&path) else {
            panic!("it is shared");
        };
        let rtcp = |ssrc: u8| [0x80, 201, 0, 1, 0, 0, 0, ssrc];
        let legs = [1, 2, 3].map(|ssrc| routes.find_shared(slot, &rtcp(ssrc)));
        assert_eq!(legs, [Some(7), Some(8), None]);
        assert_eq!(routes.find_shared(slot, &[0; 20]), None, "STUN has no SSRC");
        routes.unshare(&path, Ssrc(1));
        assert_eq!(routes.find(&path), Some(Route::Shared(slot)));
        routes.unshare(&path, Ssrc(2));
        assert_eq!(routes.find(&path), None);
    }
}
