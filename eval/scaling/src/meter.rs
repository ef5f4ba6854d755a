//! Cost of work: instructions, cycles, processor time.

use std::alloc::System;
use std::ops::AddAssign;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// The system's allocator, with counts of allocations.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes of heap that the process uses.
pub fn heap() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.bytes_allocated as u64).wrapping_sub(stats.bytes_deallocated as u64)
}

/// Measures work done in this thread.
pub struct Meter {
    counters: Option<Counters>,
    /// The cost of an empty measurement.
    own: Cost,
}

/// The processor's counters, in user space only.
struct Counters {
    instructions: Counter,
    cycles: Counter,
}

/// The cost of some work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions; zero where the processor's counters may not be read.
    pub instructions: u64,
    /// Cycles, likewise.
    pub cycles: u64,
    /// Processor time of the thread, the kernel's part included.
    pub time: Duration,
}

/// The unit that growth is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Instructions in user space, which are the same with every run but for a few in a thousand.
    Instructions,
    /// Nanoseconds of processor time, as a fallback: noisy.
    Nanoseconds,
}

impl Meter {
    /// A meter by the processor's counters if the system lets us read them, else by its clock.
    pub fn open() -> Self {
        let mut this = Meter {
            counters: Counters::open().ok(),
            own: Cost::default(),
        };
        this.own = this.nothing();
        this
    }

    /// A meter that measures nothing.
    pub fn none() -> Self {
        Meter {
            counters: None,
            own: Cost::default(),
        }
    }

    /// The unit in which this meter judges growth.
    pub fn unit(&self) -> Unit {
        match self.counters {
            Some(_) => Unit::Instructions,
            None => Unit::Nanoseconds,
        }
    }

    /// Does some work, and adds its cost to `cost`.
    pub fn count<T>(&mut self, cost: &mut Cost, work: impl FnOnce() -> T) -> T {
        let before = self.read();
        let done = work();
        *cost += self.read().less(before).less(self.own);
        done
    }

    /// The median of several empty measurements.
    fn nothing(&mut self) -> Cost {
        const TIMES: usize = 1_001;
        let costs: Vec<Cost> = (0..TIMES)
            .map(|_| {
                let before = self.read();
                self.read().less(before)
            })
            .collect();
        fn median<T: Ord + Copy>(costs: &[Cost], part: fn(&Cost) -> T) -> T {
            let mut parts: Vec<T> = costs.iter().map(part).collect();
            parts.sort();
            parts[TIMES / 2]
        }
        Cost {
            instructions: median(&costs, |cost| cost.instructions),
            cycles: median(&costs, |cost| cost.cycles),
            time: median(&costs, |cost| cost.time),
        }
    }

    fn read(&mut self) -> Cost {
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every thread has such a clock");
        let (instructions, cycles) = self.counters.as_mut().map_or((0, 0), Counters::read);
        Cost {
            instructions,
            cycles,
            time: time.into(),
        }
    }
}

impl Counters {
    fn open() -> std::io::Result<Self> {
        let mut this = Counters {
            instructions: Builder::new().kind(Hardware::INSTRUCTIONS).build()?,
            cycles: Builder::new().kind(Hardware::CPU_CYCLES).build()?,
        };
        this.instructions.enable()?;
        this.cycles.enable()?;
        Ok(this)
    }

    fn read(&mut self) -> (u64, u64) {
        let read = |counter: &mut Counter| counter.read().expect("an open counter can be read");
        (read(&mut self.instructions), read(&mut self.cycles))
    }
}

impl Cost {
    /// In the unit growth is judged by.
    pub fn in_unit(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Instructions => self.instructions as f64,
            Unit::Nanoseconds => self.time.as_nanos() as f64,
        }
    }

    fn less(self, other: Cost) -> Cost {
        Cost {
            instructions: self.instructions.saturating_sub(other.instructions),
            cycles: self.cycles.saturating_sub(other.cycles),
            time: self.time.saturating_sub(other.time),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Cost) {
        self.instructions += more.instructions;
        self.cycles += more.cycles;
        self.time += more.time;
    }
}
