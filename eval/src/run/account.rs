//! Turns counts into a report.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::changes::Changed;
use super::world::World;
use super::{Settings, Window};
use crate::client::{Mode, Participant, Purpose};
use crate::clock;
use crate::measure::{Datagrams, Machine, MachineSample, ProcessSample, Processes, SocketDrops, process};
use crate::report::{Changes, Cost, Joining, Latency, Quality, Report, Signalling, Spread};

/// The machine at one instant.
pub(crate) struct Sample {
    at: Instant,
    machine: MachineSample,
    server: Option<ProcessSample>,
    /// Datagrams of the server's network namespace.
    datagrams: Option<Datagrams>,
    generator: ProcessSample,
    drops: Drops,
    others: Processes,
}

/// Datagrams dropped at full sockets, on both sides; they may be in two network namespaces.
pub(crate) struct Drops {
    clients: SocketDrops,
    server: SocketDrops,
}

impl Drops {
    /// Counts them now.
    pub(crate) fn sample(settings: &Settings) -> Self {
        Self {
            clients: SocketDrops::sample(),
            server: settings
                .server_pid
                .map_or_else(SocketDrops::sample, SocketDrops::sample_of),
        }
    }
}

impl Sample {
    /// Takes it now.
    pub(crate) fn take(settings: &Settings) -> Self {
        Self::begin(settings).finish(settings)
    }

    /// Takes the measurements that need milliseconds, in which clients are not served;
    /// [`finish`](Self::finish) takes the rest.
    pub(crate) fn begin(settings: &Settings) -> Self {
        Self {
            others: Processes::sample(),
            drops: Drops::sample(settings),
            at: clock::now(),
            machine: Machine::sample(),
            server: None,
            datagrams: None,
            generator: ProcessSample::default(),
        }
    }

    /// Takes the rest.
    pub(crate) fn finish(self, settings: &Settings) -> Self {
        Self {
            at: clock::now(),
            machine: Machine::sample(),
            server: settings.server_pid.and_then(process),
            datagrams: settings.server_pid.map(Datagrams::sample_of),
            generator: process(std::process::id()).unwrap_or_default(),
            ..self
        }
    }

    fn server_cpu_since(&self, earlier: &Self) -> Duration {
        match (self.server, earlier.server) {
            (Some(last), Some(first)) => last.cpu.saturating_sub(first.cpu),
            _ => Duration::ZERO,
        }
    }

    fn server_sleeps_since(&self, earlier: &Self) -> u64 {
        let sleeps = |sample: &Self| sample.server.map_or(0, |server| server.sleeps);
        sleeps(self).saturating_sub(sleeps(earlier))
    }

    fn read_by_server_since(&self, earlier: &Self) -> u64 {
        let both = self.datagrams.zip(earlier.datagrams);
        both.map_or(0, |(last, first)| last.since(&first).read)
    }

    fn generator_cpu_since(&self, earlier: &Self) -> Duration {
        self.generator.cpu.saturating_sub(earlier.generator.cpu)
    }
}

/// Durations of joining.
pub(crate) struct Joined {
    /// From the first connection until everybody heard everybody.
    pub all: Duration,
    /// From the first that began to the last that did.
    pub beginning: Duration,
    /// The machine before the first connection, and when everybody heard everybody.
    pub samples: [Sample; 2],
    /// Packets that had arrived by then.
    pub replicas: u64,
}

/// The processes that are meant to be busy.
fn ours(settings: &Settings) -> Vec<u32> {
    settings.server_pid.into_iter().chain([std::process::id()]).collect()
}

impl World {
    /// The report of a run that is over.
    pub(super) fn report(
        &self,
        settings: &Settings,
        joined: &Joined,
        window: &Window,
        changed: Option<&Changed>,
    ) -> Report {
        let [start, end] = &window.samples;
        let seconds = end.at.duration_since(start.at).as_secs_f64();
        let plans = self.participants.iter().map(Participant::plan);
        let mut report = Report {
            target: settings.target.clone(),
            scenario: settings.scenario.to_string(),
            negotiated: self.negotiated(settings.behaviour.mode),
            participants: settings.scenario.participants(),
            subscriptions: plans.map(|plan| plan.subscriptions() as u64).sum(),
            seconds,
            joining: Some(self.joining(joined)),
            signalling: Some(self.signalling(window, seconds, changed)),
            offered_bits_per_second: (self.window.octets[1] - self.window.octets[0]) as f64 * 8.0 / seconds,
            late_frames: self.window.late[1] - self.window.late[0],
            latency: Latency::of(&self.totals.latency),
            first_room: Quality::of(&self.window.shown, seconds),
            to_last: Latency::of(&self.totals.to_last()),
            foreign: self.totals.foreign,
            damaged: self.totals.damaged,
            packets_opened: [self.totals.opened, self.totals.packets],
            impairment: settings.behaviour.impairment,
            received_bits_per_second: self.totals.bytes as f64 * 8.0 / seconds / self.receivers() as f64,
            idle_share: end.machine.idle_share_since(&start.machine),
            stolen_share: end.machine.stolen_share_since(&start.machine),
            busiest_other: end.others.busiest_since(&start.others, seconds, &ours(settings)),
            ..Report::default()
        };
        self.count_packets(&mut report);
        self.count_drops(&mut report, &start.drops, &window.drops);
        let replicas = report.replicas_received;
        report.generator = Cost::of(end.generator_cpu_since(start), seconds, replicas);
        if let (Some(before), Some(last)) = (joined.samples[0].server, end.server) {
            let cost = Cost::of(end.server_cpu_since(start), seconds, replicas);
            let grown = (before.resident_bytes, last.resident_bytes);
            report.server = Some(cost.with_memory(grown.0, grown.1, report.participants, report.subscriptions));
            report.server_sleeps = end.server_sleeps_since(start);
            report.read_by_server = end.read_by_server_since(start);
            let media_ms = cost.cpu_us_per_replica * joined.replicas as f64 / 1e3;
            let joins = self.participants.len() as f64;
            report.joining.iter_mut().for_each(|it| it.take_media(media_ms / joins));
        }
        report.attribute_rest(Machine::processors());
        report
    }

    fn receivers(&self) -> usize {
        let receiving = |it: &&Participant| !it.plan().hears.is_empty();
        self.participants.iter().filter(receiving).count().max(1)
    }

    fn joining(&self, joined: &Joined) -> Joining {
        let milestones = || self.participants.iter().map(Participant::milestones);
        let [before, after] = &joined.samples;
        let (server, generator) = (after.server_cpu_since(before), after.generator_cpu_since(before));
        let (joins, seconds) = (self.participants.len() as f64, joined.all.as_secs_f64());
        let per_second = |time: Duration| (joins - 1.0) / time.as_secs_f64().max(1e-3);
        Joining {
            seconds,
            begun_per_second: per_second(joined.beginning),
            per_second: per_second(self.letting_in()),
            joined: Spread::of(milestones().map(|it| it.joined)),
            connected: Spread::of(milestones().map(|it| it.connected)),
            first_media: Spread::of(milestones().map(|it| it.first_media)),
            complete: Spread::of(milestones().map(|it| it.complete)),
            decodable: Spread::of(milestones().map(|it| it.decodable)),
            server_cpu_ms: server.as_secs_f64() * 1e3 / joins,
            join_cpu_ms: 0.0,
            cores: [server, generator].map(|cpu| cpu.as_secs_f64() / seconds),
        }
    }

    /// From the first participant that the server admitted to the last.
    fn letting_in(&self) -> Duration {
        let first = self.participants.iter().filter_map(Participant::joined_at).min();
        let last = self.participants.iter().filter_map(Participant::joined_at).max();
        first
            .zip(last)
            .map_or(Duration::ZERO, |(first, last)| last.duration_since(first))
    }

    /// Messages up to the window count as joining, because servers may collect updates for a
    /// moment.
    fn signalling(&self, window: &Window, seconds: f64, changed: Option<&Changed>) -> Signalling {
        let clients = self.participants.len() as f64;
        let [joining, until_end] = window.traffic;
        let within = until_end - joining;
        let per_join = |purpose| joining.of(purpose).bytes as f64 / clients;
        let last = self.participants.last().map(Participant::traffic);
        Signalling {
            join_bytes: per_join(Purpose::Join),
            participants_bytes: per_join(Purpose::Participants),
            participants_messages: joining.of(Purpose::Participants).messages as f64 / clients,
            negotiation_bytes: per_join(Purpose::Negotiation),
            other_bytes: per_join(Purpose::Speakers) + per_join(Purpose::Other),
            last_join_bytes: last.map_or(0, |traffic| traffic.of(Purpose::Join).bytes),
            window_bytes: [within.of(Purpose::Speakers), within.total()].map(|it| it.bytes as f64 / clients / seconds),
            changes: changed.map(|changed| {
                let each = |count: u64| count as f64 / f64::from(changed.changes);
                Changes {
                    mute_bytes: each(changed.mutes.bytes),
                    mute_messages: each(changed.mutes.messages),
                    leave_bytes: each(changed.leaves.bytes),
                    leave_messages: each(changed.leaves.messages),
                }
            }),
        }
    }

    fn count_packets(&self, report: &mut Report) {
        let sent = |source: usize| self.window.starts[source]..self.window.ends[source];
        report.packets_sent = (0..self.window.starts.len())
            .map(|source| sent(source).count() as u64)
            .sum();
        for participant in &self.participants {
            report.given_up += participant.given_up();
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

    fn count_drops(&self, report: &mut Report, start: &Drops, end: &Drops) {
        let transports = || self.participants.iter().flat_map(Participant::transports);
        let ours: BTreeSet<u16> = transports().map(|transport| transport.local_port()).collect();
        let theirs: BTreeSet<u16> = transports()
            .filter_map(|transport| Some(transport.remote()?.port()))
            .collect();
        let at = |drops: &SocketDrops, ports: &BTreeSet<u16>| drops.at(|port| ports.contains(&port));
        report.dropped_at_clients = at(&end.clients, &ours).saturating_sub(at(&start.clients, &ours));
        report.dropped_at_server = at(&end.server, &theirs).saturating_sub(at(&start.server, &theirs));
    }

    fn negotiated(&self, mode: Mode) -> String {
        let profiles: BTreeSet<&str> = self
            .participants
            .iter()
            .flat_map(Participant::transports)
            .filter_map(|transport| Some(transport.profile()?.name()))
            .collect();
        let path = match mode {
            Mode::V0 => "/rtc",
            Mode::V1 => "/rtc/v1",
            Mode::Janus => "VideoRoom",
        };
        format!("{path}, {}", profiles.into_iter().collect::<Vec<_>>().join(" + "))
    }
}
