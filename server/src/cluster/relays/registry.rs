//! The one connection to each other machine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sip::limits::PEERS_MAX;
use southbound::NodeId;
use tokio::sync::oneshot;

use crate::metrics::relay_peers::PeerFailure;

/// A connection among all that this process had. A later one has a greater number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkId(u64);

/// The connections that there are.
///
/// Two machines may connect to each other at the same moment. The connection that the lower id has
/// made stays then. Otherwise a later one replaces one that is perhaps broken already.
#[derive(Debug)]
pub(super) struct Registry {
    own: NodeId,
    links: Mutex<HashMap<NodeId, Entry>>,
    count: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    id: LinkId,
    /// The name in the certificate of the machine.
    name: Arc<str>,
    /// The machine with the lower id has made it.
    is_of_lower: bool,
    closing: oneshot::Sender<()>,
}

/// A place in the registry, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    registry: Arc<Registry>,
    peer: NodeId,
    /// The number of the connection.
    pub id: LinkId,
}

impl Registry {
    /// For a machine of this id.
    pub(super) fn new(own: NodeId) -> Self {
        Self {
            own,
            links: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// Enters a connection to a machine with this name in its certificate. The second part resolves
    /// when a later connection replaces it.
    ///
    /// Errors: the connection is not to be used.
    pub(super) fn enter(
        self: &Arc<Self>,
        peer: NodeId,
        name: &Arc<str>,
        is_own: bool,
    ) -> Result<(Place, oneshot::Receiver<()>), PeerFailure> {
        if peer == self.own {
            return Err(PeerFailure::Identity);
        }
        let is_of_lower = is_own == (self.own < peer);
        let mut links = self.links();
        match links.get(&peer) {
            Some(known) if known.name != *name => return Err(PeerFailure::Identity),
            Some(known) if known.is_of_lower && !is_of_lower => return Err(PeerFailure::Twice),
            None if links.len() >= PEERS_MAX => return Err(PeerFailure::Full),
            Some(_) | None => {}
        }
        let id = LinkId(self.count.fetch_add(1, Ordering::Relaxed));
        let (closing, closed) = oneshot::channel();
        let entry = Entry {
            id,
            name: name.clone(),
            is_of_lower,
            closing,
        };
        if let Some(before) = links.insert(peer, entry) {
            // An error means that it is over by itself.
            let _ = before.closing.send(());
        }
        drop(links);
        let registry = self.clone();
        Ok((Place { registry, peer, id }, closed))
    }

    /// Whether there is a connection to a machine.
    pub(super) fn is_linked(&self, peer: NodeId) -> bool {
        self.links().contains_key(&peer)
    }

    fn links(&self) -> MutexGuard<'_, HashMap<NodeId, Entry>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut links = self.registry.links();
        // A later connection may have its place.
        if links.get(&self.peer).is_some_and(|entry| entry.id == self.id) {
            links.remove(&self.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn of_two_connections_at_once_the_lower_ids_stays_at_both_ends() {
        let [low, high] = [NodeId(1), NodeId(2)];
        let ends = [(Registry::new(low), high, true), (Registry::new(high), low, false)];
        for (registry, peer, is_own) in ends {
            let registry = Arc::new(registry);
            for lower_first in [true, false] {
                let (first, second) = if lower_first {
                    (is_own, !is_own)
                } else {
                    (!is_own, is_own)
                };
                let first = registry.enter(peer, &name("a"), first).unwrap();
                let second = registry.enter(peer, &name("a"), second);
                match lower_first {
                    true => assert!(matches!(second, Err(PeerFailure::Twice))),
                    false => {
                        let (mut closed, (kept, _)) = (first.1, second.unwrap());
                        assert_eq!(closed.try_recv(), Ok(()));
                        drop(first.0);
                        assert!(registry.is_linked(peer), "the place is the later one's");
                        drop(kept);
                    }
                }
            }
            assert!(!registry.is_linked(peer));
        }
    }

    #[test]
    fn a_later_connection_replaces_one_of_the_same_end() {
        let registry = Arc::new(Registry::new(NodeId(1)));
        let (_place, mut closed) = registry.enter(NodeId(2), &name("a"), true).unwrap();
        let later = registry.enter(NodeId(2), &name("a"), true).unwrap();
        assert_eq!(closed.try_recv(), Ok(()));
        drop(later);
    }

    #[test]
    fn an_id_is_that_of_one_certificate_and_not_this_machines() {
        let registry = Arc::new(Registry::new(NodeId(1)));
        let enter = |peer, of| registry.enter(NodeId(peer), &name(of), false).map(|(place, _)| place);
        let _place = enter(2, "a").unwrap();
        assert!(matches!(enter(2, "b"), Err(PeerFailure::Identity)));
        assert!(matches!(enter(1, "a"), Err(PeerFailure::Identity)));
        let _places: Vec<_> = (3..PEERS_MAX as u64 + 2)
            .map(|peer| enter(peer, "b").unwrap())
            .collect();
        assert!(matches!(enter(1_000, "b"), Err(PeerFailure::Full)));
    }
}
