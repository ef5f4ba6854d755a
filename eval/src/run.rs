//! One measurement of one server: join, settle, measure, drain, leave.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

use crate::clock;
use crate::measure::{Machine, MachineSample, ProcessSample, SocketDrops, process};
use crate::media::{PublishPlan, Totals};
use crate::net::{self, Inbox};
use crate::peer::{Identity, Joining, Mode, Participant, ParticipantError, Plan, Server, SignalError, TransportError};
use crate::report::{Cost, Latency, Report};
use crate::scenario::Scenario;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the report calls the server.
    pub target: String,
    /// The server.
    pub server: Server,
    /// The server's process, if its cost is to be measured.
    pub server_pid: Option<u32>,
    /// Who joins.
    pub scenario: Scenario,
    /// What publishers send.
    pub publish: PublishPlan,
    /// The protocol's form.
    pub mode: Mode,
    /// Whether clients take the DTLS client's part where they may choose.
    pub dtls_client: bool,
    /// The measured window.
    pub window: Duration,
}

/// Why there is no measurement.
#[derive(Debug)]
pub enum RunError {
    /// The server could not be found.
    Server(SignalError),
    /// A participant was lost: its number, and why.
    Participant(u32, ParticipantError),
    /// Not everybody heard everybody in time: those who did not.
    NotReady(String),
    /// The machine refused a resource.
    Machine(std::io::Error),
    /// A certificate could not be made.
    Identity(TransportError),
    /// The scenario makes no sense.
    Scenario(String),
    /// There is no process with the server's number.
    NoProcess(u32),
}

/// Participants that may be connecting at the same time.
const CONNECTING_MAX: usize = 8;
/// The next one joins after this, even if so many still connect.
const JOIN_PATIENCE: Duration = Duration::from_millis(250);
/// When joining counts as failed.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Between the last join and the window: key frames and rate estimates calm down.
const SETTLE: Duration = Duration::from_secs(3);
/// Behind the window: what is under way or being repaired may still arrive.
const DRAIN: Duration = Duration::from_millis(1200);
/// How often timers are looked at.
const TICK: Duration = Duration::from_millis(10);

/// Measures once.
pub fn run(settings: &Settings) -> Result<Report, RunError> {
    let before = settings
        .server_pid
        .map(|pid| process(pid).ok_or(RunError::NoProcess(pid)))
        .transpose()?;
    let mut world = World::new(settings)?;
    let join = world.join_all(settings)?;
    world.turn_until(clock::now() + SETTLE)?;
    let start = Sample::take(settings);
    world.begin_window();
    world.turn_until(clock::now() + settings.window)?;
    world.end_window();
    let end = Sample::take(settings);
    world.turn_until(clock::now() + DRAIN)?;
    let drops_at_end = SocketDrops::sample();
    let report = world.report(settings, &join, &start, &end, &drops_at_end, before);
    world.leave();
    Ok(report)
}

/// The clients and what they wait on.
struct World {
    epoll: Epoll,
    identity: Arc<Identity>,
    local_ip: IpAddr,
    participants: Vec<Participant>,
    inbox: Inbox,
    totals: Totals,
    tick_at: Instant,
    window: Window,
}

/// The numbers of each source's packets at both ends of the window.
#[derive(Default)]
struct Window {
    starts: Vec<u64>,
    ends: Vec<u64>,
    octets: [u64; 2],
    late: [u64; 2],
}

struct Joined {
    all: Duration,
    median: Duration,
}

/// The machine at one instant.
struct Sample {
    at: Instant,
    machine: MachineSample,
    server: Option<ProcessSample>,
    generator: ProcessSample,
    drops: SocketDrops,
}

impl Sample {
    fn take(settings: &Settings) -> Self {
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
    fn new(settings: &Settings) -> Result<Self, RunError> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| RunError::Machine(error.into()))?,
            identity: Arc::new(Identity::new().map_err(RunError::Identity)?),
            local_ip: net::local_ip_towards(settings.server.address()).map_err(RunError::Machine)?,
            participants: Vec::new(),
            inbox: Inbox::default(),
            totals: Totals::default(),
            tick_at: clock::now(),
            window: Window::default(),
        })
    }

    /// Joins everybody, a few at a time, and waits until everybody hears whom they should.
    fn join_all(&mut self, settings: &Settings) -> Result<Joined, RunError> {
        let began = clock::now();
        // Rooms of an earlier run may still be closing.
        let run = format!("{:x}", clock::wall_ns() & 0xffff_ffff_ffff);
        let plans = settings
            .scenario
            .plans(&run, settings.publish, settings.mode, settings.dtls_client);
        for plan in plans {
            let waited = clock::now();
            while self.connecting() >= CONNECTING_MAX && waited.elapsed() < JOIN_PATIENCE {
                self.turn(clock::now() + TICK)?;
            }
            self.join(plan, settings)?;
            self.turn(clock::now())?;
        }
        while self
            .participants
            .iter()
            .any(|participant| participant.ready_after().is_none())
        {
            if began.elapsed() > JOIN_TIMEOUT {
                return Err(RunError::NotReady(self.describe_unready()));
            }
            self.turn(clock::now() + TICK)?;
        }
        let mut times: Vec<Duration> = self.participants.iter().filter_map(Participant::ready_after).collect();
        times.sort_unstable();
        Ok(Joined {
            all: began.elapsed(),
            median: times[times.len() / 2],
        })
    }

    fn join(&mut self, plan: Plan, settings: &Settings) -> Result<(), RunError> {
        let number = plan.number;
        let joining = Joining {
            server: &settings.server,
            identity: &self.identity,
            local_ip: self.local_ip,
            epoll: &self.epoll,
        };
        let participant =
            Participant::join(plan, &joining, clock::now()).map_err(|error| RunError::Participant(number, error))?;
        self.participants.push(participant);
        Ok(())
    }

    fn connecting(&self) -> usize {
        let connecting = |it: &&Participant| !it.is_publishing() || it.transports().all(|t| t.profile().is_none());
        self.participants.iter().filter(connecting).count()
    }

    fn describe_unready(&self) -> String {
        let unready: Vec<&Participant> = self
            .participants
            .iter()
            .filter(|it| it.ready_after().is_none())
            .collect();
        let connected = |it: &&&Participant| it.transports().any(|transport| transport.profile().is_some());
        let unheard: usize = unready
            .iter()
            .map(|it| it.meter().sources().filter(|(_, tally)| tally.is_empty()).count())
            .sum();
        format!(
            "{} of {} participants not ready: {} have no media transport, {} are not publishing, {unheard} sources are not heard",
            unready.len(),
            self.participants.len(),
            unready.len() - unready.iter().filter(connected).count(),
            unready.iter().filter(|it| !it.is_publishing()).count(),
        )
    }

    fn turn_until(&mut self, deadline: Instant) -> Result<(), RunError> {
        while clock::now() < deadline {
            self.turn(deadline)?;
        }
        Ok(())
    }

    /// Waits for sockets or the next deadline, no longer than until `deadline`, and serves what there is.
    fn turn(&mut self, deadline: Instant) -> Result<(), RunError> {
        let due = self.participants.iter().filter_map(Participant::media_due).min();
        let wake = due
            .into_iter()
            .chain([self.tick_at, deadline])
            .min()
            .unwrap_or(deadline);
        let wait = wake.saturating_duration_since(clock::now());
        let timeout = EpollTimeout::from(wait.as_micros().div_ceil(1000).min(1000) as u16);
        let mut events = [EpollEvent::empty(); 64];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(RunError::Machine(error.into())),
        };
        let now = clock::now();
        for event in &events[..count] {
            self.serve(now, event.data())?;
        }
        self.send_media();
        if clock::now() >= self.tick_at {
            self.tick()?;
        }
        Ok(())
    }

    fn serve(&mut self, now: Instant, token: u64) -> Result<(), RunError> {
        let (number, which) = (
            (token / Participant::SOCKETS) as usize,
            (token % Participant::SOCKETS) as usize,
        );
        let Some(participant) = self.participants.get_mut(number) else {
            return Ok(());
        };
        let outcome = match which {
            0 => participant.handle_signal(now, &self.epoll),
            media => participant.handle_media(now, media - 1, &mut self.inbox, &mut self.totals),
        };
        outcome.map_err(|error| RunError::Participant(number as u32, error))
    }

    fn send_media(&mut self) {
        let now = clock::now();
        for participant in &mut self.participants {
            if participant.media_due().is_some_and(|due| due <= now) {
                participant.send_media(now);
            }
        }
    }

    fn tick(&mut self) -> Result<(), RunError> {
        let now = clock::now();
        self.tick_at = now + TICK;
        for participant in &mut self.participants {
            let number = participant.plan().number;
            participant
                .handle_timeout(now)
                .map_err(|error| RunError::Participant(number, error))?;
        }
        Ok(())
    }

    /// The next packet number of each source.
    fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![0; 2 * self.participants.len()];
        for participant in &self.participants {
            for (stream, _) in participant.publisher().streams() {
                numbers[stream.source() as usize] = stream.next_number();
            }
        }
        numbers
    }

    fn octets_and_late(&self) -> (u64, u64) {
        let publishers = self.participants.iter().map(Participant::publisher);
        publishers.fold((0, 0), |(octets, late), publisher| {
            let sent: u64 = publisher.streams().map(|(stream, _)| stream.octets()).sum();
            (octets + sent, late + publisher.late() + publisher.unsent())
        })
    }

    fn begin_window(&mut self) {
        self.window.starts = self.numbers();
        (self.window.octets[0], self.window.late[0]) = self.octets_and_late();
        self.totals.begin_window(self.window.starts.clone());
        self.participants
            .iter_mut()
            .for_each(|participant| participant.meter_mut().begin_window());
    }

    fn end_window(&mut self) {
        self.window.ends = self.numbers();
        (self.window.octets[1], self.window.late[1]) = self.octets_and_late();
        self.totals.end_window(self.window.ends.clone());
    }

    fn leave(&mut self) {
        self.participants.iter_mut().for_each(Participant::leave);
    }

    fn report(
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
            negotiated: self.negotiated(settings.mode),
            participants: settings.scenario.participants(),
            seconds,
            join_seconds: join.all.as_secs_f64(),
            join_median_seconds: join.median.as_secs_f64(),
            offered_bits_per_second: (self.window.octets[1] - self.window.octets[0]) as f64 * 8.0 / seconds,
            late_frames: self.window.late[1] - self.window.late[0],
            latency: Latency::of(&self.totals.latency),
            foreign: self.totals.foreign,
            damaged: self.totals.damaged,
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
                report.count(tally, sent(source as usize));
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

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server(error) => write!(f, "{error}"),
            Self::Participant(number, error) => write!(f, "participant {number}: {error}"),
            Self::NotReady(who) => write!(f, "joining took too long: {who}"),
            Self::Machine(error) => write!(f, "this machine refused: {error}"),
            Self::Identity(error) => write!(f, "no certificate could be made: {error}"),
            Self::Scenario(text) => write!(f, "{text}"),
            Self::NoProcess(pid) => write!(f, "there is no process {pid}"),
        }
    }
}

impl std::error::Error for RunError {}
