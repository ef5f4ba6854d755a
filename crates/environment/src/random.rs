//! Random numbers from one seed.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use wire::sdp::IceCredentials;

/// A cryptographically secure generator, because keys and passwords are made with it.
pub struct Random(StdRng);

/// A name that always follows from these words: a prefix that says of what, and twelve letters and
/// digits. Nobody can guess it who does not know the words.
///
/// Source: FNV-1a of 128 bits.
pub fn sid_of(prefix: &str, words: &[&str]) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0xff]));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    let len = ALPHABET.len() as u128;
    let digits = (0..12).scan(hash >> 32, |rest, _| {
        let digit = *rest % len;
        *rest /= len;
        Some(char::from(ALPHABET[digit as usize]))
    });
    prefix.chars().chain(digits).collect()
}

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
