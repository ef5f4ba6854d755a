//! Names that are not used twice.

/// The name of a job in here. Later jobs have higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JobKey(pub(super) u64);

const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Characters of a name: 62^11 is more than 2^64.
const LEN: usize = 11;

/// Makes names of one seed. They are unique, and nothing depends on their being hard to guess.
#[derive(Debug)]
pub(super) struct Names(u64);

impl Names {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next name, with a prefix that says of what.
    pub(super) fn next(&mut self, prefix: &str) -> String {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut rest = mixed(self.0);
        let mut name = prefix.to_owned();
        for _ in 0..LEN {
            name.push(char::from(DIGITS[(rest % 62) as usize]));
            rest /= 62;
        }
        name
    }
}

/// The output function of SplitMix64, which maps no two numbers to the same.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
