use std::fs;
use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// Instructions of some processes, the kernel's on their account included: a measure of work that
/// strangers do not touch.
pub struct Instructions(Vec<Counter>);

impl Instructions {
    /// Begins to count the instructions of all threads of these processes, and of threads that they
    /// start.
    ///
    /// Errors: the processor has no counters, or reading those of other processes is not allowed.
    pub fn of(processes: &[u32]) -> io::Result<Self> {
        let threads = processes.iter().flat_map(|&process| threads(process));
        let counters = threads.map(|thread| {
            let mut builder = Builder::new().kind(Hardware::INSTRUCTIONS).observe_pid(thread);
            builder.include_kernel().inherit(true);
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

fn threads(process: u32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}
