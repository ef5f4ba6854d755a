//! Devices with relays in the kernel, one after the other at the end of one cable.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use backend_ebpf::{Counters, Pass, Statistics};
use skip::skipped;
use veth::Pair;

use super::{Device, Family, SocketDevice};

/// A cable on which programs can send, and the counts of all programs on it.
pub struct BehindKernel {
    pair: Arc<Pair>,
    statistics: RefCell<Vec<Statistics>>,
    /// Lets the far end accept packets sent by programs.
    _taking: Pass,
}

impl BehindKernel {
    /// `None`, with the reason on standard error, without the privilege.
    pub fn or_skip() -> Option<Self> {
        let pair = veth::pair_or_skip(1)?;
        let unfinished = pair.far.command("ethtool", "-K far0 tx off");
        unfinished
            .inspect_err(|reason| skipped("nothing was tested", reason))
            .ok()?;
        let taking = pair.far.run(|| Pass::start(pair.far.interface));
        Some(BehindKernel {
            _taking: taking.expect("a process that may make a cable may make this too"),
            pair: Arc::new(pair),
            statistics: RefCell::default(),
        })
    }

    /// A fresh device, once the last one is gone.
    pub fn device(&self, family: Family, workers: usize, start: Instant) -> Box<dyn Device> {
        let (device, statistics) = SocketDevice::start_behind_kernel(self.pair.clone(), family, workers, start);
        self.statistics.borrow_mut().push(statistics);
        Box::new(device)
    }

    /// Counters of the programs of all of them.
    pub fn counted(&self) -> Counters {
        let mut sum = Counters::default();
        let all = self.statistics.borrow();
        all.iter().for_each(|statistics| sum.add(&statistics.read()));
        sum
    }
}
