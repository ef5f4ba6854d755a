//! Loss and delay in the networks of clients.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

/// Loss and delay in a client's own network, to exercise repair and adaptation: real networks have
/// both, loopback has neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Impairment {
    /// The share of media packets lost on the way to the server, 0 to 1.
    pub up: f64,
    /// The share lost on the way from it.
    pub down: f64,
    /// Bits a second that fit its last mile; none: all.
    pub downlink: Option<u64>,
}

/// Decides which packets are lost: the same ones in every run, for a given seed.
#[derive(Clone, Debug)]
pub struct Dice {
    random: SplitMix64,
    threshold: u64,
}

impl Dice {
    /// Dice that lose this share, 0 to 1.
    pub fn new(share: f64, seed: u64) -> Self {
        Self {
            random: SplitMix64::seed_from_u64(seed),
            threshold: (share.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64,
        }
    }

    /// Whether the next packet is lost.
    pub fn lose(&mut self) -> bool {
        if self.threshold == 0 {
            return false;
        }
        (self.random.next_u64() >> 32) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_kept_and_none_is_none() {
        let mut dice = Dice::new(0.02, 7);
        let lost = (0..100_000).filter(|_| dice.lose()).count();
        assert!((1800..2200).contains(&lost), "{lost}");
        assert!(!(0..1000).any(|_| Dice::new(0.0, 7).lose()));
    }
}
