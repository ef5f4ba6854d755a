//! The connections of a port, by path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use dataplane::Path;

use super::connection::Connection;
use super::connection_slots::locked;

/// The connections that have sent a first frame, by path.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    connections: Mutex<HashMap<Path, Arc<Connection>>>,
}

impl Registry {
    /// The connection of a path.
    pub(super) fn find(&self, path: &Path) -> Option<Arc<Connection>> {
        locked(&self.connections).get(path).cloned()
    }

    /// Enters a connection. An earlier one of the same path has ended, whether that is known or
    /// not, and is closed.
    pub(super) fn insert(&self, connection: Arc<Connection>) {
        let earlier = locked(&self.connections).insert(connection.path(), connection);
        if let Some(earlier) = earlier {
            earlier.close();
        }
    }

    /// Removes a connection.
    pub(super) fn remove(&self, connection: &Arc<Connection>) {
        let mut connections = locked(&self.connections);
        let path = connection.path();
        if connections
            .get(&path)
            .is_some_and(|found| Arc::ptr_eq(found, connection))
        {
            connections.remove(&path);
        }
    }
}
