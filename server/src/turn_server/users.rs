//! The allocations of each user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many allocations there may be with one user name (RFC 8656 section 7.2). A browser has one
/// for each address of the server, network of its own and connection, and all of them twice while
/// it restarts ICE.
const ALLOCATIONS_MAX: usize = 32;

/// Counts the allocations of users, by name. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Users(Arc<Mutex<HashMap<String, usize>>>);

/// One allocation of a user, until it is dropped.
pub(super) struct Share {
    users: Users,
    name: String,
}

impl Users {
    /// One more allocation of a user, if there may be.
    pub(super) fn enter(&self, name: &str) -> Option<Share> {
        let mut users = self.locked();
        let count = users.entry(name.to_owned()).or_default();
        (*count < ALLOCATIONS_MAX).then(|| {
            *count += 1;
            Share {
                users: self.clone(),
                name: name.to_owned(),
            }
        })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut users = self.users.locked();
        if let Some(count) = users.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_allocations_at_a_time() {
        let users = Users::default();
        let mut held: Vec<Share> = (0..ALLOCATIONS_MAX).filter_map(|_| users.enter("ada")).collect();
        assert_eq!(held.len(), ALLOCATIONS_MAX);
        assert!(users.enter("ada").is_none());
        assert!(users.enter("bob").is_some());
        held.pop();
        assert!(users.enter("ada").is_some());
        drop(held);
        assert!(users.locked().is_empty());
    }
}
