//! The bursts that are sent: a rate, numbers of viewers, and packets.

use std::fmt::Write as _;

/// Bytes of a packet, from its Ethernet header on. The thesis' packets have "a total size of 1400
/// bytes", by which it also computes rates.
pub(crate) const SIZE: usize = 1_400;

/// Packets of a burst of the thesis.
pub(crate) const PACKETS: u32 = 300;

/// Bursts of one rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Of the sender, in kbit/s.
    pub kbps: u32,
    /// The numbers of viewers, ascending.
    pub viewers: Vec<u32>,
    /// Packets of a burst.
    pub packets: u32,
    /// Whether the thesis has it. Otherwise it is one of those that look for the knee.
    pub is_the_thesis: bool,
}

/// The loads of the thesis: tables 1 to 4, 5 and 6, 7 and 8.
pub(crate) const THESIS: [(u32, u32); 4] = [(4_000, 11), (2_500, 11), (150, 19), (76, 7)];

/// The viewers of the bursts that look for the knee.
pub(crate) const KNEE_VIEWERS: u32 = 11;

/// Their rates. In a burst of 0.4 s, a device that is a quarter too slow falls 50 ms behind on
/// average.
const KNEE_KBPS: [u32; 5] = [8_000, 16_000, 32_000, 64_000, 128_000];
const KNEE_MS: u32 = 400;

/// The request of the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanOptions {
    /// Everything that the thesis has.
    pub full: bool,
    /// Only these rates, in Mbit/s.
    pub rates: Vec<f64>,
    /// Only these numbers of viewers.
    pub viewers: Vec<u32>,
    /// So many packets in a burst.
    pub packets: Option<u32>,
}

/// The loads to send.
pub(crate) fn loads(wish: &PlanOptions) -> Vec<Load> {
    let asked: Vec<u32> = wish.rates.iter().map(|rate| (rate * 1e3).round() as u32).collect();
    let mut loads: Vec<Load> = THESIS.iter().map(|&(kbps, most)| load(kbps, most, wish.full)).collect();
    loads.extend(KNEE_KBPS.map(knee));
    for kbps in &asked {
        if loads.iter().all(|load| load.kbps != *kbps) {
            loads.push(knee(*kbps));
        }
    }
    loads.retain(|load| asked.is_empty() || asked.contains(&load.kbps));
    for load in &mut loads {
        if !wish.viewers.is_empty() {
            load.viewers.clone_from(&wish.viewers);
            load.viewers.sort_unstable();
            load.viewers.dedup();
        }
        load.packets = wish.packets.unwrap_or(load.packets);
    }
    loads
}

/// A load of the thesis; where it would take long and not `full`, a part of it.
fn load(kbps: u32, most: u32, full: bool) -> Load {
    let (viewers, packets) = match kbps {
        150 if !full => (vec![1, 3, 5, 10, 15, 19], 12),
        76 if !full => (vec![1, 3, 5, 7], 8),
        _ => ((1..=most).collect(), PACKETS),
    };
    Load {
        kbps,
        viewers,
        packets,
        is_the_thesis: true,
    }
}

fn knee(kbps: u32) -> Load {
    let lasting = u64::from(kbps) * u64::from(KNEE_MS) / (SIZE as u64 * 8);
    Load {
        kbps,
        viewers: vec![KNEE_VIEWERS],
        packets: PACKETS.max(lasting as u32),
        is_the_thesis: false,
    }
}

/// The loads of the thesis that are not among these, in words; nothing if all are.
pub(crate) fn left_out(loads: &[Load]) -> Vec<String> {
    let mut all = Vec::new();
    for (kbps, most) in THESIS {
        let rate = rate(kbps);
        let Some(load) = loads.iter().find(|load| load.kbps == kbps) else {
            all.push(format!("{rate} Mbit/s: everything"));
            continue;
        };
        let missing: Vec<u32> = (1..=most).filter(|number| !load.viewers.contains(number)).collect();
        let mut line = String::new();
        if load.packets < PACKETS {
            let _ = write!(line, "{} of {PACKETS} packets of each burst", PACKETS - load.packets);
        }
        if !missing.is_empty() {
            let and = if line.is_empty() { "" } else { ", and " };
            let _ = write!(line, "{and}{} viewers", ranges(&missing));
        }
        if !line.is_empty() {
            all.push(format!("{rate} Mbit/s: {line}"));
        }
    }
    all
}

/// A rate in Mbit/s.
pub(crate) fn rate(kbps: u32) -> String {
    (f64::from(kbps) / 1e3).to_string()
}

/// Ascending numbers, runs of them as ranges.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let shown = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_run_has_all_loads_of_the_thesis() {
        let wish = PlanOptions {
            full: true,
            ..PlanOptions::default()
        };
        let loads = loads(&wish);
        let cells: usize = loads
            .iter()
            .filter(|load| load.is_the_thesis)
            .map(|load| load.viewers.len())
            .sum();
        assert_eq!(cells, 11 + 11 + 19 + 7);
        assert_eq!(left_out(&loads), Vec::<String>::new());
    }

    #[test]
    fn the_default_has_the_knee_and_says_what_it_left_out() {
        let loads = loads(&PlanOptions::default());
        for kbps in [4_000, 2_500] {
            let load = loads.iter().find(|load| load.kbps == kbps).unwrap();
            assert_eq!((load.viewers.len(), load.packets), (11, PACKETS));
        }
        let said = [
            "0.15 Mbit/s: 288 of 300 packets of each burst, and 2, 4, 6-9, 11-14, 16-18 viewers",
            "0.076 Mbit/s: 292 of 300 packets of each burst, and 2, 4, 6 viewers",
        ];
        assert_eq!(left_out(&loads), said);
    }

    #[test]
    fn a_wish_replaces_rates_viewers_and_packets() {
        let wish = PlanOptions {
            rates: vec![2.5, 100.0],
            viewers: vec![3, 1, 3],
            packets: Some(20),
            full: false,
        };
        let loads = loads(&wish);
        let short: Vec<(u32, u32)> = loads.iter().map(|load| (load.kbps, load.packets)).collect();
        assert_eq!(short, [(2_500, 20), (100_000, 20)]);
        assert_eq!(loads[0].viewers, [1, 3]);
    }

    #[test]
    fn a_burst_that_looks_for_the_knee_lasts_long_enough() {
        assert_eq!(knee(8_000).packets, PACKETS);
        assert_eq!(knee(128_000).packets, 4_571);
    }
}
