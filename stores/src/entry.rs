//! The content of a store under a key.

use bytes::Bytes;

/// A value and the revision of the store at which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value, bytes of any kind.
    pub value: Bytes,
    /// The number of the write, higher for a later write of the same store.
    pub revision: u64,
}
