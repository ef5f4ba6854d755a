use serde::{Deserialize, Serialize};

/// What a client's own network loses and holds up, to see repair and adaptation at work: real networks do, loopback does not.
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
    state: u64,
    threshold: u64,
}

impl Dice {
    /// Dice that lose this share, 0 to 1.
    pub fn new(share: f64, seed: u64) -> Self {
        Self {
            state: seed,
            threshold: (share.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64,
        }
    }

    /// Whether the next packet is lost.
    pub fn lose(&mut self) -> bool {
        if self.threshold == 0 {
            return false;
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 32) < self.threshold
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
