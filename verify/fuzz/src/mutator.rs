//! Bytes that are almost valid.

/// The longest input made, so that a run makes many rather than large ones.
const LEN_MAX: usize = 2048;
/// Values on which counts and lengths tend to break.
const BOUNDARIES: [u8; 8] = [0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0xfe, 0xff];

/// A small generator of numbers that look random and are the same each time (SplitMix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.roll() as u8
    }
}

/// Makes the next input: a seed with one to six changes, or at times random bytes only.
pub(crate) fn next_input(dice: &mut Dice, seeds: &[Vec<u8>], input: &mut Vec<u8>) {
    input.clear();
    if seeds.is_empty() || dice.below(16) == 0 {
        let len = dice.below(128);
        input.extend((0..len).map(|_| dice.byte()));
        return;
    }
    input.extend(&seeds[dice.below(seeds.len())]);
    for _ in 0..=dice.below(6) {
        change(dice, seeds, input);
    }
    input.truncate(LEN_MAX);
}

fn change(dice: &mut Dice, seeds: &[Vec<u8>], input: &mut Vec<u8>) {
    let at = dice.below(input.len() + 1);
    match dice.below(6) {
        // A shorter packet.
        0 => input.truncate(at),
        // The head of this one and the tail of another.
        1 => {
            let other = &seeds[dice.below(seeds.len())];
            let from = dice.below(other.len() + 1);
            input.truncate(at);
            input.extend(&other[from..]);
        }
        // Bytes that do not belong there.
        2 => {
            let len = dice.below(8);
            let noise: Vec<u8> = (0..len).map(|_| dice.byte()).collect();
            input.splice(at..at, noise);
        }
        // Bytes taken out.
        3 => {
            let len = dice.below(8).min(input.len() - at);
            input.drain(at..at + len);
        }
        change => {
            let Some(byte) = input.get_mut(at) else { return };
            match change {
                4 => *byte ^= 1 << dice.below(8),
                _ => *byte = BOUNDARIES[dice.below(BOUNDARIES.len())],
            }
        }
    }
}
