//! One shard's counters, readable from everywhere, written by the shard alone.

use std::sync::atomic::{AtomicU64, Ordering};

use dataplane::{Counter, Counters};

/// Counters on cache lines of their own. With one writer, counting is a load and a store: no locked
/// instruction.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CounterPage([AtomicU64; Counter::ALL.len()]);

impl CounterPage {
    pub(crate) fn new() -> Self {
        CounterPage(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Counts one more. Only the page's own shard may.
    pub(crate) fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts several more. Only the page's own shard may.
    pub(crate) fn add(&self, counter: Counter, more: u64) {
        let cell = &self.0[counter as usize];
        cell.store(cell.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Counters {
        let mut counters = Counters::default();
        for counter in Counter::ALL {
            counters[*counter] = self.0[*counter as usize].load(Ordering::Relaxed);
        }
        counters
    }
}
