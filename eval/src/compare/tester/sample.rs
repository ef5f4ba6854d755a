//! Server, load tester and machine at one instant.

use std::time::Instant;

use crate::clock;
use crate::measure::{Datagrams, Machine, MachineSample, ProcessSample, Processes, process};
use crate::report::{Cost, Report};

/// The counts of one instant.
pub(crate) struct Sample {
    at: Instant,
    machine: MachineSample,
    others: Processes,
    /// The server's process and the load tester's.
    used: [ProcessSample; 2],
    /// Datagrams of the server's network namespace and of the clients'.
    datagrams: [Datagrams; 2],
}

impl Sample {
    /// Reads them now, of the server and the load tester.
    pub(crate) fn take(pids: [u32; 2]) -> Self {
        Self {
            others: Processes::sample(),
            datagrams: pids.map(Datagrams::sample_of),
            used: pids.map(|pid| process(pid).unwrap_or_default()),
            machine: Machine::sample(),
            at: clock::now(),
        }
    }

    /// The report of the time since `first`. A replica is a datagram that arrived at a client's
    /// socket.
    pub(crate) fn report_since(&self, first: &Self, pids: [u32; 2]) -> Report {
        let seconds = self.at.duration_since(first.at).as_secs_f64();
        let [at_server, at_clients] = [0, 1].map(|side| self.datagrams[side].since(&first.datagrams[side]));
        let replicas = at_clients.arrived();
        let cost = |side: usize| {
            let cpu = self.used[side].cpu.saturating_sub(first.used[side].cpu);
            Cost::of(cpu, seconds, replicas)
        };
        let ours = [pids.as_slice(), &[std::process::id()]].concat();
        let mut report = Report {
            seconds,
            replicas_expected: replicas,
            replicas_received: replicas,
            dropped_at_clients: at_clients.dropped,
            dropped_at_server: at_server.dropped,
            server: Some(cost(0)),
            generator: cost(1),
            read_by_server: at_server.read,
            server_sleeps: self.used[0].sleeps.saturating_sub(first.used[0].sleeps),
            idle_share: self.machine.idle_share_since(&first.machine),
            stolen_share: self.machine.stolen_share_since(&first.machine),
            busiest_other: self.others.busiest_since(&first.others, seconds, &ours),
            ..Report::default()
        };
        report.attribute_rest(Machine::processors());
        report
    }
}
