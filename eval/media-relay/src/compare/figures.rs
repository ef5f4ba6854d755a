//! The figures of a relay, relative to the cable alone.

use crate::outcome::Outcome;
use crate::scene::Load;

use super::subprocess::JobResult;
use super::targets::DIRECT;

/// One measurement and where it belongs.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The relay, or the cable.
    pub relay: String,
    /// The round, from 1.
    pub round: u32,
    /// Under which load.
    pub load: Load,
    /// The result.
    pub found: JobResult,
}

/// A measurement beside that of the cable under the same load in the same round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures<'a> {
    /// The outcome.
    pub outcome: &'a Outcome,
    cable: Option<&'a Outcome>,
}

/// Processors that another process may keep busy.
const COMPANY_MAX: f64 = 0.1;
/// The least share of the machine that has to be idle.
const IDLE_MIN: f64 = 0.1;
/// The most that the host may take.
const STOLEN_MAX: f64 = 0.02;
/// Late packets of a thousand that are tolerated.
const LATE_PER_THOUSAND: u64 = 10;

impl<'a> Figures<'a> {
    /// Of one measurement among all; `None` if it failed.
    pub(crate) fn of(measured: &'a Measured, all: &'a [Measured]) -> Option<Self> {
        let same =
            |it: &&Measured| it.relay == DIRECT && it.round == measured.round && it.load.calls == measured.load.calls;
        let cable = all.iter().find(same).and_then(|it| it.found.as_ref().ok());
        Some(Self {
            outcome: measured.found.as_ref().ok()?,
            cable,
        })
    }

    /// Microseconds of the whole machine for each packet that arrived, less those of the cable
    /// alone: interrupts and kernel threads are included, but also other processes.
    pub(crate) fn machine_us(&self) -> Option<f64> {
        let cores = self.outcome.machine.busy_cores - self.cable?.machine.busy_cores;
        Some(self.per_packet(cores * self.outcome.seconds * 1e6))
    }

    /// Processors kept busy by relaying: by the relay, the generator and the kernel's threads for
    /// interrupts, less those of the latter two with the cable alone.
    ///
    /// The cost of a packet is charged to any process that happens to run. So these three together
    /// are the cost of relaying, under any other load.
    pub(crate) fn work_cores(&self) -> Option<f64> {
        let work = |outcome: &Outcome| {
            let machine = &outcome.machine;
            machine.relay_cores.unwrap_or(0.0) + machine.phones_cores + machine.kernel_cores
        };
        Some(work(self.outcome) - work(self.cable?))
    }

    /// Microseconds of the same for each packet that arrived.
    pub(crate) fn work_us(&self) -> Option<f64> {
        Some(self.per_packet(self.work_cores()? * self.outcome.seconds * 1e6))
    }

    /// Instructions of these three for each packet, likewise.
    pub(crate) fn instructions(&self) -> Option<f64> {
        let alone = self.cable?.machine.instructions?;
        Some(self.per_packet(self.outcome.machine.instructions? as f64 - alone as f64))
    }

    /// Microseconds of the relay's process for each packet that arrived.
    pub(crate) fn process_us(&self) -> Option<f64> {
        Some(self.per_packet(self.outcome.machine.relay_cores? * self.outcome.seconds * 1e6))
    }

    /// Microseconds for each packet that arrived of the relaying parts: the relay's process, and
    /// the thread of its interface.
    pub(crate) fn relaying_us(&self) -> Option<f64> {
        let machine = &self.outcome.machine;
        let cores = machine.relay_cores? + machine.poller_cores?;
        Some(self.per_packet(cores * self.outcome.seconds * 1e6))
    }

    /// How much later a share of all packets arrive than over the cable alone, in microseconds.
    pub(crate) fn added_us(&self, share: f64) -> Option<f64> {
        Some(self.outcome.delay.at(share)? - self.cable?.delay.at(share)?)
    }

    /// Packets lost, in percent.
    pub(crate) fn loss(&self) -> f64 {
        let packets = &self.outcome.packets;
        packets.lost() as f64 * 100.0 / packets.sent.max(1) as f64
    }

    /// Why the run is not to be trusted.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let (machine, packets) = (&self.outcome.machine, &self.outcome.packets);
        let mut doubts = Vec::new();
        let mut doubt = |holds: bool, text: String| doubts.extend(holds.then_some(text));
        if let Some(other) = &machine.busiest_other {
            doubt(
                other.cores > COMPANY_MAX,
                format!("{} used {:.2} cores", other.name, other.cores),
            );
        }
        doubt(
            machine.idle_share < IDLE_MIN,
            format!("{:.0} % idle", machine.idle_share * 100.0),
        );
        doubt(
            machine.stolen_share > STOLEN_MAX,
            format!("{:.0} % stolen by the host", machine.stolen_share * 100.0),
        );
        doubt(
            packets.late * 1000 > packets.sent * LATE_PER_THOUSAND,
            format!("{} packets left late", packets.late),
        );
        doubt(
            packets.missed > 0,
            format!("{} packets missed by the generator", packets.missed),
        );
        doubt(packets.foreign > 0, format!("{} packets went astray", packets.foreign));
        let missing = self.outcome.calls - self.outcome.established;
        doubt(missing > 0, format!("{missing} calls did not come about"));
        doubts
    }

    fn per_packet(&self, whole: f64) -> f64 {
        whole / self.outcome.packets.received.max(1) as f64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outcome::{Distribution, Machine, Packets, SHARES};

    /// Ten seconds, a hundred thousand packets with this delay in microseconds.
    pub(crate) fn measured(relay: &str, round: u32, calls: u32, busy_cores: f64, delay: f64) -> Measured {
        let outcome = Outcome {
            calls,
            established: calls,
            seconds: 10.0,
            packets: Packets {
                sent: 100_000,
                received: 100_000,
                ..Packets::default()
            },
            delay: Distribution(vec![delay; SHARES.len()]),
            variation: Distribution(vec![1.0; SHARES.len()]),
            loss: Distribution(vec![0.0; SHARES.len()]),
            score: Distribution(vec![4.4; SHARES.len()]),
            machine: Machine {
                busy_cores,
                idle_share: 0.5,
                relay_cores: (relay != DIRECT).then_some(busy_cores / 2.0),
                instructions: Some((busy_cores * 1e10) as u64),
                ..Machine::default()
            },
            ..Outcome::default()
        };
        Measured {
            relay: relay.into(),
            round,
            load: load(calls),
            found: Ok(outcome),
        }
    }

    fn load(calls: u32) -> Load {
        Load {
            calls,
            per_second: 100,
            settle: Some(Duration::from_secs(1)),
            window: Duration::from_secs(10),
            timeline: false,
        }
    }

    #[test]
    fn costs_are_relative_to_the_cable() {
        let all = [
            measured(DIRECT, 1, 200, 0.2, 10.0),
            measured("one", 1, 200, 0.5, 60.0),
            measured(DIRECT, 2, 200, 0.3, 20.0),
            measured("one", 2, 200, 0.5, 60.0),
        ];
        let of = |place: usize| Figures::of(&all[place], &all).expect("measured");
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-6);
        assert!(near(of(1).machine_us(), 30.0) && near(of(3).machine_us(), 20.0));
        assert!(near(of(1).added_us(0.99), 50.0) && near(of(3).added_us(0.99), 40.0));
        assert!(near(of(1).process_us(), 25.0) && near(of(1).instructions(), 30_000.0));
        assert!(near(of(1).work_us(), 25.0) && near(of(3).work_us(), 25.0));
        assert!(of(0).process_us().is_none() && of(1).doubts().is_empty());
    }

    #[test]
    fn doubtful_runs_are_marked() {
        let mut run = measured("one", 1, 200, 0.5, 60.0);
        if let Ok(outcome) = &mut run.found {
            outcome.machine.idle_share = 0.05;
            outcome.packets.missed = 3;
            outcome.established = 190;
        }
        let all = [run];
        let figures = Figures::of(&all[0], &all).expect("measured");
        assert_eq!(
            figures.doubts(),
            [
                "5 % idle",
                "3 packets missed by the generator",
                "10 calls did not come about"
            ]
        );
        assert_eq!(figures.machine_us(), None);
    }
}
