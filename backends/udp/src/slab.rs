//! Values with a fixed slot, so that tables can point at each other without a search.

use std::ops::{Index, IndexMut};

/// A vector with holes, which the next values fill.
///
/// Everything that points at a slot must be removed before its value.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab::new()
    }
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = Some(value);
                slot
            }
            None => {
                self.slots.push(Some(value));
                self.slots.len() - 1
            }
        }
    }

    /// Panics when the slot is empty.
    pub(crate) fn remove(&mut self, slot: usize) -> T {
        let value = self.slots[slot].take().expect("a place is emptied once");
        self.free.push(slot);
        value
    }

    /// The slot itself, not looked into.
    pub(crate) fn slot(&self, slot: usize) -> &Option<T> {
        &self.slots[slot]
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;
    fn index(&self, slot: usize) -> &T {
        self.slots[slot].as_ref().expect("a slot that is pointed at is filled")
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    fn index_mut(&mut self, slot: usize) -> &mut T {
        self.slots[slot].as_mut().expect("a slot that is pointed at is filled")
    }
}
