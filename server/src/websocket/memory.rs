//! The memory of messages that are being read, of all connections together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of all messages that are being read. One message has at most what is free, divided by
/// [`SHARED`], so that many clients that never end a message leave room to the next one.
const MAX: usize = 128 << 20;

/// See [`MAX`].
const SHARED: usize = 32;

/// The bytes of a message that do not count: hardly any is longer.
const SHORT: usize = 64 << 10;

/// The count. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<AtomicUsize>);

/// The part of one message; it is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    memory: Memory,
    bytes: usize,
}

impl Memory {
    /// The part of a message that is about to be read.
    pub(super) fn share(&self) -> Share {
        Share {
            memory: self.clone(),
            bytes: 0,
        }
    }
}

impl Share {
    /// Lets the message have so many bytes in all. Returns whether it may.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        if bytes <= SHORT.max(self.bytes) {
            return true;
        }
        let grant = |used: usize| {
            let others = used - self.bytes;
            (bytes <= MAX.saturating_sub(others) / SHARED).then_some(others + bytes)
        };
        let granted = self.memory.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grant);
        if granted.is_ok() {
            self.bytes = bytes;
        }
        granted.is_ok()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_never_end_leave_room_to_others() {
        let memory = Memory::default();
        let mut held = Vec::new();
        for _ in 0..1_000 {
            let mut share = memory.share();
            let mut bytes = 0;
            while bytes < 2 << 20 && share.grow(bytes + SHORT) {
                bytes += SHORT;
            }
            assert!(bytes >= SHORT, "a short message is always read");
            held.push(share);
        }
        assert!(memory.0.load(Ordering::Relaxed) <= MAX);
        let mut description = memory.share();
        assert!(description.grow(SHORT));
        drop(held);
        assert!(description.grow(2 << 20), "it is given back");
        drop(description);
        assert_eq!(memory.0.load(Ordering::Relaxed), 0);
    }
}
