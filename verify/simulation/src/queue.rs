//! Scheduled events, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Events with times; those of one time are in the order of insertion.
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    next: u64,
}

struct Entry<T> {
    at: Instant,
    order: u64,
    what: T,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            next: 0,
        }
    }

    pub(crate) fn put(&mut self, at: Instant, what: T) {
        self.next += 1;
        self.heap.push(Reverse(Entry {
            at,
            order: self.next,
            what,
        }));
    }

    pub(crate) fn first(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.heap.pop().map(|entry| entry.0.what)
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for Entry<T> {}
