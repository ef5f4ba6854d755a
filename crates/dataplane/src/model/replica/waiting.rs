//! The packets before the key frame with which a replica of another device continues.

use crate::ReplicaSnapshot;

/// How many packets of the source arrive while a replica awaits a key frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    /// The number of the newest packet that the other device has accounted for, once one after it
    /// has arrived.
    newest: Option<u64>,
    arrived: u64,
}

impl Waiting {
    /// A packet arrives that is not sent.
    pub(super) fn passed(&mut self, from: &ReplicaSnapshot, number: u64) {
        self.extend(from, number);
        self.arrived += u64::from(self.newest.is_some_and(|newest| number > newest));
    }

    /// How many packets never arrived between the last one there and this one.
    pub(super) fn lost_before(&mut self, from: &ReplicaSnapshot, number: u64) -> u64 {
        self.extend(from, number);
        let between = self.newest.map_or(0, |newest| number.saturating_sub(newest + 1));
        between.saturating_sub(self.arrived)
    }

    fn extend(&mut self, from: &ReplicaSnapshot, number: u64) {
        let newest = from.ahead(number as u16).map(|ahead| number - ahead);
        self.newest = self.newest.or(newest);
    }
}
