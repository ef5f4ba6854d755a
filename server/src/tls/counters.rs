//! Results of handshakes and of orders.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HandshakeResult {
    /// Requests follow.
    Completed,
    /// It was a check of an ACME directory.
    Challenge,
    /// No certificate is for the name that the client asked for.
    UnknownName,
    /// The client broke the protocol, went away, or has nothing in common with this server.
    Failed,
    /// The client took longer than it may.
    Slow,
}

impl HandshakeResult {
    /// All of them, with their names in metrics.
    pub(crate) const NAMES: [(Self, &'static str); 5] = [
        (HandshakeResult::Completed, "completed"),
        (HandshakeResult::Challenge, "challenge"),
        (HandshakeResult::UnknownName, "unknown_name"),
        (HandshakeResult::Failed, "failed"),
        (HandshakeResult::Slow, "slow"),
    ];
}

/// The end of an order at an ACME directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderResult {
    /// There is a certificate.
    Issued,
    /// There is none.
    Failed,
}

impl OrderResult {
    /// All of them, with their names in metrics.
    pub(crate) const NAMES: [(Self, &'static str); 2] =
        [(OrderResult::Issued, "issued"), (OrderResult::Failed, "failed")];
}

/// One number for each of them.
#[derive(Debug)]
pub(super) struct Counts<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts(Mutex::default())
    }
}

impl<K: Copy + Ord> Counts<K> {
    /// Counts one more.
    pub(super) fn count(&self, key: K) {
        *self.values().entry(key).or_default() += 1;
    }

    /// How many there were.
    pub(super) fn get(&self, key: K) -> u64 {
        self.values().get(&key).copied().unwrap_or_default()
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<K, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
