use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

use crate::Machine;

/// Instructions of the whole machine, the kernel's included: a measure of work that other guests of the host do not touch.
///
/// What sleeps executes none, and neither do idle processors, but for what enters and leaves idleness.
pub struct Instructions(Vec<Counter>);

impl Instructions {
    /// Begins to count on every processor.
    ///
    /// Errors: the processor has no counters, or we may not read those of others.
    pub fn count() -> io::Result<Self> {
        let counters = (0..Machine::processors()).map(|processor| {
            let mut builder = Builder::new().kind(Hardware::INSTRUCTIONS).any_pid().one_cpu(processor);
            builder.include_kernel();
            let mut counter = builder.build()?;
            counter.enable()?;
            Ok(counter)
        });
        counters.collect::<io::Result<_>>().map(Self)
    }

    /// How many there have been.
    pub fn read(&mut self) -> io::Result<u64> {
        self.0.iter_mut().map(Counter::read).sum()
    }
}
