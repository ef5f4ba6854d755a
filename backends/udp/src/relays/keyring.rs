//! Which keys relays seal with, each once.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use dataplane::MasterKey;

use super::keystream::Keystream;

/// The keystreams of all keys that any relay has sealed with.
#[derive(Default)]
pub(super) struct Keyring {
    /// By a hash, so that no key lies about as bytes.
    keys: HashMap<u64, Vec<Ring>>,
    hasher: RandomState,
}

struct Ring {
    key: MasterKey,
    keystream: Arc<Keystream>,
    /// How many relays have sealed with it.
    relays: usize,
}

impl Keyring {
    /// The keystream of a key, for one relay more.
    pub(super) fn take(&mut self, key: &MasterKey) -> Arc<Keystream> {
        let rings = self
            .keys
            .entry(self.hasher.hash_one((key.key(), key.salt())))
            .or_default();
        let slot = rings.iter().position(|ring| ring.key == *key).unwrap_or_else(|| {
            rings.push(Ring {
                key: key.clone(),
                keystream: Arc::new(Keystream::new(key)),
                relays: 0,
            });
            rings.len() - 1
        });
        rings[slot].relays += 1;
        rings[slot].keystream.clone()
    }

    /// Releases a key of one relay. With the last one the key's state is removed.
    pub(super) fn give_back(&mut self, key: &MasterKey) {
        let hash = self.hasher.hash_one((key.key(), key.salt()));
        let Some(rings) = self.keys.get_mut(&hash) else { return };
        if let Some(ring) = rings.iter_mut().find(|ring| ring.key == *key) {
            ring.relays -= 1;
        }
        rings.retain(|ring| ring.relays > 0);
        if rings.is_empty() {
            self.keys.remove(&hash);
        }
    }
}
