//! The report of a run, for people and for programs.

mod joining;
mod quality;
mod table;
mod text;

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Plan;
use crate::impairment::Impairment;
use crate::measure::{Busiest, Histogram, Tally};

pub use joining::{Changes, Joining, Signalling, Spread};
pub use quality::Quality;
pub use table::{crowds, table};

/// One run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The measured server's name, or `floor`.
    pub target: String,
    /// Its shape, as given.
    pub scenario: String,
    /// The negotiated form of the protocol and SRTP profile.
    pub negotiated: String,
    /// Participants.
    pub participants: u32,
    /// Tracks that they subscribe to, all together.
    pub subscriptions: u64,
    /// The measured window in seconds.
    pub seconds: f64,
    /// How joining went; none for the floor.
    pub joining: Option<Joining>,
    /// Messages that the server signalled; none for the floor.
    pub signalling: Option<Signalling>,
    /// Packets that publishers sent in the window.
    pub packets_sent: u64,
    /// Their payload bits a second, all publishers together.
    pub offered_bits_per_second: f64,
    /// Packets times receivers.
    pub replicas_expected: u64,
    /// Of these, how many arrived, repaired ones included.
    pub replicas_received: u64,
    /// Of these, how many never arrived.
    pub lost: u64,
    /// Packets that were missing by sequence number and never arrived.
    pub given_up: u64,
    /// Of these, how many were audio, which most servers do not repeat.
    pub lost_audio: u64,
    /// Deliberate loss and delay in the clients' own networks.
    pub impairment: Impairment,
    /// Bits a second of RTP that each receiver got, on average.
    pub received_bits_per_second: f64,
    /// Datagrams that overflowed the clients' own buffers: the generator's fault.
    pub dropped_at_clients: u64,
    /// Datagrams that overflowed the server's socket: the server was too slow to read.
    pub dropped_at_server: u64,
    /// Packets that arrived only as a retransmission.
    pub repaired: u64,
    /// Packets that arrived more than once.
    pub duplicates: u64,
    /// Packets that arrived after a later one, without repairs.
    pub reordered: u64,
    /// Packets from sources that the receiver must not hear.
    pub foreign: u64,
    /// Packets whose payload differs from the sent one.
    pub damaged: u64,
    /// Packets that receivers decrypted, of all that they got.
    #[serde(default)]
    pub packets_opened: [u64; 2],
    /// Packets that receivers asked for again, and that the server asked publishers for again.
    pub asked: [u64; 2],
    /// Key frames that receivers asked for, and that the server asked publishers for.
    pub key_frames_asked: [u64; 2],
    /// Frames that the generator sent late or not at all.
    pub late_frames: u64,
    /// One-way latency, from just before the packet was sealed to the kernel's arrival stamp.
    pub latency: Latency,
    /// The same until a packet had reached the last receiver that got it at first delivery, packet
    /// by packet.
    pub to_last: Latency,
    /// The quality of the videos in the first room; none if it has no video.
    pub first_room: Option<Quality>,
    /// The server's cost, where its process is known.
    pub server: Option<Cost>,
    /// Datagrams that the server read, where its process is known.
    #[serde(default)]
    pub read_by_server: u64,
    /// Times that its threads went to sleep.
    #[serde(default)]
    pub server_sleeps: u64,
    /// The generator's own cost.
    pub generator: Cost,
    /// The share of all processors that was idle.
    pub idle_share: f64,
    /// Processors kept busy by anything, the kernel's own work included.
    pub busy_cores: f64,
    /// The share of all processors that the host gave to other machines.
    pub stolen_share: f64,
    /// The process that was busiest beside server and generator, if there was another.
    pub busiest_other: Option<Busiest>,
    /// Processors kept busy by neither server nor generator: a measurement beside other work is
    /// worth less.
    pub elsewhere_cores: f64,
}

/// One-way latency in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Of a hundred packets, 10, 25, 75 and 90 were faster.
    #[serde(default)]
    pub others: [f64; 4],
    /// Median.
    pub p50: f64,
    /// Of a hundred packets, 99 were faster.
    pub p99: f64,
    /// Of a thousand, 999.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
}

/// Resources that a process used in the window.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time per replica that arrived, in microseconds.
    pub cpu_us_per_replica: f64,
    /// Processors kept busy.
    pub cores: f64,
    /// Resident memory before anybody joined, in bytes.
    pub resident_before: u64,
    /// Resident memory at the end of the window, in bytes.
    pub resident_after: u64,
    /// The difference per participant, in bytes.
    pub resident_per_participant: f64,
    /// The difference per subscription, in bytes: one track to one participant.
    pub resident_per_subscription: f64,
}

impl Latency {
    /// Reads the percentiles.
    pub fn of(histogram: &Histogram) -> Self {
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        Self {
            others: [0.1, 0.25, 0.75, 0.9].map(|share| microseconds(histogram.quantile(share))),
            p50: microseconds(histogram.quantile(0.5)),
            p99: microseconds(histogram.quantile(0.99)),
            p999: microseconds(histogram.quantile(0.999)),
            max: microseconds(histogram.max()),
        }
    }
}

impl Cost {
    /// The cost of `cpu` over `seconds`, shared by `replicas`.
    pub fn of(cpu: Duration, seconds: f64, replicas: u64) -> Self {
        Self {
            cpu_us_per_replica: cpu.as_secs_f64() * 1e6 / replicas.max(1) as f64,
            cores: cpu.as_secs_f64() / seconds,
            ..Self::default()
        }
    }

    /// With memory, for a process whose size was `before` until `participants` with these
    /// subscriptions joined.
    pub fn with_memory(self, before: u64, after: u64, participants: u32, subscriptions: u64) -> Self {
        let grown = after.saturating_sub(before) as f64;
        Self {
            resident_before: before,
            resident_after: after,
            resident_per_participant: grown / f64::from(participants.max(1)),
            resident_per_subscription: grown / subscriptions.max(1) as f64,
            ..self
        }
    }
}

impl Report {
    /// Packets lost between the server's socket and its last send: those without a full buffer as
    /// explanation. It is not known under deliberate losses.
    pub fn lost_inside(&self) -> u64 {
        if self.impairment != Impairment::default() {
            return 0;
        }
        (self.lost - self.withheld()).saturating_sub(self.dropped_at_clients)
    }

    /// Packets that never arrived and left no gap in the numbers: the server held them back on
    /// purpose, for a receiver whose network it found too slow. On a machine that is short of
    /// processor time it may well be.
    pub fn withheld(&self) -> u64 {
        self.lost.saturating_sub(self.given_up)
    }

    /// Whether the server forwarded exactly what it should.
    pub fn is_clean(&self) -> bool {
        self.lost_inside() == 0 && self.foreign == 0 && self.damaged == 0
    }

    /// Adds one receiver's count of one source's packets with these numbers.
    pub fn count(&mut self, source: u32, tally: &Tally, numbers: Range<u64>) {
        let window = tally.window(numbers);
        self.replicas_expected += window.expected;
        self.replicas_received += window.received;
        self.lost += window.lost();
        self.lost_audio += if Plan::is_audio(source) { window.lost() } else { 0 };
        self.repaired += tally.repaired();
        self.duplicates += tally.duplicates();
        self.reordered += tally.reordered();
    }

    /// Computes the other load of the machine, once the costs are known.
    pub fn attribute_rest(&mut self, processors: usize) {
        self.busy_cores = processors as f64 * (1.0 - self.idle_share - self.stolen_share).max(0.0);
        let ours = self.generator.cores + self.server.map_or(0.0, |server| server.cores);
        self.elsewhere_cores = (self.busy_cores - ours).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_at_full_client_buffers_are_not_the_servers() {
        let report = Report {
            lost: 5,
            given_up: 5,
            dropped_at_clients: 5,
            ..Report::default()
        };
        assert!(report.is_clean());
        let report = Report {
            lost: 6,
            given_up: 6,
            dropped_at_clients: 5,
            ..Report::default()
        };
        assert_eq!((report.lost_inside(), report.is_clean()), (1, false));
        let report = Report {
            lost: 6,
            given_up: 6,
            impairment: Impairment {
                down: 0.02,
                ..Impairment::default()
            },
            ..Report::default()
        };
        assert!(report.is_clean());
    }

    #[test]
    fn missing_packets_without_a_gap_were_withheld() {
        let report = Report {
            lost: 6,
            given_up: 2,
            ..Report::default()
        };
        assert_eq!((report.withheld(), report.lost_inside()), (4, 2));
    }

    #[test]
    fn cost_is_shared_by_the_replicas() {
        let cost = Cost::of(Duration::from_secs(3), 30.0, 1_000_000).with_memory(1_000_000, 3_000_000, 20, 40);
        assert!((cost.cpu_us_per_replica - 3.0).abs() < 1e-9 && (cost.cores - 0.1).abs() < 1e-9);
        assert!((cost.resident_per_participant - 100_000.0).abs() < 1e-9);
        assert!((cost.resident_per_subscription - 50_000.0).abs() < 1e-9);
    }
}
