//! Several calls, summed up.

use std::fmt;

/// Median, least and greatest of one figure over several seeds, as shares of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Spread {
            median: values[values.len() / 2],
            least: values[0],
            greatest: values[values.len() - 1],
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        let (least, greatest) = (percent(self.least), percent(self.greatest));
        write!(f, "{:.2} ({least:.2}-{greatest:.2})", percent(self.median))
    }
}
