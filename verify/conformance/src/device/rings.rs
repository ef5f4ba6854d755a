//! Devices on AF_XDP rings, one after the other at the end of one cable.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use backend_afxdp::{Counters, Statistics};
use veth::Pair;

use super::{Device, Family, SocketDevice};

/// A cable, and the counts of all devices on it about their rings.
pub struct Rings {
    pair: Arc<Pair>,
    workers: usize,
    statistics: RefCell<Vec<Statistics>>,
}

impl Rings {
    /// For devices of `workers` workers, each with a queue of its own. `None`, with the reason on
    /// standard error, without the privilege.
    pub fn or_skip(workers: usize) -> Option<Self> {
        Self::with_queues_or_skip(workers, workers)
    }

    /// The same with fewer queues, so that some workers have no ring.
    pub fn with_queues_or_skip(workers: usize, queues: usize) -> Option<Self> {
        Some(Rings {
            pair: Arc::new(veth::pair_or_skip(queues)?),
            workers,
            statistics: RefCell::default(),
        })
    }

    /// A new device, once the last one is gone.
    ///
    /// Panics if a cable is possible and a device on it is not: that is under test.
    pub fn device(&self, family: Family, start: Instant) -> Box<dyn Device> {
        let device = SocketDevice::start_on_rings(self.pair.clone(), family, self.workers, start);
        let (device, statistics) = device.unwrap_or_else(|error| panic!("{error}"));
        self.statistics.borrow_mut().push(statistics);
        Box::new(device)
    }

    /// Counters of all of them.
    pub fn counted(&self) -> Counters {
        let mut sum = Counters::default();
        let all = self.statistics.borrow();
        all.iter().for_each(|statistics| sum.add(&statistics.read()));
        sum
    }
}
