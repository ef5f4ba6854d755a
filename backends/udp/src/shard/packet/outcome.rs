//! The outcome of a packet in all shards.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The outcome of a packet in all shards together. The last shard to finish with it counts it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    shards_left: AtomicU32,
    followed: AtomicBool,
    sent: AtomicBool,
}

impl Outcome {
    /// Before the packet is passed on: how many shards will [`finish`](Self::finish) it.
    pub(crate) fn expect(&self, shards: u32) {
        self.shards_left.store(shards, Ordering::Relaxed);
        self.followed.store(false, Ordering::Relaxed);
        self.sent.store(false, Ordering::Relaxed);
    }

    /// Some replica gets this stream.
    pub(crate) fn followed(&self) {
        self.followed.store(true, Ordering::Relaxed);
    }

    /// Some replica got this packet.
    pub(crate) fn sent(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    /// One shard is done. The last one learns `(followed, sent)`.
    pub(crate) fn finish(&self) -> Option<(bool, bool)> {
        let last = self.shards_left.fetch_sub(1, Ordering::AcqRel) == 1;
        last.then(|| (self.followed.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed)))
    }
}
