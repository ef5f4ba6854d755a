//! Places where relays are counted.

use std::collections::VecDeque;

/// The free slots. The one that has been free the longest is used next, so that a packet that was
/// in progress when its relay was removed is counted in a slot without a reader.
#[derive(Debug)]
pub(super) struct Slots(VecDeque<u32>);

impl Slots {
    /// So many, but for those that are used.
    pub(super) fn new(slots: u32, used: &[u32]) -> Self {
        let mut is_free = vec![true; slots as usize];
        for slot in used {
            if let Some(free) = is_free.get_mut(*slot as usize) {
                *free = false;
            }
        }
        Slots((0..slots).filter(|slot| is_free[*slot as usize]).collect())
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        self.0.pop_front()
    }

    pub(super) fn give_back(&mut self, slot: u32) {
        self.0.push_back(slot);
    }
}
