//! Numbers for table entries.

use std::collections::VecDeque;

/// How many released numbers rest before one is used again: reports about an entry that is gone may
/// still be on their way.
const RESTING: usize = 256;

/// Hands out small numbers, each to one entry at a time.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    next: u32,
    released: VecDeque<u32>,
}

impl Ids {
    /// A number nobody has.
    pub(crate) fn take(&mut self) -> u32 {
        if self.released.len() > RESTING
            && let Some(id) = self.released.pop_front()
        {
            return id;
        }
        self.next += 1;
        self.next
    }

    /// The entry is gone from the table.
    pub(crate) fn release(&mut self, id: u32) {
        self.released.push_back(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rest_before_they_are_used_again() {
        let mut ids = Ids::default();
        let first = ids.take();
        ids.release(first);
        for _ in 0..RESTING {
            let id = ids.take();
            assert_ne!(id, first);
            ids.release(id);
        }
        assert_eq!(ids.take(), first);
    }
}
