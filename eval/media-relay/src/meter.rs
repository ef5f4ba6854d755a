//! Load of the machine while phones talk, read by threads of its own so that nobody has to wait for
//! `/proc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::{Instructions, MachineSample, ProcessSample, Processes, SocketDrops, clock, interrupt_threads, process};

use crate::outcome::{LoadSample, Machine};
use crate::polling;

/// Between the moments of a timeline.
const MOMENT: Duration = Duration::from_millis(500);

/// A measurement in progress.
pub struct Window(JoinHandle<(Machine, u64)>);

/// The processes to watch, and the counter of their instructions.
struct Watch {
    relay: Option<u32>,
    kernel: Vec<u32>,
    pollers: Vec<u32>,
    counter: Option<Instructions>,
}

struct Sample {
    at: Instant,
    machine: MachineSample,
    instructions: Option<u64>,
    relay: Option<ProcessSample>,
    phones: ProcessSample,
    kernel: Duration,
    pollers: Duration,
    others: Processes,
    drops: Option<SocketDrops>,
}

impl Watch {
    fn new(relay: Option<u32>) -> Self {
        let kernel = interrupt_threads();
        let all: Vec<u32> = kernel
            .iter()
            .copied()
            .chain(relay)
            .chain([std::process::id()])
            .collect();
        Self {
            relay,
            kernel,
            pollers: polling::threads_at_relay(),
            counter: Instructions::of(&all).ok(),
        }
    }

    /// The quick values are read last at the beginning and first at the end, so that reading the
    /// rest is not measured.
    fn before(&mut self) -> Sample {
        let (others, drops) = (Processes::sample(), self.relay.map(SocketDrops::sample_of));
        Sample {
            others,
            drops,
            ..self.sample()
        }
    }

    fn after(&mut self) -> Sample {
        let quick = self.sample();
        Sample {
            others: Processes::sample(),
            drops: self.relay.map(SocketDrops::sample_of),
            ..quick
        }
    }

    fn sample(&mut self) -> Sample {
        let used = |pids: &[u32]| {
            let samples = pids.iter().filter_map(|&pid| process(pid));
            samples.map(|sample| sample.cpu).sum()
        };
        Sample {
            at: clock::now(),
            machine: harness::Machine::sample(),
            instructions: self.counter.as_mut().and_then(|counter| counter.read().ok()),
            relay: self.relay.and_then(process),
            phones: process(std::process::id()).unwrap_or_default(),
            kernel: used(&self.kernel),
            pollers: used(&self.pollers),
            others: Processes::default(),
            drops: None,
        }
    }
}

impl Window {
    /// Measures for `lasts`.
    pub fn begin(relay: Option<u32>, lasts: Duration) -> Self {
        Self(thread::spawn(move || measure(relay, lasts)))
    }

    /// The load of the machine, and the number of datagrams dropped at the relay's sockets; waits
    /// for the end.
    pub fn end(self) -> (Machine, u64) {
        self.0.join().expect("reading does not fail, it only finds nothing")
    }
}

fn measure(relay: Option<u32>, lasts: Duration) -> (Machine, u64) {
    let end = clock::now() + lasts;
    let mut watch = Watch::new(relay);
    let before = watch.before();
    thread::sleep(end.saturating_duration_since(clock::now()));
    let after = watch.after();
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let cores = |earlier: Duration, later: Duration| later.saturating_sub(earlier).as_secs_f64() / seconds;
    let idle_share = after.machine.idle_share_since(&before.machine);
    let known: Vec<u32> = relay.into_iter().chain([std::process::id()]).collect();
    let drops = |sample: &Sample| sample.drops.as_ref().map_or(0, |drops| drops.at(|_| true));
    let both = before.relay.zip(after.relay);
    let machine = Machine {
        busy_cores: (1.0 - idle_share) * harness::Machine::processors() as f64,
        idle_share,
        stolen_share: after.machine.stolen_share_since(&before.machine),
        relay_cores: both.map(|(before, after)| cores(before.cpu, after.cpu)),
        phones_cores: cores(before.phones.cpu, after.phones.cpu),
        kernel_cores: cores(before.kernel, after.kernel),
        poller_cores: (!watch.pollers.is_empty()).then(|| cores(before.pollers, after.pollers)),
        instructions: before.instructions.zip(after.instructions).map(|(before, after)| {
            // The figures of a run are divided by the window, while reading takes a moment longer.
            (after.saturating_sub(before) as f64 * lasts.as_secs_f64() / seconds) as u64
        }),
        busiest_other: after.others.busiest_since(&before.others, seconds, &known),
    };
    (machine, drops(&after).saturating_sub(drops(&before)))
}

/// The machine moment by moment.
pub struct Timeline {
    thread: JoinHandle<Vec<(Instant, LoadSample)>>,
    over: Arc<AtomicBool>,
}

impl Timeline {
    /// Begins to watch.
    pub fn begin(relay: Option<u32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        Self {
            thread: thread::spawn(move || watch(relay, &until)),
            over,
        }
    }

    /// All moments; their calls are not filled in, nor when they were since the first offer.
    pub fn end(self) -> Vec<(Instant, LoadSample)> {
        self.over.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .expect("reading does not fail, it only finds nothing")
    }
}

fn watch(relay: Option<u32>, over: &AtomicBool) -> Vec<(Instant, LoadSample)> {
    let read = || {
        let cpu = relay.and_then(process).map_or(Duration::ZERO, |sample| sample.cpu);
        (clock::now(), harness::Machine::sample(), cpu)
    };
    let mut moments = Vec::new();
    let mut last = read();
    while !over.load(Ordering::Relaxed) {
        thread::sleep(MOMENT);
        let next = read();
        let seconds = next.0.duration_since(last.0).as_secs_f64();
        let moment = LoadSample {
            busy_cores: (1.0 - next.1.idle_share_since(&last.1)) * harness::Machine::processors() as f64,
            relay_cores: next.2.saturating_sub(last.2).as_secs_f64() / seconds,
            ..LoadSample::default()
        };
        moments.push((next.0, moment));
        last = next;
    }
    moments
}
