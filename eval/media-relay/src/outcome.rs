//! The results of one measurement, as plain data.

use std::time::Duration;

use harness::{Busiest, Histogram};
use serde::{Deserialize, Serialize};

/// The shares of all values at which curves are drawn: evenly up to the median and beyond, densely
/// at the end, which matters most.
pub const SHARES: [f64; 33] = [
    0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.88,
    0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999, 0.9999, 1.0,
];

/// The values at [`SHARES`]: a distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution(pub Vec<f64>);

impl Distribution {
    /// Of durations, in microseconds.
    pub fn of_durations(histogram: &Histogram) -> Self {
        Self(
            SHARES
                .iter()
                .map(|&share| histogram.quantile(share) as f64 / 1e3)
                .collect(),
        )
    }

    /// Of single values.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (values.len() as f64 * share).ceil() as usize;
            values.get(place.saturating_sub(1)).copied()
        };
        Self(SHARES.iter().filter_map(|&share| at(share)).collect())
    }

    /// The value that a share of all does not exceed; the share has to be one of [`SHARES`].
    pub fn at(&self, share: f64) -> Option<f64> {
        let place = SHARES.iter().position(|&it| it == share)?;
        self.0.get(place).copied()
    }
}

/// One measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Calls that were offered.
    pub calls: u32,
    /// Calls that were established.
    pub established: u32,
    /// Why others did not, each reason once.
    pub failures: Vec<String>,
    /// The durations of call setup.
    pub set_up: SetUp,
    /// The length of the window.
    pub seconds: f64,
    /// Counts of packets that were sent in the window.
    pub packets: Packets,
    /// Delays in microseconds, from just before a packet is sent to the kernel's stamp on its
    /// arrival.
    pub delay: Distribution,
    /// Delay variations in microseconds.
    pub variation: Distribution,
    /// Losses of directions of calls, in percent.
    pub loss: Distribution,
    /// Mean opinion scores of directions of calls.
    pub score: Distribution,
    /// The mean over all directions of interarrival jitter at the end, in microseconds.
    pub jitter: f64,
    /// Load of the machine in the window.
    pub machine: Machine,
    /// RTP packets over the whole life of all calls: by the relay's account, and as they arrived at
    /// phones.
    pub relayed: Option<[u64; 2]>,
    /// The whole measurement, moment by moment.
    pub timeline: Vec<LoadSample>,
}

/// The setup of calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SetUp {
    /// Calls offered in a second.
    pub offered: f64,
    /// Calls answered in a second, from the first offer to the last answer.
    pub answered: f64,
    /// From asking about an offer to the relay's reply to the answer, in microseconds.
    pub both: Distribution,
    /// The offer's part.
    pub offer: Distribution,
    /// The answer's part.
    pub answer: Distribution,
    /// Questions that had to be asked again.
    pub repeats: u64,
    /// Processors that the relay's process kept busy meanwhile.
    pub relay_cores: Option<f64>,
}

/// Counts of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Packets {
    /// Packets sent in the window.
    pub sent: u64,
    /// Of these, how many arrived.
    pub received: u64,
    /// Repeated arrivals.
    pub duplicates: u64,
    /// First arrivals after a higher number.
    pub reordered: u64,
    /// Arrivals too late to be played.
    pub unplayed: u64,
    /// Packets that reached a wrong phone, or had a wrong source.
    pub foreign: u64,
    /// Packets that left late: the generator was short of processor time.
    pub late: u64,
    /// Packets that the generator could not send or could not take: its own fault.
    pub missed: u64,
    /// Packets that the kernel dropped at full sockets of the relay.
    pub dropped_at_relay: u64,
}

impl Packets {
    /// Packets that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// Load of the machine in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that were not idle.
    pub busy_cores: f64,
    /// The idle share of all.
    pub idle_share: f64,
    /// The share that the host gave to others.
    pub stolen_share: f64,
    /// Processors that the relay's process kept busy, by the scheduler's account.
    pub relay_cores: Option<f64>,
    /// Processors kept busy by the generator, including the kernel's work in its name.
    pub phones_cores: f64,
    /// Processors that the kernel's threads for interrupts kept busy.
    pub kernel_cores: f64,
    /// Of these, the thread of the relay's interface, if it has one.
    pub poller_cores: Option<f64>,
    /// Instructions of these three, if they can be counted.
    pub instructions: Option<u64>,
    /// The busiest process beside.
    pub busiest_other: Option<Busiest>,
}

/// A moment of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// Seconds since the first offer.
    pub at: f64,
    /// Calls that were established.
    pub calls: u32,
    /// Processors busy since the last moment.
    pub busy_cores: f64,
    /// Processors busy with the relay's process since then.
    pub relay_cores: f64,
}

impl Outcome {
    /// The processors that the relay's process keeps busy while calls arrive, at most; `None`
    /// without a timeline.
    pub fn arriving_cores(&self) -> Option<f64> {
        let up = |moment: &&LoadSample| moment.calls == self.calls;
        let last = self.timeline.iter().find(up).map_or(f64::MAX, |moment| moment.at);
        let arriving = self.timeline.iter().filter(|moment| moment.at <= last);
        arriving.map(|moment| moment.relay_cores).reduce(f64::max)
    }
}

/// A rate per second.
pub fn per_second(count: f64, during: Duration) -> f64 {
    count / during.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_the_values_at_its_shares() {
        let distribution = Distribution::of((1..=100).rev().map(f64::from).collect());
        let at = |share| distribution.at(share).expect("one of the shares");
        assert_eq!((at(0.5), at(0.99), at(1.0), at(0.01)), (50.0, 99.0, 100.0, 1.0));
        assert_eq!(distribution.at(0.123), None);
        assert_eq!(Distribution::of(Vec::new()).at(0.5), None);
    }
}
