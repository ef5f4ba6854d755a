//! The result of a probe: the packets of one burst, the rate at which they were sent and the rate
//! at which they arrived.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits::CLUSTERS_MAX;
use crate::{Fate, Probe, ProbeId};

/// This share of a probe's packets and bytes must have arrived before it is measured.
const COMPLETE: f64 = 0.8;
/// The highest ratio of arrival rate to sending rate of a probe, unless its packets were held up
/// and released together.
const FASTER_MAX: f64 = 2.0;
/// Below this share of the sending rate the link was busy, and the received rate is its capacity.
const BUSY: f64 = 0.9;
/// The share of a busy link's capacity that is used, so that the probe's queue drains.
const TAKEN: f64 = 0.92;
/// If the second half is slower than this share of the whole, its rate is that of the link.
const LATER: f64 = 0.95;
/// This needs at least this many packets.
const LATER_PACKETS: usize = 5;
/// A burst longer than this was not sent as one. Shape: seconds.
const SPAN_MAX: f64 = 1.0;
/// A probe sent in less than this share of its planned time was sent at once, by a sender that
/// cannot pace.
const AT_ONCE: f64 = 0.25;

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ProbeResult {
    /// The path carries this, or at least this.
    Rate {
        /// Shape: bits per second.
        rate: f64,
        /// How much longer the probe took to arrive than to send.
        stretched: Duration,
        /// How long it took to arrive.
        arriving: Duration,
        /// It carries no more.
        full: bool,
    },
    /// It arrived faster than it can have.
    Impossible,
}

/// A probe that is stretched by less than this multiple of the jitter may be stretched by jitter
/// alone.
const CHANCE: u32 = 3;

impl ProbeResult {
    /// Whether the result may be due to jitter, and does not show the capacity.
    pub(crate) fn is_jitter(self, jitter: Duration) -> bool {
        match self {
            ProbeResult::Rate { stretched, .. } => stretched < CHANCE * jitter,
            ProbeResult::Impossible => true,
        }
    }

    /// The most that the path carries by it, where packets arrive so unevenly. Shape: bits per
    /// second.
    pub(crate) fn at_most(self, jitter: Duration) -> f64 {
        match self {
            ProbeResult::Rate {
                rate,
                stretched,
                arriving,
                ..
            } => {
                let chance = stretched.min(CHANCE * jitter);
                rate * arriving.as_secs_f64() / arriving.saturating_sub(chance).as_secs_f64()
            }
            ProbeResult::Impossible => f64::INFINITY,
        }
    }
}

/// Watches the probes that are under way.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    watched: VecDeque<Cluster>,
}

#[derive(Debug)]
struct Cluster {
    id: ProbeId,
    bytes_min: f64,
    packets_min: f64,
    /// How fast it was to be sent. Shape: bits per second.
    asked: f64,
    packets: u32,
    bytes: f64,
    first_sent: Option<i64>,
    last_sent: Option<(i64, u16)>,
    first_arrival: Option<(i64, u16)>,
    last_arrival: i64,
    /// Arrival and size of each.
    arrivals: Vec<(i64, u16)>,
}

impl Clusters {
    /// A probe is about to be sent.
    pub(crate) fn watch(&mut self, probe: &Probe) {
        if self.watched.len() == CLUSTERS_MAX {
            self.watched.pop_front();
        }
        self.watched.push_back(Cluster {
            id: probe.id,
            bytes_min: f64::from(probe.bytes) * COMPLETE,
            packets_min: f64::from(probe.packets) * COMPLETE,
            asked: probe.rate as f64,
            packets: 0,
            bytes: 0.0,
            first_sent: None,
            last_sent: None,
            first_arrival: None,
            last_arrival: i64::MIN,
            arrivals: Vec::new(),
        });
    }

    /// Records an arrival. Each packet after the required ones improves the measurement, so a
    /// result may be returned again.
    pub(crate) fn arrived(&mut self, fate: &Fate) -> Option<(ProbeId, ProbeResult)> {
        let (id, arrival) = (fate.probe?, fate.arrival?);
        let cluster = self.watched.iter_mut().find(|cluster| cluster.id == id)?;
        cluster.add(fate.sent, fate.size, arrival);
        Some((id, cluster.measure()?))
    }
}

impl Cluster {
    fn add(&mut self, sent: i64, size: u16, arrival: i64) {
        self.packets += 1;
        self.bytes += f64::from(size);
        self.first_sent = Some(self.first_sent.map_or(sent, |first| first.min(sent)));
        if self.last_sent.is_none_or(|last| last.0 <= sent) {
            self.last_sent = Some((sent, size));
        }
        if self.first_arrival.is_none_or(|first| arrival < first.0) {
            self.first_arrival = Some((arrival, size));
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.arrivals.push((arrival, size));
    }

    /// The received rate of the second half. Many links pass a few packets at once whatever they
    /// carry for long, and show their rate only then.
    fn second_half(&self) -> Option<f64> {
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_unstable();
        let half = arrivals.len() / 2;
        let (before, later) = (arrivals.get(half.checked_sub(1)?)?, &arrivals[half..]);
        let seconds = (later.last()?.0 - before.0) as f64 / 1e6;
        let bytes: f64 = later.iter().map(|(_, size)| f64::from(*size)).sum();
        (later.len() >= LATER_PACKETS && seconds > 0.0).then(|| bytes * 8.0 / seconds)
    }

    fn measure(&self) -> Option<ProbeResult> {
        if f64::from(self.packets) < self.packets_min || self.bytes < self.bytes_min {
            return None;
        }
        let (last_sent, first_arrival) = (self.last_sent?, self.first_arrival?);
        // The last packet's bytes were sent after the time measured; the first one's arrived before
        // it.
        let bits_without = |size: u16| (self.bytes - f64::from(size)) * 8.0;
        let (sent_bits, arrived_bits) = (bits_without(last_sent.1), bits_without(first_arrival.1));
        let sending = (last_sent.0 - self.first_sent?) as f64 / 1e6;
        let arriving = self.last_arrival.saturating_sub(first_arrival.0) as f64 / 1e6;
        let was_to_take = sent_bits / self.asked;
        let at_once = sending < AT_ONCE * was_to_take;
        let arriving = match at_once {
            true => arriving.max(arrived_bits / self.asked),
            false => arriving,
        };
        let sensible = |seconds: f64| seconds > 0.0 && seconds < SPAN_MAX;
        if !sensible(sending.max(was_to_take)) || !sensible(arriving) {
            return None;
        }
        let arrived = arrived_bits / arriving;
        let arrived = match self.second_half() {
            Some(later) if later < LATER * arrived => later,
            _ => arrived,
        };
        if !at_once && arrived > FASTER_MAX * sent_bits / sending {
            return Some(ProbeResult::Impossible);
        }
        // A burst that arrived as fast as it was sent proves that the path carries the requested
        // rate, and no more than that.
        let sending = sending.max(was_to_take);
        let sent = sent_bits / sending;
        let full = arrived < BUSY * sent;
        Some(ProbeResult::Rate {
            rate: if full { TAKEN * arrived } else { arrived.min(sent) },
            full,
            arriving: Duration::from_secs_f64(arriving),
            stretched: Duration::from_secs_f64((arriving - sending).max(0.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Known;

    fn measured(arrival_gap: i64) -> Option<ProbeResult> {
        measured_at(4, &[0, 1, 2, 3, 4].map(|index| index * arrival_gap))
    }

    /// Packets of 1,000 bytes, sent `sent_gap` milliseconds apart.
    fn measured_at(sent_gap: i64, arrivals: &[i64]) -> Option<ProbeResult> {
        let mut clusters = Clusters::default();
        clusters.watch(&Probe {
            id: ProbeId(1),
            rate: 2_000_000,
            bytes: 1000 * arrivals.len() as u32,
            packets: arrivals.len() as u32,
        });
        (0_u32..)
            .zip(arrivals)
            .filter_map(|(index, arrival)| {
                clusters.arrived(&Fate {
                    number: index.into(),
                    sent: 1_000 * sent_gap * i64::from(index),
                    size: 1000,
                    probe: Some(ProbeId(1)),
                    arrival: Some(*arrival),
                    recovered: false,
                    before: Known::Arrived,
                })
            })
            .last()
            .map(|(_, found)| found)
    }

    fn rate(rate: f64, stretched: u64) -> Option<ProbeResult> {
        Some(ProbeResult::Rate {
            rate,
            stretched: Duration::from_millis(stretched),
            arriving: Duration::from_millis(16 + stretched),
            full: stretched > 0,
        })
    }

    #[test]
    fn a_free_link_carries_the_sent_rate() {
        assert_eq!(measured(4000), rate(2e6, 0));
    }

    #[test]
    fn a_busy_link_carries_a_little_less_than_the_received_rate() {
        assert_eq!(measured(8000), rate(0.92e6, 16));
    }

    #[test]
    fn a_stretched_probe_is_no_proof_of_less() {
        let found = measured(8000).expect("it is measured");
        let at_most = |jitter| found.at_most(Duration::from_millis(jitter)).round();
        assert_eq!([at_most(0), at_most(2), at_most(6)], [0.92e6, 1_132_308.0, 1.84e6]);
    }

    #[test]
    fn the_rate_of_a_link_with_a_burst_is_that_of_later_packets() {
        let arrivals = [0, 2, 4, 6, 8, 16, 24, 32, 40, 48].map(|millis| millis * 1000);
        let Some(ProbeResult::Rate { rate, .. }) = measured_at(4, &arrivals) else {
            panic!("it is measured");
        };
        assert_eq!(rate, 0.92e6);
    }

    #[test]
    fn packets_sent_at_once_may_arrive_at_once() {
        let found = |arrivals: &[i64]| match measured_at(0, arrivals) {
            Some(ProbeResult::Rate { rate, full, .. }) => Some((rate, full)),
            _ => None,
        };
        assert_eq!(found(&[0; 5]), Some((2e6, false)));
        assert_eq!(found(&[0, 1000, 2000, 3000, 4000]), Some((2e6, false)));
        assert_eq!(found(&[0, 8000, 16_000, 24_000, 32_000]), Some((0.92e6, true)));
    }

    #[test]
    fn nothing_arrives_three_times_as_fast() {
        assert_eq!(measured(1300), Some(ProbeResult::Impossible));
    }
}
