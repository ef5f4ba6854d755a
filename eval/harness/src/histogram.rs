use hdrhistogram::Histogram as Buckets;

/// Counts of durations in logarithmic buckets, so that a percentile of millions of packets costs 60
/// kB.
///
/// A reported value is at most 1 % above the true one.
///
/// Shape: nanoseconds in, nanoseconds out; any `u64` fits.
#[derive(Clone)]
pub struct Histogram {
    buckets: Buckets<u64>,
    max: u64,
}

const SIGNIFICANT_DIGITS: u8 = 2;

impl Default for Histogram {
    fn default() -> Self {
        let buckets = Buckets::new_with_bounds(1, u64::MAX, SIGNIFICANT_DIGITS);
        Self {
            buckets: buckets.expect("the bounds are constants"),
            max: 0,
        }
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, nanoseconds: u64) {
        self.buckets.saturating_record(nanoseconds);
        self.max = self.max.max(nanoseconds);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("all have the same bounds");
        self.max = self.max.max(other.max);
    }

    /// The largest duration, exactly.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The smallest value that at least `fraction` of the durations do not exceed, or 0 without
    /// any.
    pub fn quantile(&self, fraction: f64) -> u64 {
        self.buckets.value_at_quantile(fraction).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_reported_at_most_one_percent_above() {
        let powers = (7..64).map(|e| (1u64 << e) + (1 << (e - 1)) + 1);
        for value in (0..200).chain(powers) {
            let mut histogram = Histogram::default();
            histogram.record(value);
            histogram.record(u64::MAX);
            let reported = histogram.quantile(0.5);
            assert!(reported >= value, "{value} reported as {reported}");
            assert!(
                (reported - value) as f64 <= value as f64 * 0.01,
                "{value} reported as {reported}"
            );
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
