//! The keys that direct transports have sealed with.
//!
//! Other keys are fresh by their handshake. These are the controller's, and a controller that has
//! taken over a room may say again a transport that has ended meanwhile. Its sequence numbers would
//! begin anew, and two packets could have one keystream.

use std::collections::{HashSet, VecDeque};

use dataplane::MasterKey;
use southbound::HashFunction;

use crate::digest::digest;
use crate::limits::SPENT_KEYS_MAX;

/// The beginning of a hash of key and salt.
type KeyDigest = [u8; 16];

/// The latest keys, by their digests.
#[derive(Default)]
pub(super) struct SpentKeys {
    all: HashSet<KeyDigest>,
    /// The same, the oldest first.
    in_order: VecDeque<KeyDigest>,
}

impl SpentKeys {
    pub(super) fn has(&self, key: &MasterKey) -> bool {
        self.all.contains(&of(key))
    }

    /// At the limit the oldest key is forgotten.
    pub(super) fn add(&mut self, key: &MasterKey) {
        let added = of(key);
        if !self.all.insert(added) {
            return;
        }
        self.in_order.push_back(added);
        if self.in_order.len() > SPENT_KEYS_MAX
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }
}

fn of(key: &MasterKey) -> KeyDigest {
    let mut bytes = key.key().to_vec();
    bytes.extend_from_slice(key.salt());
    let whole = digest(HashFunction::Sha256, &bytes);
    std::array::from_fn(|index| whole[index])
}
