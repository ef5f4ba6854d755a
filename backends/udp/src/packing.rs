//! Packing of legs onto few workers as long as few are connected.
//!
//! A frame whose receivers are spread over workers wakes each of them on another processor, which
//! costs more than sealing a few packets. The members of a meeting connect at about the same time.
//! So the first few dozen legs belong to the first worker, the next ones to the second worker, and
//! so on, and the kernel steers datagrams of their source ports there. A busy worker gets no more
//! legs. Once each worker has its share, source ports decide about all others.
//!
//! A leg stays at the worker that received its first datagram. Datagrams that the kernel steers
//! elsewhere are handed over, so that only cost depends on the decisions here.

use std::time::{Duration, Instant};

use crate::control::Control;
use crate::net::{ReuseportGroup, Steering, ThreadCpuClock};

/// How often the load of the worker that gets new legs is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(250);
/// The share of a processor above which a worker gets no more legs.
const BUSY_SHARE: f64 = 0.1;
/// The most source ports that the program compares for each datagram.
const PORTS_MAX: usize = 128;

/// Chooses the worker that receives new legs.
#[derive(Debug)]
pub(crate) struct WorkerPacking {
    group: ReuseportGroup,
    workers: Vec<ThreadCpuClock>,
    /// How many legs are packed onto a worker.
    legs_max: usize,
    /// The worker that gets new legs; `None` when source ports decide.
    current: Option<usize>,
    /// The last measurement: its time, and the processor time used until then.
    measured: Option<(Instant, Duration)>,
}

impl WorkerPacking {
    /// Starts with the first worker; `None` where the kernel does not take programs.
    pub(crate) fn start(group: ReuseportGroup, workers: Vec<ThreadCpuClock>, legs_max: usize) -> Option<Self> {
        group.steer(&[], Steering::ToWorker(0)).ok()?;
        Some(WorkerPacking {
            group,
            workers,
            legs_max,
            current: Some(0),
            measured: None,
        })
    }

    /// A leg was added or removed.
    pub(crate) fn legs_changed(&mut self, control: &Control) {
        let legs = control.legs();
        let is_full = match self.current {
            Some(current) => legs[current] >= self.legs_max,
            None => legs.iter().sum::<usize>() < self.legs_max / 2,
        };
        if is_full {
            self.next_worker(control, None);
        }
    }

    /// Measures the load of the current worker, if it is time.
    pub(crate) fn measure(&mut self, now: Instant, control: &Control) {
        let since = |at: Instant| now.saturating_duration_since(at);
        let Some(current) = self.current else { return };
        if self.measured.is_some_and(|(at, _)| since(at) < MEASURE_EVERY) {
            return;
        }
        let used = self.workers[current].used();
        let before = self.measured.replace((now, used));
        let share = before.map_or(0.0, |(at, before)| {
            used.saturating_sub(before).as_secs_f64() / since(at).as_secs_f64()
        });
        if share > BUSY_SHARE {
            self.next_worker(control, Some(current));
        }
    }

    /// Chooses the worker with the fewest legs, unless all have enough or that one is `busy`.
    fn next_worker(&mut self, control: &Control, busy: Option<usize>) {
        let legs = control.legs();
        let is_few = legs.iter().sum::<usize>() < PORTS_MAX;
        let free = |worker: &usize| is_few && legs[*worker] < self.legs_max;
        let fewest = (0..legs.len()).filter(free).min_by_key(|worker| legs[*worker]);
        self.current = fewest.filter(|worker| Some(*worker) != busy);
        self.measured = None;
        let ports: Vec<_> = control.port_owners().take(PORTS_MAX).collect();
        let others = self.current.map_or(Steering::BySourcePort, Steering::ToWorker);
        if self.group.steer(&ports, others).is_err() {
            // Legs at other workers only cost more.
            self.current = None;
        }
    }
}
