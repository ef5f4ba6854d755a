//! Results as curves: the first room as participants are added, and the distribution of latencies.

use std::collections::BTreeMap;

use harness::curves::{Curve, Drawing, Panel, Scale};

use super::compared::{ComparisonResult, Runs};
use super::figures::Figures;
use crate::report::Quality;

/// Participants and the first room's videos, step by step.
pub(crate) type Steps = BTreeMap<u32, Quality>;

/// The first room of each server over the number of participants (Scallop, figures 3 and 4).
pub(crate) fn first_room(title: String, servers: &[(String, Steps)]) -> String {
    let panel = |up: &str, figure: fn(&Quality) -> f64| Panel {
        across: "participants".into(),
        up: up.into(),
        scale: Scale::Linear,
        curves: servers
            .iter()
            .map(|(name, steps)| Curve {
                name: name.clone(),
                points: steps
                    .iter()
                    .map(|(participants, seen)| (f64::from(*participants), figure(seen)))
                    .collect(),
            })
            .collect(),
    };
    let panels = vec![
        panel("frames a second", |it| it.frames_per_second),
        panel("jitter, ms", |it| it.jitter_ms),
    ];
    Drawing { title, panels }.svg()
}

/// The cost of a replica and the latency to the last receiver, by load.
pub(crate) struct Growth {
    /// The load.
    pub load: &'static str,
    /// Servers, with receivers, processor time of the process for a replica and latency in
    /// microseconds.
    pub servers: Vec<(String, BTreeMap<u32, [f64; 2]>)>,
}

/// Both of each server over the number of receivers (eXpressSFU, figures 4 and 5).
pub(crate) fn growth(title: String, loads: &[Growth]) -> String {
    let panel = |growth: &Growth, name: &str, figure: fn(&[f64; 2]) -> f64| Panel {
        across: "receivers".into(),
        up: format!("{}: {name}", growth.load),
        scale: Scale::Logarithmic,
        curves: growth
            .servers
            .iter()
            .map(|(name, steps)| Curve {
                name: name.clone(),
                points: steps
                    .iter()
                    .map(|(count, step)| (f64::from(*count), figure(step)))
                    .collect(),
            })
            .collect(),
    };
    let panels = loads.iter().flat_map(|growth| {
        [
            panel(growth, "process us per replica", |step| step[0]),
            panel(growth, "p99 to the last, ms", |step| step[1] / 1e3),
        ]
    });
    let panels = panels.collect();
    Drawing { title, panels }.svg()
}

/// The share of packets that arrive within a latency, by server (Scallop, figure 15).
pub(crate) fn distribution(title: String, found: &[ComparisonResult]) -> String {
    let panel = |found: &ComparisonResult| Panel {
        across: "latency, us".into(),
        up: format!("{}: packets within it, %", found.case.name),
        scale: Scale::Logarithmic,
        curves: found.servers.iter().map(curve).collect(),
    };
    let panels = found.iter().map(panel).collect();
    Drawing { title, panels }.svg()
}

/// Shares of packets in percent, and their latencies.
const SHARES: [f64; 7] = [10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9];

fn latencies(figures: &Figures) -> [f64; 7] {
    let [p10, p25, p75, p90] = figures.others;
    [p10, p25, figures.p50, p75, p90, figures.p99, figures.p999]
}

fn curve(runs: &Runs) -> Curve {
    let point = |(place, &share): (usize, &f64)| {
        let median = runs.spread(|it| Some(latencies(it)[place]))?.median;
        (median > 0.0).then_some((median, share))
    };
    Curve {
        name: runs.name.clone(),
        points: SHARES.iter().enumerate().filter_map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_drawn_by_the_number_of_clients() {
        let seen = |frames_per_second| Quality {
            frames_per_second,
            jitter_ms: 1.0,
        };
        let steps = [(10, seen(30.0)), (40, seen(20.0)), (20, seen(30.0))].into();
        let svg = first_room("rooms".into(), &[("weir".into(), steps)]);
        let growth = Growth {
            load: "48 packets/s",
            servers: vec![("weir".into(), [(100, [5.0, 700.0]), (200, [4.0, 900.0])].into())],
        };
        assert!(super::growth("hd".into(), &[growth]).contains("48 packets/s: p99 to the last, ms"));
        assert!(svg.contains("frames a second") && svg.contains("jitter, ms"), "{svg}");
    }
}
