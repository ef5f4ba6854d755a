//! The memory of messages to clients: one count for all that is not sent yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Counts the bytes of encoded messages while they are in memory. Bytes that several messages or
/// several clients share count once. A clone is the same count.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<AtomicUsize>);

/// Bytes that are on a ledger until they are dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    bytes: Vec<u8>,
    ledger: Ledger,
}

impl Ledger {
    /// The bytes in memory.
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Enters bytes.
    pub fn enter(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(self.entry(bytes))
    }

    /// The same for bytes that are shared by one owner.
    pub(crate) fn entry(&self, bytes: Vec<u8>) -> Entry {
        self.0.fetch_add(bytes.capacity(), Ordering::Relaxed);
        Entry {
            bytes,
            ledger: self.clone(),
        }
    }
}

impl AsRef<[u8]> for Entry {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ledger.0.fetch_sub(self.bytes.capacity(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_count_once_and_until_the_last_is_dropped() {
        let ledger = Ledger::default();
        let bytes = ledger.enter(vec![7; 100]);
        let (part, whole) = (bytes.slice(10..20), bytes.clone());
        assert_eq!(ledger.bytes(), 100);
        drop((bytes, whole));
        assert_eq!((ledger.bytes(), part.len()), (100, 10));
        drop(part);
        assert_eq!(ledger.bytes(), 0);
    }
}
