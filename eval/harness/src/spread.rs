use std::fmt;

/// Median, least and greatest of one figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Spread {
    /// Of these values; `None` when there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let middle = [(values.len() - 1) / 2, values.len() / 2].map(|place| values[place]);
        Some(Self {
            median: (middle[0] + middle[1]) / 2.0,
            least,
            greatest,
        })
    }
}

impl fmt::Display for Spread {
    /// The median, followed by the range if there is one; the precision applies to all three.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let [median, least, greatest] = [self.median, self.least, self.greatest].map(|it| format!("{it:.digits$}"));
        if least == greatest {
            return f.write_str(&median);
        }
        write!(f, "{median} ({least}-{greatest})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        let odd = Spread::of([3.0, 1.0, 9.0]).expect("values");
        assert_eq!((odd.median, odd.least, odd.greatest), (3.0, 1.0, 9.0));
        let even = Spread::of([4.0, 1.0, 2.0, 9.0]).expect("values");
        assert_eq!(even.median, 3.0);
        assert_eq!(Spread::of([7.0]).map(|it| it.median), Some(7.0));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn text_has_the_range_behind_the_median() {
        let spread = Spread::of([1.0, 2.0, 4.0]).expect("values");
        assert_eq!(
            (spread.to_string(), format!("{spread:.0}")),
            ("2.00 (1.00-4.00)".into(), "2 (1-4)".into())
        );
        for equal in [[3.0, 3.0], [2.999, 3.001]] {
            assert_eq!(Spread::of(equal).map(|it| it.to_string()), Some("3.00".into()));
        }
    }
}
