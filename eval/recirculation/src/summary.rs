//! All runs of one SFU, rate and number of viewers as a line of the thesis' tables, and its rows
//! beside them.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::{self, Figures};
use crate::plan::{KNEE_VIEWERS, Load, PACKETS, THESIS};
use crate::way::Way;

/// The thesis' own rows.
const PAPER: &str = include_str!("../paper.csv");

/// The thesis' two SFUs.
pub(crate) const THESIS_P4: &str = "thesis P4";
pub(crate) const THESIS_PYTHON: &str = "thesis Python";

/// An SFU is behind when its copies leave later than this on average, or when it loses so many
/// packets. By this measure the thesis' knee is where the thesis sees it.
const BEHIND_S: f64 = 0.05;
const BEHIND_LOST: f64 = 0.01;

/// The columns of the file of runs.
pub(crate) const HEADER: &str = "sfu,rate_mbps,viewers,run,sent,arrived,copies,lost,unmatched,least_ms,greatest_ms,average_ms,deviation_ms,arriving_mbps,leaving_mbps";

/// One SFU, rate in kbit/s and number of viewers.
pub(crate) type Cell = (String, u32, u32);

/// A line of the thesis' tables. Delays are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Runs.
    pub runs: usize,
    /// Packets of each.
    pub packets: u32,
    /// The least delay of all.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// The mean of the runs' averages.
    pub average: f64,
    /// The standard deviation of the runs' averages.
    pub deviation: f64,
    /// The mean number of lost packets.
    pub lost: f64,
    /// The mean rate of copies, in Mbit/s. The thesis does not have it.
    pub mbps_out: Option<f64>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    cells: BTreeMap<Cell, Summary>,
    /// The ways whose lines are of an earlier run.
    earlier: BTreeSet<String>,
}

/// The rate of copies at which an SFU begins to fall behind, in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Knee {
    /// It keeps up with this rate, and no longer with the next one.
    At(f64),
    /// It keeps up with all rates up to this.
    Above(f64),
    /// It does not keep up with this, the lowest.
    Below(f64),
}

/// A run as a row of the file.
pub(crate) fn line(way: Way, kbps: u32, viewers: u32, run: u32, figures: &Figures) -> String {
    let ms = |seconds: f64| format!("{:.4}", seconds * 1e3);
    let cells = [
        way.name().to_owned(),
        crate::plan::rate(kbps),
        viewers.to_string(),
        run.to_string(),
        figures.sent.to_string(),
        figures.arrived.to_string(),
        figures.copies.to_string(),
        format!("{:.2}", figures.lost),
        figures.unmatched.to_string(),
        ms(figures.least),
        ms(figures.greatest),
        ms(figures.average),
        ms(figures.deviation),
        format!("{:.3}", figures.mbps),
        format!("{:.3}", figures.mbps_out),
    ];
    harness::csv::line(&cells)
}

impl Results {
    /// The thesis' rows, and those of a file of runs; lines that are not rows are passed over.
    pub(crate) fn read(text: &str) -> Self {
        let mut results = Results {
            cells: thesis().collect(),
            earlier: BTreeSet::new(),
        };
        let mut runs: BTreeMap<Cell, Vec<Vec<f64>>> = BTreeMap::new();
        for cells in harness::csv::rows(text) {
            let [name, cells @ ..] = &cells[..] else { continue };
            let numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
            if numbers.len() + 1 == HEADER.split(',').count() {
                let cell = (name.clone(), kbps(numbers[0]), numbers[1] as u32);
                runs.entry(cell).or_default().push(numbers);
            }
        }
        results.cells.extend(
            runs.into_iter()
                .filter_map(|(cell, runs)| Some((cell, summary(&runs)?))),
        );
        results
    }

    /// Takes the lines of ways that were not measured from an earlier file of summaries.
    pub(crate) fn keep(&mut self, summaries: &str) {
        for cells in harness::csv::rows(summaries) {
            let [name, cells @ ..] = &cells[..] else { continue };
            let is_way = Way::ALL.iter().any(|way| way.name() == name);
            if !is_way || (self.of(name).next().is_some() && !self.earlier.contains(name)) {
                continue;
            }
            let number = |place: usize| cells.get(place).and_then(|cell| cell.parse::<f64>().ok());
            let Some((cell, summary)) = kept(name, number) else {
                continue;
            };
            self.earlier.insert(name.clone());
            self.cells.insert(cell, summary);
        }
    }

    /// The ways whose lines are of an earlier run, in the order of all ways.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &'static str> {
        let names = Way::ALL.map(Way::name).into_iter();
        names.filter(|name| self.earlier.contains(*name))
    }

    /// One of them.
    pub(crate) fn get(&self, name: &str, kbps: u32, viewers: u32) -> Option<&Summary> {
        self.cells.get(&(name.to_owned(), kbps, viewers))
    }

    /// All of an SFU, by rate and number of viewers.
    pub(crate) fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (u32, u32, &'a Summary)> {
        let all = self.cells.iter().filter(move |((of, ..), _)| of == name);
        all.map(|((_, kbps, viewers), summary)| (*kbps, *viewers, summary))
    }

    /// The numbers of viewers at a rate, of any SFU.
    pub(crate) fn viewers(&self, kbps: u32) -> BTreeSet<u32> {
        self.cells
            .keys()
            .filter(|(_, of, _)| *of == kbps)
            .map(|(_, _, viewers)| *viewers)
            .collect()
    }

    /// The change of the average to that of the previous number of viewers.
    pub(crate) fn change(&self, name: &str, kbps: u32, viewers: u32) -> Option<f64> {
        let this = self.get(name, kbps, viewers)?;
        let earlier = self.of(name).filter(|(of, other, _)| *of == kbps && *other < viewers);
        let (.., previous) = earlier.max_by_key(|(_, other, _)| *other)?;
        Some(this.average / previous.average - 1.0)
    }

    /// The knee of an SFU at a rate, as viewers are added.
    pub(crate) fn knee_by_viewers(&self, name: &str, kbps: u32) -> Option<Knee> {
        let cells = self.of(name).filter(|(of, ..)| *of == kbps);
        knee(cells.map(|(kbps, viewers, summary)| (out(kbps, viewers), summary)))
    }

    /// The knee of an SFU with eleven viewers, as the rate is raised.
    pub(crate) fn knee_by_rate(&self, name: &str) -> Option<Knee> {
        let cells = self.of(name).filter(|(_, viewers, _)| *viewers == KNEE_VIEWERS);
        knee(cells.map(|(kbps, viewers, summary)| (out(kbps, viewers), summary)))
    }

    /// The loads that were measured here, of whichever SFU had most.
    pub(crate) fn loads(&self) -> Vec<Load> {
        let mut loads: BTreeMap<u32, Load> = BTreeMap::new();
        for ((name, kbps, viewers), summary) in &self.cells {
            if Way::ALL.iter().all(|way| way.name() != name) {
                continue;
            }
            let load = loads.entry(*kbps).or_insert_with(|| Load {
                kbps: *kbps,
                viewers: Vec::new(),
                packets: summary.packets,
                is_the_thesis: THESIS.iter().any(|(of, _)| of == kbps),
            });
            load.packets = load.packets.min(summary.packets);
            if !load.viewers.contains(viewers) {
                load.viewers.push(*viewers);
            }
        }
        loads.into_values().collect()
    }
}

impl Summary {
    /// Lost packets, of all of a burst.
    pub(crate) fn lost_share(&self) -> f64 {
        self.lost / f64::from(self.packets.max(1))
    }

    fn keeps_up(&self) -> bool {
        keeps_up(self.average, self.lost_share())
    }
}

/// Whether an SFU with this average delay, in seconds, and this share of lost packets keeps up.
pub(crate) fn keeps_up(average: f64, lost: f64) -> bool {
    average <= BEHIND_S && lost < BEHIND_LOST
}

fn knee<'a>(cells: impl Iterator<Item = (f64, &'a Summary)>) -> Option<Knee> {
    let mut cells: Vec<(f64, &Summary)> = cells.collect();
    cells.sort_by(|one, other| one.0.total_cmp(&other.0));
    let behind = cells.iter().position(|(_, summary)| !summary.keeps_up());
    match behind {
        None => cells.last().map(|(rate, _)| Knee::Above(*rate)),
        Some(0) => Some(Knee::Below(cells[0].0)),
        Some(place) => Some(Knee::At(cells[place - 1].0)),
    }
}

/// The rate of all copies, in Mbit/s.
fn out(kbps: u32, viewers: u32) -> f64 {
    f64::from(kbps) * f64::from(viewers) / 1e3
}

fn kbps(mbps: f64) -> u32 {
    (mbps * 1e3).round() as u32
}

/// Of rows of the file of runs, without their names.
fn summary(runs: &[Vec<f64>]) -> Option<Summary> {
    let column = |place: usize| runs.iter().map(move |run| run[place]);
    let seconds = |place| column(place).map(|ms| ms / 1e3);
    let averages: Vec<f64> = seconds(10).collect();
    let (average, deviation) = matching::mean(&averages)?;
    let mean = |place| column(place).sum::<f64>() / runs.len() as f64;
    Some(Summary {
        runs: runs.len(),
        packets: runs[0][3] as u32,
        least: seconds(8).fold(f64::MAX, f64::min),
        greatest: seconds(9).fold(0.0, f64::max),
        average,
        deviation,
        lost: mean(6),
        mbps_out: Some(mean(13)),
    })
}

/// A line of an earlier file of summaries, by its numbers behind the name.
fn kept(name: &str, number: impl Fn(usize) -> Option<f64>) -> Option<(Cell, Summary)> {
    let seconds = |place| number(place).map(|ms| ms / 1e3);
    let summary = Summary {
        runs: number(2)? as usize,
        packets: number(3)? as u32,
        least: seconds(4)?,
        greatest: seconds(5)?,
        average: seconds(6)?,
        deviation: seconds(8)?,
        lost: number(9)?,
        mbps_out: number(10),
    };
    Some(((name.to_owned(), kbps(number(0)?), number(1)? as u32), summary))
}

fn thesis() -> impl Iterator<Item = (Cell, Summary)> {
    harness::csv::rows(PAPER).filter_map(|cells| {
        let [sfu, numbers @ ..] = &cells[..] else { return None };
        let numbers: Vec<f64> = numbers.iter().filter_map(|cell| cell.parse().ok()).collect();
        let [_, rate, viewers, least, greatest, average, deviation, lost] = numbers[..] else {
            return None;
        };
        let name = match sfu.as_str() {
            "P4" => THESIS_P4,
            _ => THESIS_PYTHON,
        };
        let summary = Summary {
            runs: 3,
            packets: PACKETS,
            least,
            greatest,
            average,
            deviation,
            lost,
            mbps_out: None,
        };
        Some(((name.to_owned(), kbps(rate), viewers as u32), summary))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(viewers: u32, average_ms: f64, lost: f64) -> String {
        let figures = Figures {
            sent: 300,
            arrived: 300,
            least: 0.001,
            greatest: average_ms / 500.0,
            average: average_ms / 1e3,
            lost,
            ..Figures::default()
        };
        line(Way::Tree, 4_000, viewers, 1, &figures)
    }

    #[test]
    fn the_thesis_has_all_rows_of_its_eight_tables() {
        let results = Results::read("");
        let count = |name| results.of(name).count();
        assert_eq!(
            (count(THESIS_P4), count(THESIS_PYTHON)),
            (11 + 11 + 19 + 7, 1 + 1 + 5 + 7)
        );
        let change = results.change(THESIS_P4, 4_000, 2).unwrap();
        assert!((change - 0.7411).abs() < 1e-3, "as in table 1");
        assert_eq!(results.change(THESIS_P4, 4_000, 1), None);
        assert_eq!(results.loads(), [], "nothing was measured here");
    }

    #[test]
    fn the_thesis_knee_is_where_the_thesis_sees_it() {
        let results = Results::read("");
        assert_eq!(results.knee_by_viewers(THESIS_P4, 4_000), Some(Knee::At(16.0)));
        assert_eq!(results.knee_by_viewers(THESIS_P4, 2_500), Some(Knee::At(15.0)));
        assert_eq!(results.knee_by_viewers(THESIS_PYTHON, 4_000), Some(Knee::Below(4.0)));
        assert_eq!(results.knee_by_rate("nobody"), None);
    }

    #[test]
    fn runs_are_summed_up_as_in_the_thesis() {
        let text = [1.992, 1.525, 1.558].map(|average| row(1, average, 3.0)).concat();
        let results = Results::read(&text);
        let summary = *results.get("BMv2 tree", 4_000, 1).unwrap();
        assert_eq!((summary.runs, summary.packets, summary.lost), (3, 300, 3.0));
        assert!((summary.average - 0.001_692).abs() < 1e-6 && (summary.deviation - 0.000_213).abs() < 1e-6);
        assert!((summary.greatest - 0.003_984).abs() < 1e-9 && (summary.least - 0.001).abs() < 1e-9);
        assert_eq!(results.loads()[0].viewers, [1]);
    }

    #[test]
    fn losing_packets_is_falling_behind_too() {
        let text = [row(1, 1.0, 0.0), row(2, 2.0, 2.9), row(3, 2.0, 3.0)].concat();
        let results = Results::read(&text);
        assert_eq!(results.knee_by_viewers("BMv2 tree", 4_000), Some(Knee::At(8.0)));
        let text = [row(1, 1.0, 0.0), row(11, 20.0, 0.0)].concat();
        let results = Results::read(&text);
        assert_eq!(results.knee_by_viewers("BMv2 tree", 4_000), Some(Knee::Above(44.0)));
        assert_eq!(results.knee_by_rate("BMv2 tree"), Some(Knee::Above(44.0)));
    }

    #[test]
    fn summary_of_an_earlier_run_stands_for_ways_that_were_not_measured() {
        let earlier = "sfu,rate_mbps\nBMv2 tree,4,1,3,300,0.3,0.9,0.5,,0.1,2.00,4.1\nBMv2 tree,4,2,3,300,0.3,0.9,0.6,20.00,0.1,0.00,\n\
                       Weir UDP,4,1,3,300,0.1,0.9,0.2,,0.1,0.00,4.1\nthesis P4,4,1,3,300,0.1,0.9,0.2,,0.1,0.00,\nBMv2 tree,4\n";
        let mut results = Results::read(&row(1, 1.0, 0.0));
        results.keep(earlier);
        assert_eq!(
            results.earlier().collect::<Vec<_>>(),
            ["Weir UDP"],
            "the tree was measured"
        );
        assert_eq!(results.of("BMv2 tree").count(), 1);
        assert!((results.get("thesis P4", 4_000, 1).unwrap().average - 0.001_692).abs() < 1e-6);
        let mut results = Results::read("");
        results.keep(earlier);
        assert_eq!(results.of("BMv2 tree").count(), 2);
        let summary = results.get("BMv2 tree", 4_000, 1).unwrap();
        assert_eq!(
            (summary.average, summary.lost, summary.mbps_out),
            (0.000_5, 2.0, Some(4.1))
        );
    }

    #[test]
    fn lines_that_are_no_rows_are_passed_over() {
        let results = Results::read(&format!("{HEADER}\nBMv2 tree,4\n{}", row(1, 1.0, 0.0)));
        assert_eq!(results.of("BMv2 tree").count(), 1);
    }
}
