//! The figures of one run for one server.

use crate::report::Report;

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Replicas a second that receivers were to get.
    pub offered: f64,
    /// Replicas that never arrived, including those left out for receivers that seemed too slow.
    pub lost: u64,
    /// Replicas that were left out.
    pub withheld: u64,
    /// Microseconds of the server's process for each replica that arrived.
    pub process_us: f64,
    /// Microseconds of the whole machine, less the generator-only run of the same round.
    pub machine_us: Option<f64>,
    /// Microseconds of the whole machine, less the generator's in this run.
    pub rest_us: f64,
    /// Datagrams that the server read for each replica that arrived.
    pub read: f64,
    /// Times that the server's threads went to sleep for each replica that arrived.
    pub sleeps: f64,
    /// Processors that the clients kept busy.
    pub clients: f64,
    /// Latency in microseconds: half of the packets were faster.
    pub p50: f64,
    /// Of a hundred packets, 99.
    pub p99: f64,
    /// Of a thousand, 999.
    pub p999: f64,
    /// Of a hundred packets, 10, 25, 75 and 90.
    pub others: [f64; 4],
    /// Idle share of the machine.
    pub idle: f64,
    /// Why the run is not to be trusted.
    pub doubts: Vec<Doubt>,
}

/// Why a run is not to be trusted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doubt {
    /// Another process kept this many processors busy.
    Company(String, f64),
    /// Too little of the machine was idle: a starved server processes larger batches and looks
    /// cheap.
    Starved(f64),
    /// The host gave this share of the machine to others.
    Stolen(f64),
    /// The generator sent this many frames late.
    Late(u64),
    /// This many datagrams overflowed the clients' own buffers.
    Deaf(u64),
}

/// Processors that another process may keep busy.
const COMPANY_MAX: f64 = 0.1;
/// The least share of the machine that has to be idle.
const IDLE_MIN: f64 = 0.1;
/// The most that the host may take.
const STOLEN_MAX: f64 = 0.02;
/// Late frames of a thousand that are tolerated.
const LATE_PER_THOUSAND: u64 = 10;

impl Figures {
    /// Of a report, beside the generator-only run of the same round.
    pub(crate) fn of(report: &Report, generator_only: Option<&Report>) -> Self {
        let replicas = report.replicas_received.max(1) as f64;
        let per_replica = |cores: f64| cores * report.seconds * 1e6 / replicas;
        // The machine's time beside the ideal server is the cost of the generator.
        let generator = generator_only.map(|alone| alone.busy_cores - server_cores(alone));
        Self {
            offered: report.replicas_expected as f64 / report.seconds.max(1e-9),
            lost: report.lost,
            withheld: report.withheld(),
            process_us: per_replica(server_cores(report)),
            machine_us: generator.map(|generator| per_replica(report.busy_cores - generator)),
            rest_us: per_replica(report.busy_cores - report.generator.cores),
            read: report.read_by_server as f64 / replicas,
            sleeps: report.server_sleeps as f64 / replicas,
            clients: report.generator.cores,
            p50: report.latency.p50,
            p99: report.latency.p99,
            p999: report.latency.p999,
            others: report.latency.others,
            idle: report.idle_share,
            doubts: doubts(report),
        }
    }
}

fn server_cores(report: &Report) -> f64 {
    report.server.map_or(0.0, |server| server.cores)
}

/// Doubts about a run in which neither side has a processor of its own.
fn doubts(report: &Report) -> Vec<Doubt> {
    let starved = (report.idle_share < IDLE_MIN).then_some(Doubt::Starved(report.idle_share));
    strangers(report).into_iter().chain(starved).collect()
}

/// Doubts about any run: load that belongs neither to the server nor to the generator.
pub(crate) fn strangers(report: &Report) -> Vec<Doubt> {
    let other = report.busiest_other.as_ref().filter(|other| other.cores > COMPANY_MAX);
    let late = report.late_frames * 1000 > report.packets_sent * LATE_PER_THOUSAND;
    [
        other.map(|other| Doubt::Company(other.name.clone(), other.cores)),
        (report.stolen_share > STOLEN_MAX).then_some(Doubt::Stolen(report.stolen_share)),
        late.then_some(Doubt::Late(report.late_frames)),
        (report.dropped_at_clients > 0).then_some(Doubt::Deaf(report.dropped_at_clients)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Company(name, cores) => write!(f, "{name} used {cores:.2} cores"),
            Self::Starved(idle) => write!(f, "{:.0} % idle", idle * 100.0),
            Self::Stolen(share) => write!(f, "{:.0} % stolen by the host", share * 100.0),
            Self::Late(frames) => write!(f, "{frames} frames left late"),
            Self::Deaf(packets) => write!(f, "{packets} packets dropped at the clients"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::Busiest;
    use crate::report::Cost;

    /// Ten seconds, a million replicas.
    fn report(server_cores: f64, generator_cores: f64, busy_cores: f64) -> Report {
        let cost = |cores: f64| Cost::of(Duration::from_secs_f64(10.0 * cores), 10.0, 1_000_000);
        Report {
            seconds: 10.0,
            packets_sent: 20_000,
            replicas_expected: 1_000_000,
            replicas_received: 1_000_000,
            server: Some(cost(server_cores)),
            generator: cost(generator_cores),
            busy_cores,
            idle_share: 0.5,
            ..Report::default()
        }
    }

    #[test]
    fn costs_are_shared_by_replicas() {
        // The ideal server took 0.1 of 0.4 busy processors: the generator costs 0.3.
        let figures = Figures::of(&report(0.5, 0.35, 0.9), Some(&report(0.1, 0.25, 0.4)));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(figures.process_us, 5.0) && near(figures.offered, 100_000.0));
        assert!(near(figures.machine_us.expect("beside a generator-only run"), 6.0));
        assert!(near(figures.rest_us, 5.5));
        assert_eq!(figures.doubts, []);
        assert_eq!(Figures::of(&report(0.5, 0.35, 0.9), None).machine_us, None);
    }

    #[test]
    fn the_cost_of_the_floor_is_that_of_its_process() {
        let floor = report(0.1, 0.25, 0.4);
        let figures = Figures::of(&floor, Some(&floor));
        assert!((figures.machine_us.expect("itself") - figures.process_us).abs() < 1e-9);
    }

    #[test]
    fn doubtful_runs_are_marked() {
        let busiest_other = Some(Busiest {
            name: "cc".into(),
            cores: 0.4,
        });
        let doubtful = Report {
            idle_share: 0.05,
            stolen_share: 0.1,
            busiest_other,
            late_frames: 500,
            dropped_at_clients: 3,
            ..report(0.1, 0.2, 0.3)
        };
        assert_eq!(
            Figures::of(&doubtful, None).doubts,
            [
                Doubt::Company("cc".into(), 0.4),
                Doubt::Stolen(0.1),
                Doubt::Late(500),
                Doubt::Deaf(3),
                Doubt::Starved(0.05)
            ]
        );
    }
}
