//! Rows as a file, a table and drawings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness::Spread;
use harness::curves::{Curve, Drawing, Panel, Scale};

use crate::measure::Row;
use crate::scene::Media;
use crate::way::Way;

/// The columns of the file.
pub(crate) const HEADER: &str = "way,receivers,arrived,busy_us_per_copy,instructions_per_copy,delta_min_ms,delta_mean_ms,delta_max_ms,flood_copies_per_s";

/// The number of figures after way and receivers.
const FIGURES: usize = 7;

/// A row of the file.
pub(crate) fn line(row: &Row) -> String {
    let [least, mean, greatest] = row.deltas_ms;
    let cells = [
        row.way.name().to_owned(),
        row.receivers.to_string(),
        format!("{:.4}", row.arrived),
        format!("{:.3}", row.busy_us),
        row.instructions
            .map_or_else(String::new, |instructions| format!("{instructions:.0}")),
        format!("{least:.4}"),
        format!("{mean:.4}"),
        format!("{greatest:.4}"),
        format!("{:.0}", row.flood),
    ];
    harness::csv::line(&cells).trim_end().to_owned()
}

/// Several rounds of the same.
pub(crate) struct Rounds(BTreeMap<(usize, u32), Vec<[f64; FIGURES]>>);

impl Rounds {
    /// Reads a file; lines that are not rows are passed over.
    pub(crate) fn read(text: &str) -> Self {
        let mut rounds = Rounds(BTreeMap::new());
        for cells in harness::csv::rows(text) {
            let [name, receivers, figures @ ..] = &cells[..] else {
                continue;
            };
            let Some(way) = Way::ALL.iter().position(|way| way.name() == name) else {
                continue;
            };
            let Ok(receivers) = receivers.parse() else { continue };
            // An empty cell is a figure that was not measured.
            let figures: Vec<f64> = figures
                .iter()
                .map(|figure| figure.parse().unwrap_or(f64::NAN))
                .collect();
            if let Ok(figures) = figures.try_into() {
                rounds.0.entry((way, receivers)).or_default().push(figures);
            }
        }
        rounds
    }

    fn median(&self, way: Way, receivers: u32, figure: usize) -> Option<f64> {
        let place = Way::ALL.iter().position(|other| *other == way)?;
        let all = self.0.get(&(place, receivers))?;
        let measured = all.iter().map(|figures| figures[figure]);
        Spread::of(measured.filter(|figure| figure.is_finite())).map(|spread| spread.median)
    }

    fn receivers(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.0.keys().map(|(_, receivers)| *receivers).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// One figure of all ways, as a table in Markdown.
    pub(crate) fn table(&self, figure: usize, digits: usize) -> String {
        let mut text = String::from("| receivers |");
        Way::ALL.iter().for_each(|way| {
            let _ = write!(text, " {} |", way.name());
        });
        text.push_str("\n|---|");
        Way::ALL.iter().for_each(|_| text.push_str("---|"));
        for receivers in self.receivers() {
            let _ = write!(text, "\n| {receivers} |");
            for way in Way::ALL {
                let _ = match self.median(way, receivers, figure) {
                    Some(value) => write!(text, " {value:.digits$} |"),
                    None => write!(text, " |"),
                };
            }
        }
        text
    }

    /// How one way's figure compares with another's, by receivers.
    pub(crate) fn ratios(&self, way: Way, beside: Way, figure: usize) -> Vec<(u32, f64)> {
        let ratio = |receivers| Some(self.median(way, receivers, figure)? / self.median(beside, receivers, figure)?);
        let all = self.receivers().into_iter();
        all.filter_map(|receivers| Some((receivers, ratio(receivers)?)))
            .collect()
    }

    /// Some figures against the number of receivers, of ways that send the same.
    pub(crate) fn drawing(&self, title: &str, figures: &[(usize, &str)]) -> String {
        let panel = |(figure, label): &(usize, &str)| Panel {
            across: "receivers".into(),
            up: (*label).into(),
            scale: Scale::Linear,
            curves: Way::ALL
                .iter()
                .filter(|way| way.media() == Media::Plain)
                .map(|way| Curve {
                    name: way.name().into(),
                    points: self
                        .receivers()
                        .into_iter()
                        .filter_map(|receivers| Some((f64::from(receivers), self.median(*way, receivers, *figure)?)))
                        .collect(),
                })
                // Clones that are all alike have no time between packets of one receiver.
                .filter(|curve| curve.points.iter().any(|point| point.1 > 0.0))
                .collect(),
        };
        let drawing = Drawing {
            title: title.into(),
            panels: figures.iter().map(panel).collect(),
        };
        drawing.svg()
    }
}
