//! Which packets a link loses.

use rand::Rng;
use rand::rngs::StdRng;

/// The pattern of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each packet for itself.
    Random,
    /// In bursts of four on average.
    Bursty,
}

const BURST_PACKETS: f64 = 4.0;

/// A link with losses: Gilbert's model, whose state is whether a burst is under way.
#[derive(Clone, Debug)]
pub struct Loss {
    pattern: Pattern,
    probability: f64,
    in_burst: bool,
}

impl Loss {
    /// A link that loses `probability` of all packets.
    pub fn new(pattern: Pattern, probability: f64) -> Self {
        Loss {
            pattern,
            probability,
            in_burst: false,
        }
    }

    /// Whether the next packet is lost.
    pub fn next(&mut self, random: &mut StdRng) -> bool {
        let chance = match (self.pattern, self.in_burst) {
            (Pattern::Random, _) => self.probability,
            (Pattern::Bursty, true) => 1.0 - 1.0 / BURST_PACKETS,
            (Pattern::Bursty, false) => self.probability / (1.0 - self.probability) / BURST_PACKETS,
        };
        self.in_burst = random.random_bool(chance);
        self.in_burst
    }
}
