//! Requests that are not carried out.

use crate::config::Feature;
use crate::limits::{UNDONE_MAX, UNDONE_NAME_MAX};

/// The names of requests that are not carried out, for the reply and the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Undone {
    /// Unknown names.
    pub(crate) unknown: Names,
    /// These are known, and make a difference that is missing.
    pub(crate) ignored: Names,
    /// These cannot be done by a relay without codecs: the request is refused, unless the operator
    /// tolerates them.
    pub(crate) features: Vec<Feature>,
}

/// Names, of which the first are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// How many there were.
    pub(crate) count: u64,
    /// The first of them, each once and cut to a length.
    pub(crate) kept: Vec<String>,
}

impl Names {
    /// One more.
    pub(crate) fn push(&mut self, name: &str) {
        self.count += 1;
        let cut = name
            .char_indices()
            .nth(UNDONE_NAME_MAX)
            .map_or(name.len(), |(at, _)| at);
        let name = &name[..cut];
        if self.kept.len() < UNDONE_MAX && !self.kept.iter().any(|kept| kept == name) {
            self.kept.push(name.to_owned());
        }
    }
}

impl Undone {
    /// The request is not of the kind that these are for.
    pub(crate) fn forget(&mut self, features: &[Feature]) {
        self.features.retain(|feature| !features.contains(feature));
    }

    /// Moves tolerated wishes to the ignored ones; returns the first that is not tolerated.
    pub(crate) fn tolerate(&mut self, tolerated: &[Feature]) -> Option<Feature> {
        for feature in std::mem::take(&mut self.features) {
            if !tolerated.contains(&feature) {
                return Some(feature);
            }
            self.ignored.push(feature.name());
        }
        None
    }

    /// All names, as text for the reply; `None` if there are none.
    pub(crate) fn warning(&self) -> Option<String> {
        let list = |what: &str, names: &Names| {
            let more = if names.count > names.kept.len() as u64 {
                " and more"
            } else {
                ""
            };
            (names.count > 0).then(|| format!("{what}: {}{more}", names.kept.join(", ")))
        };
        let lists = [
            list("Not done", &self.ignored),
            list("Unknown flags were ignored", &self.unknown),
        ];
        let lists: Vec<String> = lists.into_iter().flatten().collect();
        (!lists.is_empty()).then(|| lists.join("; "))
    }
}
