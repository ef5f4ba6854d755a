//! Keys that are replaced while a controller runs.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::SealKeys;

/// The keys of a cluster as they are now. Clones have the same ones.
#[derive(Clone)]
pub struct SharedSealKeys(Arc<RwLock<Arc<SealKeys>>>);

impl fmt::Debug for SharedSealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSealKeys")
    }
}

impl From<SealKeys> for SharedSealKeys {
    fn from(keys: SealKeys) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(keys))))
    }
}

impl SharedSealKeys {
    /// Has everybody seal and open with these keys from now on. Returns whether they are others.
    pub fn replace(&self, keys: SealKeys) -> bool {
        if self.current().ids().eq(keys.ids()) {
            return false;
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        true
    }

    pub(super) fn current(&self) -> Arc<SealKeys> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
