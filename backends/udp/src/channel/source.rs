//! The identity of streams between shards.

use dataplane::StreamKey;

/// One generation of a stream entry. An entry that is removed and added again is another stream: a
/// packet of the old one that is still between shards must not be taken for one of the new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Generation(pub(crate) u32);

/// The stream that a replica follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) key: StreamKey,
    pub(crate) generation: Generation,
    /// The shard that owns it.
    pub(crate) shard: usize,
}
