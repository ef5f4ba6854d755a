/// Counts of durations in logarithmic buckets, so that a percentile of millions of packets costs 30 kB.
///
/// Each power of two is cut into 64 buckets: a reported value is at most 1.6 % above the true one.
///
/// Shape: nanoseconds in, nanoseconds out; any `u64` fits.
#[derive(Clone)]
pub struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
    max: u64,
}

/// Buckets in one power of two, as a shift.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// Values below `SUB` have a bucket each; each higher power of two has `SUB` of them.
const BUCKETS: usize = ((64 - SUB_BITS + 1) as usize) << SUB_BITS;

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            max: 0,
        }
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, nanoseconds: u64) {
        self.buckets[bucket(nanoseconds)] += 1;
        self.count += 1;
        self.max = self.max.max(nanoseconds);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *ours += theirs;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// The largest duration, exactly.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The smallest value that at least `fraction` of the durations do not exceed, or 0 when nothing was counted.
    pub fn quantile(&self, fraction: f64) -> u64 {
        let wanted = ((self.count as f64 * fraction).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_edge(index).min(self.max);
            }
        }
        self.max
    }
}

fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros();
    let within = (value >> (exponent - SUB_BITS)) & (SUB - 1);
    (((exponent - SUB_BITS + 1) << SUB_BITS) as u64 + within) as usize
}

/// The largest value that falls into the bucket.
fn upper_edge(index: usize) -> u64 {
    let (group, within) = ((index as u64) >> SUB_BITS, (index as u64) & (SUB - 1));
    if group == 0 {
        return within;
    }
    let shift = group - 1;
    ((SUB + within) << shift) + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_at_most_two_percent_wide() {
        for value in (0..200)
            .chain((7..64).map(|e| (1u64 << e) + (1 << (e - 1)) + 1))
            .chain([u64::MAX])
        {
            let edge = upper_edge(bucket(value));
            assert!(edge >= value, "{value} is above its bucket's edge {edge}");
            assert!(
                (edge - value) as f64 <= value as f64 * 0.016,
                "{value} reported as {edge}"
            );
        }
    }

    #[test]
    fn buckets_follow_one_another() {
        for index in 0..BUCKETS - 1 {
            assert_eq!(bucket(upper_edge(index) + 1), index + 1);
        }
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|microseconds| histogram.record(microseconds * 1000));
        let p50 = histogram.quantile(0.5);
        assert!((500_000..=508_000).contains(&p50), "{p50}");
        let p99 = histogram.quantile(0.99);
        assert!((990_000..=1_000_000).contains(&p99), "{p99}");
        assert_eq!(histogram.quantile(1.0), 1_000_000);
        assert_eq!(histogram.max(), 1_000_000);
    }

    #[test]
    fn two_halves_are_a_whole() {
        let ramp = |range: std::ops::RangeInclusive<u64>| {
            let mut histogram = Histogram::default();
            range.for_each(|value| histogram.record(value));
            histogram
        };
        let mut half = ramp(1..=500);
        half.add(&ramp(501..=1000));
        let whole = ramp(1..=1000);
        assert_eq!((half.count(), half.max()), (whole.count(), whole.max()));
        assert_eq!(half.quantile(0.7), whole.quantile(0.7));
    }

    #[test]
    fn nothing_counted_is_zero() {
        assert_eq!(Histogram::default().quantile(0.99), 0);
    }
}
