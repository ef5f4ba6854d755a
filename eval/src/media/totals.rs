use super::Stamp;
use super::ledger::Ledger;
use super::payload::Received;
use crate::measure::{Arrival, Histogram, Tally};

/// Measurements of all receivers of a run together.
#[derive(Default)]
pub struct Totals {
    /// One-way latency of each packet sent in the measured window, in nanoseconds.
    pub latency: Histogram,
    /// RTP packets received, of any kind, since the window began.
    pub packets: u64,
    /// Their bytes, decrypted.
    pub bytes: u64,
    /// Packets from a source that this receiver must not hear. Any is a fault of the server.
    pub foreign: u64,
    /// Packets whose payload differs from the source's.
    pub damaged: u64,
    /// Packets that were decrypted and checked; the others were recognized by their headers.
    pub opened: u64,
    /// Packets that publishers have sent.
    pub ledger: Ledger,
    /// By source and packet of the window: the latency to the last receiver that got it at first
    /// delivery.
    slowest: Vec<Vec<u64>>,
    /// For each source, the number of its first packet in the window; before that nothing is
    /// measured.
    window_starts: Vec<u64>,
    /// For each source, the number of its first packet after the window, once the window is over.
    window_ends: Vec<u64>,
}

impl Totals {
    /// Totals of receivers that use this ledger of sent packets.
    pub fn with(ledger: Ledger) -> Self {
        Self {
            ledger,
            ..Self::default()
        }
    }

    /// Begins the measured window: the packets from these numbers on, by source.
    pub fn begin_window(&mut self, starts: Vec<u64>) {
        *self = Self {
            ledger: std::mem::take(&mut self.ledger),
            slowest: vec![Vec::new(); starts.len()],
            window_starts: starts,
            ..Self::default()
        };
    }

    /// Ends it before these numbers.
    pub fn end_window(&mut self, ends: Vec<u64>) {
        self.window_ends = ends;
    }

    fn record(&mut self, stamp: &Stamp, repair: bool, arrived_ns: u64) {
        let latency = arrived_ns.saturating_sub(stamp.sent_ns);
        self.latency.record(latency);
        if repair {
            return;
        }
        let source = stamp.source as usize;
        let place = (stamp.number - self.window_starts[source]) as usize;
        let slowest = &mut self.slowest[source];
        if place >= slowest.len() {
            slowest.resize(place + 1, 0);
        }
        slowest[place] = slowest[place].max(latency);
    }

    /// The latency of each packet of the window to the last receiver that got it at first delivery.
    pub fn to_last(&self) -> Histogram {
        let mut histogram = Histogram::default();
        let arrived = self.slowest.iter().flatten().filter(|&&latency| latency > 0);
        arrived.for_each(|&latency| histogram.record(latency));
        histogram
    }

    fn measures(&self, source: u32, number: u64) -> bool {
        let source = source as usize;
        self.window_starts.get(source).is_some_and(|&start| number >= start)
            && self.window_ends.get(source).is_none_or(|&end| number < end)
    }
}

/// Measurements of one receiver, by source.
#[derive(Default)]
pub struct Meter {
    tallies: Vec<Tally>,
    /// The sources that this receiver may hear.
    allowed: Vec<u32>,
}

impl Meter {
    /// Adds a source that this receiver is to hear.
    pub fn allow(&mut self, source: u32) {
        self.allowed.push(source);
        if self.tallies.len() <= source as usize {
            self.tallies.resize(source as usize + 1, Tally::default());
        }
    }

    /// Counts a packet.
    pub fn record(&mut self, received: &Received, repair: bool, arrived_ns: u64, totals: &mut Totals) {
        let stamp = received.stamp;
        if !self.allowed.contains(&stamp.source) {
            totals.foreign += 1;
            return;
        }
        let arrival = self.tallies[stamp.source as usize].record(stamp.number, repair);
        if arrival != Arrival::Duplicate && totals.measures(stamp.source, stamp.number) {
            totals.record(&stamp, repair, arrived_ns);
        }
    }

    /// The sources it may hear, each with its tally.
    pub fn sources(&self) -> impl Iterator<Item = (u32, &Tally)> {
        self.allowed
            .iter()
            .map(|&source| (source, &self.tallies[source as usize]))
    }

    /// By source.
    #[cfg(test)]
    pub(super) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Whether every source has been heard.
    pub fn is_complete(&self) -> bool {
        self.sources().all(|(_, tally)| !tally.is_empty())
    }

    /// Forgets single events at the beginning of the measured window.
    pub fn begin_window(&mut self) {
        self.tallies.iter_mut().for_each(Tally::begin_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: u32, number: u64) -> Received {
        Received {
            stamp: Stamp {
                source,
                number,
                sent_ns: 1_000,
            },
            key_frame_start: false,
        }
    }

    #[test]
    fn latency_is_measured_inside_the_window_only() {
        let (mut meter, mut totals) = (Meter::default(), Totals::default());
        meter.allow(0);
        meter.record(&packet(0, 0), false, 5_000, &mut totals);
        assert_eq!(totals.latency.count(), 0);
        totals.begin_window(vec![1]);
        meter.record(&packet(0, 1), false, 6_000, &mut totals);
        meter.record(&packet(0, 1), false, 9_000, &mut totals);
        totals.end_window(vec![2]);
        meter.record(&packet(0, 2), false, 90_000, &mut totals);
        assert_eq!((totals.latency.count(), totals.latency.max()), (1, 5_000));
    }

    #[test]
    fn a_packet_counts_once_with_its_slowest_receiver_at_first_delivery() {
        let mut totals = Totals::default();
        totals.begin_window(vec![5]);
        for (number, repair, arrived_ns) in [
            (5, false, 3_000),
            (5, false, 7_000),
            (5, true, 90_000),
            (6, false, 2_000),
        ] {
            let mut meter = Meter::default();
            meter.allow(0);
            meter.record(&packet(0, number), repair, arrived_ns, &mut totals);
        }
        let to_last = totals.to_last();
        assert_eq!((totals.latency.count(), to_last.count(), to_last.max()), (4, 2, 6_000));
    }

    #[test]
    fn a_source_of_another_room_is_foreign() {
        let (mut meter, mut totals) = (Meter::default(), Totals::default());
        meter.allow(1);
        meter.record(&packet(7, 0), false, 0, &mut totals);
        assert_eq!(totals.foreign, 1);
        assert!(!meter.is_complete());
        meter.record(&packet(1, 0), false, 0, &mut totals);
        assert!(meter.is_complete());
    }
}
