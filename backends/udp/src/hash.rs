//! Finding entries by name, quickly.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers that mix with one multiplication for each eight bytes, under a secret of their
/// own.
///
/// The standard library's hash withstands attackers who can choose many keys. Keys here are
/// assigned by the agent, or are addresses that ICE has validated, of which one peer has a few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixed(u64);

impl Default for Mixed {
    fn default() -> Self {
        Mixed(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Mixed {
    type Hasher = Mixer;
    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0 ^ value) * ODD;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.mix(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_and_addresses_spread_over_few_places() {
        let mixed = Mixed::default();
        let places = |hash: u64| (hash & 0xfff, hash >> 57);
        let numbers: BTreeSet<_> = (0..4_096_u32).map(|number| places(mixed.hash_one(number))).collect();
        let addresses: BTreeSet<_> = (0..4_096_u16)
            .map(|port| places(mixed.hash_one(std::net::SocketAddr::from(([10, 0, 0, 1], port)))))
            .collect();
        assert!(numbers.len() > 4_050 && addresses.len() > 4_050);
    }
}
