//! Packets that a path loses for its own reasons.

use rand::Rng;
use rand::rngs::StdRng;

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Not at all.
    None,
    /// Each by itself, with this probability.
    Random(f64),
    /// In bursts: a path that is good, or bad and then loses half (Gilbert-Elliott).
    Bursty {
        /// The share of packets that are lost.
        mean: f64,
        /// Packets a bad stretch lasts, on average.
        length: f64,
    },
}

/// A path's state.
#[derive(Debug)]
pub(crate) struct Losses {
    loss: Loss,
    bad: bool,
}

const LOST_WHEN_BAD: f64 = 0.5;

impl Losses {
    pub(crate) fn new(loss: Loss) -> Self {
        Self { loss, bad: false }
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self, rng: &mut StdRng) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Random(probability) => rng.random_bool(probability),
            Loss::Bursty { mean, length } => {
                let share_bad = mean / LOST_WHEN_BAD;
                let leave = 1.0 / length;
                let enter = leave * share_bad / (1.0 - share_bad);
                self.bad = if self.bad {
                    !rng.random_bool(leave)
                } else {
                    rng.random_bool(enter)
                };
                self.bad && rng.random_bool(LOST_WHEN_BAD)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn bursts_lose_as_much_as_they_say() {
        let (mut losses, mut rng) = (
            Losses::new(Loss::Bursty {
                mean: 0.05,
                length: 8.0,
            }),
            StdRng::seed_from_u64(1),
        );
        let lost = (0..200_000).filter(|_| losses.next(&mut rng)).count();
        assert!((9_000..11_000).contains(&lost), "{lost}");
    }
}
