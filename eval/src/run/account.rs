//! From what was counted to a report.

use std::collections::BTreeSet;
use std::time::Instant;

use super::Settings;
use super::world::{Joined, World};
use crate::clock;
use crate::measure::{Machine, MachineSample, ProcessSample, SocketDrops, process};
use crate::peer::{Mode, Participant};
use crate::report::{Cost, Latency, Report};

/// The machine at one instant.
pub struct Sample {
    at: Instant,
    machine: MachineSample,
    server: Option<ProcessSample>,
    generator: ProcessSample,
    drops: SocketDrops,
}

impl Sample {
    /// Takes it now.
    pub fn take(settings: &Settings) -> Self {
        Self {
            at: clock::now(),
            machine: Machine::sample(),
            server: settings.server_pid.and_then(process),
            generator: process(std::process::id()).unwrap_or_default(),
            drops: SocketDrops::sample(),
        }
    }
}

impl World {
    /// The report of a run that is over.
    pub fn report(
        &self,
        settings: &Settings,
        join: &Joined,
        start: &Sample,
        end: &Sample,
        drops_at_end: &SocketDrops,
        before: Option<ProcessSample>,
    ) -> Report {
        let seconds = end.at.duration_since(start.at).as_secs_f64();
        let mut report = Report {
            target: settings.target.clone(),
            scenario: settings.scenario.to_string(),
            negotiated: self.negotiated(settings.behaviour.mode),
            participants: settings.scenario.participants(),
            seconds,
            join_seconds: join.all.as_secs_f64(),
            join_median_seconds: join.median.as_secs_f64(),
            offered_bits_per_second: (self.window.octets[1] - self.window.octets[0]) as f64 * 8.0 / seconds,
            late_frames: self.window.late[1] - self.window.late[0],
            latency: Latency::of(&self.totals.latency),
            foreign: self.totals.foreign,
            damaged: self.totals.damaged,
            impairment: [settings.behaviour.impairment.up, settings.behaviour.impairment.down],
            idle_share: end.machine.idle_share_since(&start.machine),
            ..Report::default()
        };
        self.count_packets(&mut report);
        self.count_drops(&mut report, &start.drops, drops_at_end);
        let replicas = report.replicas_received;
        report.generator = Cost::of(end.generator.cpu.saturating_sub(start.generator.cpu), seconds, replicas);
        if let (Some(before), Some(first), Some(last)) = (before, start.server, end.server) {
            let cost = Cost::of(last.cpu.saturating_sub(first.cpu), seconds, replicas);
            let participants = report.participants;
            report.server = Some(cost.with_memory(before.resident_bytes, last.resident_bytes, participants));
        }
        report.attribute_rest(Machine::processors());
        report
    }

    fn count_packets(&self, report: &mut Report) {
        let sent = |source: usize| self.window.starts[source]..self.window.ends[source];
        report.packets_sent = (0..self.window.starts.len())
            .map(|source| sent(source).count() as u64)
            .sum();
        for participant in &self.participants {
            for (source, tally) in participant.meter().sources() {
                report.count(source, tally, sent(source as usize));
            }
            for counts in participant.feedback() {
                report.asked[0] += counts.asked;
                report.asked[1] += counts.asked_by_server;
                report.key_frames_asked[0] += counts.key_frames_asked;
                report.key_frames_asked[1] += counts.key_frames_asked_by_server;
            }
        }
    }

    fn count_drops(&self, report: &mut Report, start: &SocketDrops, end: &SocketDrops) {
        let transports = || self.participants.iter().flat_map(Participant::transports);
        let ours: BTreeSet<u16> = transports().map(|transport| transport.local_port()).collect();
        let theirs: BTreeSet<u16> = transports()
            .filter_map(|transport| Some(transport.remote()?.port()))
            .collect();
        let between = |ports: &BTreeSet<u16>| {
            end.at(|port| ports.contains(&port))
                .saturating_sub(start.at(|port| ports.contains(&port)))
        };
        (report.dropped_at_clients, report.dropped_at_server) = (between(&ours), between(&theirs));
    }

    fn negotiated(&self, mode: Mode) -> String {
        let profiles: BTreeSet<&str> = self
            .participants
            .iter()
            .flat_map(Participant::transports)
            .filter_map(|transport| Some(transport.profile()?.name()))
            .collect();
        let path = if mode == Mode::V0 { "/rtc" } else { "/rtc/v1" };
        format!("{path}, {}", profiles.into_iter().collect::<Vec<_>>().join(" + "))
    }
}
