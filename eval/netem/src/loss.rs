//! Frames that a way loses for its own reasons.

use crate::Random;

/// How frames are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Share of all frames. Shape: 0 to 1.
    pub share: f64,
    /// How many are lost in a row, on average; at most 1 means each by itself.
    pub burst: f64,
}

/// A way's state: good, or bad and then it loses everything (Gilbert).
#[derive(Debug, Default)]
pub struct Losses {
    bad: bool,
}

impl Losses {
    /// Whether the next frame is lost. It takes one random number for any `loss`, so that the
    /// numbers of later frames stay the same.
    pub fn next(&mut self, loss: Loss, random: &mut Random) -> bool {
        let draw = random.unit();
        if loss.burst <= 1.0 || loss.share >= 1.0 {
            self.bad = draw < loss.share;
            return self.bad;
        }
        let leave = 1.0 / loss.burst;
        let enter = leave * loss.share / (1.0 - loss.share);
        self.bad = if self.bad { draw >= leave } else { draw < enter };
        self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: usize = 200_000;

    /// How many were lost, and in how many runs.
    fn lost(loss: Loss) -> (usize, usize) {
        let (mut losses, mut random, mut before) = (Losses::default(), Random::new(1), false);
        let (mut count, mut runs) = (0, 0);
        for _ in 0..FRAMES {
            let now = losses.next(loss, &mut random);
            count += usize::from(now);
            runs += usize::from(now && !before);
            before = now;
        }
        (count, runs)
    }

    #[test]
    fn loses_the_share_it_says() {
        let (count, _) = lost(Loss {
            share: 0.05,
            burst: 0.0,
        });
        assert!((9_500..10_500).contains(&count), "{count}");
        assert_eq!(lost(Loss::default()).0, 0);
        assert_eq!(lost(Loss { share: 1.0, burst: 5.0 }).0, FRAMES);
    }

    #[test]
    fn loses_in_runs_of_the_length_it_says() {
        let (count, runs) = lost(Loss {
            share: 0.05,
            burst: 8.0,
        });
        assert!((9_000..11_000).contains(&count), "{count}");
        let length = count as f64 / runs as f64;
        assert!((7.0..9.0).contains(&length), "{length}");
    }
}
