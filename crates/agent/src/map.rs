//! Maps that are looked into for every packet.

use std::collections::HashMap;

/// A map whose hash costs little. For keys that are ours, or that a peer chooses only for itself:
/// whoever finds some that collide, which a secret of the process makes hard, slows itself down.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
