//! Maps that are looked into for every packet.

use std::collections::HashMap;

/// A map with a cheap hash. It is for keys that are ours, or that a peer chooses only for itself: a
/// peer that finds colliding keys, which a secret of the process makes hard, slows only itself
/// down.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
