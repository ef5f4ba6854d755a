//! The numbers and places that a device shows to operators.

use operator::Place;

/// One part of a data plane for operators: a handle that any thread may read while the device runs.
///
/// `/metrics` shows the families of all parts together, and `weir inspect` their places. Nothing
/// else in the program knows which device it is.
pub trait Statistics: Send + Sync {
    /// Its families of samples. Samples of several parts with one name and one set of labels are
    /// added up.
    fn families(&self) -> Vec<Family> {
        Vec::new()
    }

    /// Its parts and entries with their places, in the order they are to be listed.
    fn places(&self) -> Vec<Place> {
        Vec::new()
    }
}

/// Samples of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name without the program's, as in `offload_entries`.
    pub name: &'static str,
    /// Whether its values only rise.
    pub kind: Kind,
    /// A sentence without its full stop.
    pub help: &'static str,
    /// The values.
    pub samples: Vec<Sample>,
}

/// The way values of a family change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only rise.
    Counter,
    /// They rise and fall.
    Gauge,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Names and values of its labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u64,
}

impl Family {
    /// A family of counters, one for each value of the label `reason`.
    pub fn by_reason<'a>(name: &'static str, help: &'static str, counts: impl Iterator<Item = (&'a str, u64)>) -> Self {
        let sample = |(reason, value): (&str, u64)| Sample {
            labels: vec![("reason", reason.to_owned())],
            value,
        };
        Family {
            name,
            kind: Kind::Counter,
            help,
            samples: counts.map(sample).collect(),
        }
    }
}
