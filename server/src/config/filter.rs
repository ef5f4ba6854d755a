//! Lists of what is used and of what is not.

use serde::Deserialize;

/// A choice: everything that is included, or everything if nothing is, without the excluded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, bound = "T: Deserialize<'de>")]
pub(crate) struct Filter<T> {
    /// The included; everything if the list is empty.
    pub includes: Vec<T>,
    /// The excluded, included or not.
    pub excludes: Vec<T>,
}

impl<T> Default for Filter<T> {
    fn default() -> Self {
        Filter {
            includes: Vec::new(),
            excludes: Vec::new(),
        }
    }
}

impl<T> Filter<T> {
    /// Whether something is chosen, which `is_it` compares with the entries of the lists.
    pub(crate) fn admits(&self, is_it: impl Fn(&T) -> bool) -> bool {
        let is_included = self.includes.is_empty() || self.includes.iter().any(&is_it);
        is_included && !self.excludes.iter().any(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excluded_interface_is_not_used_even_if_it_is_included() {
        let filter = |includes: &[u8], excludes: &[u8]| Filter {
            includes: includes.to_vec(),
            excludes: excludes.to_vec(),
        };
        let admits = |filter: Filter<u8>| [1, 2, 3].map(|number| filter.admits(|it| *it == number));
        assert_eq!(admits(Filter::default()), [true; 3]);
        assert_eq!(admits(filter(&[1, 2], &[])), [true, true, false]);
        assert_eq!(admits(filter(&[], &[2])), [true, false, true]);
        assert_eq!(admits(filter(&[1, 2], &[2])), [true, false, false]);
    }
}
