//! Random numbers from one seed.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use wire::sdp::IceCredentials;

/// A cryptographically secure generator, because keys and passwords are made with it.
pub struct Random(StdRng);

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Random {
    /// A generator; `seed` is all the randomness there is.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(StdRng::from_seed(seed))
    }

    /// Any number of 32 bits.
    pub fn u32(&mut self) -> u32 {
        self.0.random()
    }

    /// Any number of 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.0.random()
    }

    /// Any bytes.
    pub fn bytes<const LEN: usize>(&mut self) -> [u8; LEN] {
        self.0.random()
    }

    /// A name that nobody can guess: a prefix that says of what, and twelve letters and digits.
    pub fn sid(&mut self, prefix: &str) -> String {
        format!("{prefix}{}", self.text(12))
    }

    /// Letters and digits, of which each has just under six bits.
    pub fn text(&mut self, len: usize) -> String {
        (0..len)
            .map(|_| char::from(ALPHABET[self.0.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// Fresh ICE credentials: 71 bits of fragment, so that none comes twice on a node, and 190 of
    /// password.
    pub fn credentials(&mut self) -> IceCredentials {
        IceCredentials {
            ufrag: self.text(12),
            password: self.text(32),
        }
    }

    /// Puts a list into any order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        list.shuffle(&mut self.0);
    }
}
