//! Copies are matched with the packet they were made of, as in section 3.3 of the thesis.

/// A packet of the burst as the SFU's interface had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its number in the burst, from 0.
    pub number: u32,
    /// The kernel's time, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Whether it arrived, or left as a copy.
    pub direction: Direction,
}

/// The way of a packet through the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the sender.
    Arriving,
    /// To this viewer, from 0.
    To(u32),
}

/// The figures of one burst. Delays are in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Packets that were sent.
    pub sent: u32,
    /// Packets that arrived at the SFU.
    pub arrived: u32,
    /// First copies for each viewer.
    pub copies: u32,
    /// Packets lost: missing copies over the number of viewers.
    pub lost: f64,
    /// Copies without a packet that had arrived before, and second copies for the same viewer.
    pub unmatched: u32,
    /// The least delay from arrival to departure of a copy.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// The mean.
    pub average: f64,
    /// The standard deviation of the delays of all copies.
    pub deviation: f64,
    /// The rate at which packets arrived, in Mbit/s.
    pub mbps: f64,
    /// The rate of copies from the first arrival to the last departure, in Mbit/s.
    pub mbps_out: f64,
}

/// Matches what was seen of a burst of `sent` packets of `size` bytes to so many viewers.
pub(crate) fn figures(seen: &[Seen], sent: u32, viewers: u32, size: usize) -> Figures {
    let mut arrivals: Vec<Option<u64>> = vec![None; sent as usize];
    let mut arrived = Vec::new();
    for packet in seen.iter().filter(|packet| packet.direction == Direction::Arriving) {
        if let Some(arrival @ None) = arrivals.get_mut(packet.number as usize) {
            *arrival = Some(packet.at_ns);
            arrived.push(packet.at_ns);
        }
    }
    let mut is_copied = vec![false; (sent * viewers) as usize];
    let mut unmatched = 0;
    let mut delays = Vec::new();
    let mut last = 0;
    for packet in seen {
        let Direction::To(viewer) = packet.direction else {
            continue;
        };
        let arrival = arrivals.get(packet.number as usize).copied().flatten();
        let slot = (viewer < viewers).then_some((packet.number * viewers + viewer) as usize);
        match (arrival, slot.and_then(|slot| is_copied.get_mut(slot))) {
            (Some(arrival), Some(is_copied @ false)) if arrival <= packet.at_ns => {
                *is_copied = true;
                delays.push((packet.at_ns - arrival) as f64 / 1e9);
                last = last.max(packet.at_ns);
            }
            _ => unmatched += 1,
        }
    }
    let first = arrived.iter().min().copied().unwrap_or(0);
    let span = |to: u64| to.saturating_sub(first) as f64 / 1e9;
    let bits = |packets: usize| (packets * size * 8) as f64 / 1e6;
    let rate = |packets, seconds: f64| if seconds > 0.0 { bits(packets) / seconds } else { 0.0 };
    let count = arrived.len();
    // The last of n packets arrives n - 1 intervals after the first.
    let interval = span(arrived.iter().max().copied().unwrap_or(0)) / count.saturating_sub(1).max(1) as f64;
    let (average, deviation) = mean(&delays).unwrap_or_default();
    Figures {
        sent,
        arrived: count as u32,
        copies: delays.len() as u32,
        lost: (count as f64 * f64::from(viewers) - delays.len() as f64) / f64::from(viewers),
        unmatched,
        least: delays.iter().copied().reduce(f64::min).unwrap_or(0.0),
        greatest: delays.iter().copied().reduce(f64::max).unwrap_or(0.0),
        average,
        deviation,
        mbps: rate(count, interval * count as f64),
        mbps_out: rate(delays.len(), span(last)),
    }
}

/// Mean and standard deviation of a whole population, as the thesis computes both.
pub(crate) fn mean(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (!values.is_empty()).then(|| (mean, variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u32, ms: f64, direction: Direction) -> Seen {
        Seen {
            number,
            at_ns: 1_790_000_000_000_000_000 + (ms * 1e6) as u64,
            direction,
        }
    }

    use Direction::{Arriving, To};

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-6
    }

    #[test]
    fn a_copy_is_matched_by_its_number() {
        let all = [
            seen(0, 0.0, Arriving),
            seen(1, 2.8, Arriving),
            seen(1, 4.8, To(0)),
            seen(0, 1.0, To(0)),
            seen(0, 3.0, To(1)),
            seen(1, 8.8, To(1)),
        ];
        let figures = figures(&all, 2, 2, 1_400);
        assert_eq!((figures.arrived, figures.copies, figures.unmatched), (2, 4, 0));
        assert!(figures.lost == 0.0);
        assert!(near(figures.least, 0.001) && near(figures.greatest, 0.006));
        assert!(near(figures.average, 0.003), "of 1, 2, 3 and 6 ms");
        assert!(near(figures.deviation, 3.5f64.sqrt() / 1e3));
        assert!(near(figures.mbps, 4.0));
        assert!(near(figures.mbps_out, 4.0 * 11.2 / 8.8));
    }

    #[test]
    fn packets_that_do_not_leave_are_lost_for_their_viewers() {
        let all = [
            seen(0, 0.0, Arriving),
            seen(1, 1.0, Arriving),
            seen(2, 2.0, Arriving),
            seen(0, 1.0, To(0)),
            seen(1, 2.0, To(0)),
            seen(1, 2.0, To(1)),
        ];
        let figures = figures(&all, 4, 2, 1_400);
        assert_eq!((figures.sent, figures.arrived, figures.copies), (4, 3, 3));
        assert!(
            near(figures.lost, 1.5),
            "the packet that did not arrive is not the SFU's loss"
        );
    }

    #[test]
    fn second_copies_and_those_of_nothing_are_not_matched() {
        let all = [
            seen(0, 0.0, Arriving),
            seen(0, 1.0, To(0)),
            seen(0, 2.0, To(0)),
            seen(0, 1.0, To(1)),
            seen(1, 1.0, To(0)),
            seen(1, 1.5, Arriving),
            seen(9, 1.0, To(0)),
        ];
        let figures = figures(&all, 2, 1, 1_400);
        assert_eq!((figures.copies, figures.unmatched), (1, 4));
        assert!(near(figures.average, 0.001));
    }

    #[test]
    fn nothing_seen_is_all_zero() {
        let figures = figures(&[], 3, 2, 1_400);
        assert_eq!(
            figures,
            Figures {
                sent: 3,
                ..Figures::default()
            }
        );
    }

    #[test]
    fn mean_and_deviation_are_the_thesis_own() {
        // Table 11, the three runs with one viewer, and table 1's line of them.
        let (average, deviation) = mean(&[0.001_992, 0.001_525, 0.001_558]).unwrap();
        assert!(near(average, 0.001_692) && near(deviation, 0.000_213));
        assert_eq!(mean(&[]), None);
    }
}
