//! All the randomness there is, from one seed.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use wire::sdp::IceCredentials;
use wire::srtp::{MasterKey, SrtpProfile};

/// A cryptographically secure generator, because keys are made with it.
pub(crate) struct Random(StdRng);

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Random {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self(StdRng::from_seed(seed))
    }

    /// Fresh ICE credentials: 71 bits of fragment and 190 of password.
    pub(crate) fn credentials(&mut self) -> IceCredentials {
        IceCredentials {
            ufrag: self.text(12),
            password: self.text(32),
        }
    }

    /// A fresh SRTP key.
    pub(crate) fn key(&mut self, suite: SrtpProfile) -> MasterKey {
        let bytes: [u8; 46] = self.0.random();
        let (key, rest) = bytes.split_at(suite.key_len());
        MasterKey::new(suite, key, &rest[..suite.salt_len()]).expect("the lengths are the suite's")
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        list.shuffle(&mut self.0);
    }

    fn text(&mut self, len: usize) -> String {
        (0..len)
            .map(|_| char::from(ALPHABET[self.0.random_range(0..ALPHABET.len())]))
            .collect()
    }
}
