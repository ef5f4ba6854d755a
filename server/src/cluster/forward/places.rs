//! The number of connections that each controller may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts connections by the names of controllers. Cheap to clone.
///
/// A name is that of a certificate, so there are no more of them than the cluster has machines.
#[derive(Clone, Debug)]
pub(super) struct Places {
    max: usize,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place of a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    controller: String,
    places: Places,
}

impl Places {
    /// So many for each controller.
    pub(super) fn new(max: usize) -> Self {
        let taken = Arc::default();
        Self { max, taken }
    }

    /// A place for a connection of this controller; `None` if it has as many as it may have.
    pub(super) fn enter(&self, controller: String) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(controller.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        drop(taken);
        let places = self.clone();
        Some(Place { controller, places })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.controller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.controller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_leaves_the_places_of_others_alone() {
        let places = Places::new(2);
        let held = [(); 2].map(|()| places.enter("one".to_owned()).unwrap());
        assert!(places.enter("one".to_owned()).is_none());
        assert!(places.enter("two".to_owned()).is_some());
        drop(held);
        assert!(places.taken.lock().unwrap().is_empty());
        assert!(places.enter("one".to_owned()).is_some());
    }
}
