//! How one quantity grows with another.

const BLUR: f64 = 0.05;

/// Exponents of a power law: 1 is linear growth, 0 is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Of the straight line that fits all points best where both axes are logarithmic.
    pub fitted: f64,
    /// From the last point but one to the last: the growth when fixed costs no longer matter.
    pub at_end: f64,
}

impl Slope {
    /// Of at least two points from left to right, all coordinates positive.
    pub fn of(points: &[(f64, f64)]) -> Self {
        let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
        let count = logs.len() as f64;
        let mean = |part: fn(&(f64, f64)) -> f64| logs.iter().map(part).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|log| log.0), mean(|log| log.1));
        let across: f64 = logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
        let along: f64 = logs.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
        let [.., before, last] = logs[..] else {
            panic!("one point has no slope");
        };
        Slope {
            fitted: across / along,
            at_end: (last.1 - before.1) / (last.0 - before.0),
        }
    }

    /// Whether it is at most `bound`, within the error of measurement.
    pub fn is_within(&self, bound: f64) -> bool {
        self.fitted <= bound + BLUR && self.at_end <= bound + BLUR
    }

    /// The same for a value that grows in steps, each as large as all before: the slope at the end
    /// is meaningless then.
    pub fn is_within_by_steps(&self, bound: f64) -> bool {
        self.fitted <= bound + BLUR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(law: fn(f64) -> f64) -> Slope {
        let points: Vec<_> = [10.0, 30.0, 100.0, 300.0, 1_000.0].map(|x| (x, law(x))).into();
        Slope::of(&points)
    }

    #[test]
    fn a_power_is_its_exponent() {
        for (exponent, found) in [
            (1.0, slope(|x| 7.0 * x)),
            (0.0, slope(|_| 5.0)),
            (2.0, slope(|x| x * x)),
        ] {
            assert!((found.fitted - exponent).abs() < 1e-9 && (found.at_end - exponent).abs() < 1e-9);
        }
    }

    #[test]
    fn a_fixed_cost_flattens_the_beginning_and_a_square_steepens_the_end() {
        let found = slope(|x| 1_000.0 + x);
        assert!(found.fitted < found.at_end && found.is_within(1.0));
        let found = slope(|x| 10_000.0 + x * x);
        assert!(found.fitted < found.at_end && !found.is_within(1.0));
    }
}
