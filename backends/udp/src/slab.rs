//! Values with a fixed place, so that tables can point at each other without a search.

use std::ops::{Index, IndexMut};

/// A vector with holes, which the next values fill.
///
/// Everything that points at a place must be removed before its value.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
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
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.places[place] = Some(value);
                place
            }
            None => {
                self.places.push(Some(value));
                self.places.len() - 1
            }
        }
    }

    /// Panics when the place is empty.
    pub(crate) fn remove(&mut self, place: usize) -> T {
        let value = self.places[place].take().expect("a place is emptied once");
        self.free.push(place);
        value
    }

    /// The place itself, not looked into.
    pub(crate) fn place(&self, place: usize) -> &Option<T> {
        &self.places[place]
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;
    fn index(&self, place: usize) -> &T {
        self.places[place]
            .as_ref()
            .expect("whoever points here keeps it filled")
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        self.places[place]
            .as_mut()
            .expect("whoever points here keeps it filled")
    }
}
