//! The routes of paths to legs and shards.

use std::collections::HashMap;

use dataplane::Path;

use crate::hash::Mixed;

/// The leg or shard that datagrams of a path belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To a leg here, at this slot.
    Here(usize),
    /// To a leg of another shard.
    Elsewhere(usize),
}

/// The routes of a shard, by addresses.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    all: HashMap<Path, Route, Mixed>,
    /// The one that was found last: the packets of a frame arrive one after the other.
    last: Option<(Path, Route)>,
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
}
