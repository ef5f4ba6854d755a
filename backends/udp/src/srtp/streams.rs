//! A bounded table of per-SSRC state.

use crate::prefetch;

/// State by SSRC: looked up per packet, added to once per stream, never removed from while the keys
/// live.
///
/// Removing an entry would forget which indexes were used under its SSRC, and those must never be
/// used again.
pub(super) struct Streams<T> {
    /// (SSRC, position in `states`), sorted by SSRC.
    order: Vec<(u32, usize)>,
    states: Vec<T>,
    /// The SSRC and position that were looked up last: packets come in runs.
    last: (u32, usize),
    limit: usize,
}

impl<T> Streams<T> {
    /// A table that holds at most `limit` streams.
    pub(super) fn with_limit(limit: usize) -> Self {
        Self {
            order: Vec::new(),
            states: Vec::new(),
            last: (0, 0),
            limit,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= self.limit
    }

    pub(super) fn get(&self, ssrc: u32) -> Option<&T> {
        let found = self.order.binary_search_by_key(&ssrc, |entry| entry.0).ok()?;
        Some(&self.states[self.order[found].1])
    }

    pub(super) fn get_mut(&mut self, ssrc: u32) -> Option<&mut T> {
        if self.last.0 != ssrc {
            let found = self.order.binary_search_by_key(&ssrc, |entry| entry.0).ok()?;
            self.last = self.order[found];
        }
        self.states.get_mut(self.last.1)
    }

    /// Each stream's SSRC and state.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.order.iter().map(|(ssrc, place)| (*ssrc, &self.states[*place]))
    }

    /// Asks for what finding a stream takes, and for the one that was looked up last.
    pub(super) fn prefetch(&self) {
        prefetch::first(&self.order);
        self.states.get(self.last.1).into_iter().for_each(prefetch::value);
    }

    /// Adds a stream that is not in the table, which the caller knows not to be full.
    pub(super) fn insert(&mut self, ssrc: u32, state: T) {
        assert!(!self.is_full(), "the caller asks before it adds");
        match self.order.binary_search_by_key(&ssrc, |entry| entry.0) {
            Ok(found) => self.states[self.order[found].1] = state,
            Err(place) => {
                self.last = (ssrc, self.states.len());
                self.order.insert(place, self.last);
                self.states.push(state);
            }
        }
    }
}
