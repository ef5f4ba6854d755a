//! Rounds as a file and as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness::Spread;

use crate::outcome::Outcome;

/// The columns of the file: a line for each figure of a variant in a round.
const HEADER: [&str; 4] = ["round", "variant", "figure", "value"];

/// The most trunks that a packet crosses.
const DEPTH_MAX: usize = 3;

/// Figures by round, variant and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds(BTreeMap<(u32, String, String), f64>);

impl Rounds {
    /// Adds a scene of a round.
    pub fn add(&mut self, round: u32, outcome: &Outcome) {
        for (figure, value) in &outcome.figures {
            self.0
                .insert((round, outcome.variant.to_owned(), figure.clone()), *value);
        }
    }

    /// Reads a file; lines that are not figures are passed over.
    pub fn read(text: &str) -> Self {
        let row = |cells: Vec<String>| {
            let [round, variant, figure, value] = <[String; 4]>::try_from(cells).ok()?;
            Some(((round.parse().ok()?, variant, figure), value.parse().ok()?))
        };
        Rounds(harness::csv::rows(text).filter_map(row).collect())
    }

    /// The text of the file.
    pub fn csv(&self) -> String {
        let lines = self.0.iter().map(|((round, variant, figure), value)| {
            harness::csv::line(&[&round.to_string(), variant, figure, &format!("{value:.6}")])
        });
        let header = harness::csv::line(&HEADER);
        std::iter::once(header).chain(lines).collect()
    }

    /// A figure over all rounds.
    fn spread(&self, variant: &str, figure: &str) -> Option<Spread> {
        Spread::of(self.values(variant, figure).map(|(_, value)| value))
    }

    /// A figure over that of another variant in the same round.
    fn ratio(&self, [variant, floor]: [&str; 2], figure: &str) -> Option<Spread> {
        let ratios = self.values(variant, figure).filter_map(|(round, value)| {
            let key = (round, floor.to_owned(), figure.to_owned());
            Some(value / self.0.get(&key)?)
        });
        Spread::of(ratios)
    }

    fn values(&self, variant: &str, figure: &str) -> impl Iterator<Item = (u32, f64)> {
        let theirs = move |((_, of, name), _): &(&(u32, String, String), &f64)| of == variant && name == figure;
        self.0
            .iter()
            .filter(theirs)
            .map(|((round, ..), value)| (*round, *value))
    }

    fn cell(&self, variant: &str, figure: &str, digits: usize) -> String {
        cell(self.spread(variant, figure), digits)
    }

    /// The tables of the page.
    pub fn tables(&self) -> String {
        [self.costs(), self.hops(), self.relay(), self.trunk()].concat()
    }

    fn costs(&self) -> String {
        let mut text = "| variant | replicas/s | arrived | cores of all nodes | us/replica | us/replica over `one` |\n\
                        |---|--:|--:|--:|--:|--:|\n"
            .to_owned();
        for variant in ["one", "two", "four", "chain"] {
            let _ = writeln!(
                text,
                "| {variant} | {} | {} | {} | {} | {} |",
                self.cell(variant, "replicas_per_s", 0),
                self.cell(variant, "arrived", 4),
                self.cell(variant, "cores", 3),
                self.cell(variant, "us_per_replica", 2),
                cell(self.ratio([variant, "one"], "us_per_replica"), 2),
            );
        }
        text + "\n"
    }

    fn hops(&self) -> String {
        let mut text =
            "| variant | p50 us by trunks crossed: 0, 1, 2, 3 | p99 us | p50 over `one` | p99 over `one` |\n\
                        |---|---|---|---|---|\n"
                .to_owned();
        for variant in ["one", "two", "four", "chain", "single", "relay"] {
            let by_depth = |show: &dyn Fn(&str) -> Option<String>, quantile: &str| {
                let shown = (0..=DEPTH_MAX).filter_map(|depth| show(&format!("{quantile}_us_{depth}")));
                shown.collect::<Vec<_>>().join("; ")
            };
            let plain = |name: &str| Some(format!("{:.0}", self.spread(variant, name)?));
            let over = |name: &str| {
                let floor = name.replace(|digit: char| ('1'..='3').contains(&digit) && name.ends_with(digit), "0");
                Some(format!("{:.2}", self.over(variant, name, &floor)?))
            };
            let _ = writeln!(
                text,
                "| {variant} | {} | {} | {} | {} |",
                by_depth(&plain, "p50"),
                by_depth(&plain, "p99"),
                by_depth(&over, "p50"),
                by_depth(&over, "p99"),
            );
        }
        text + "\n"
    }

    /// A figure over another one of the floor in the same round.
    fn over(&self, variant: &str, figure: &str, of_floor: &str) -> Option<Spread> {
        let floor = match variant {
            "single" | "relay" => "single",
            _ => "one",
        };
        let ratios = self.values(variant, figure).filter_map(|(round, value)| {
            let key = (round, floor.to_owned(), of_floor.to_owned());
            Some(value / self.0.get(&key)?)
        });
        Spread::of(ratios)
    }

    fn relay(&self) -> String {
        format!(
            "| node | us/packet | over `single` |\n|---|--:|--:|\n\
             | `single`: from the camera to one receiver of each encoding | {} | 1 |\n\
             | `relay`: from a trunk to a trunk | {} | {} |\n\n",
            self.cell("single", "us_per_packet", 1),
            self.cell("relay", "us_per_packet", 1),
            cell(self.ratio(["relay", "single"], "us_per_packet"), 2),
        )
    }

    fn trunk(&self) -> String {
        let mut text = "| on the trunk, over one copy of each encoding | counted | lossy |\n|---|--:|--:|\n".to_owned();
        for (name, figure, digits) in [
            ("packets of media", "media_packets", 4),
            ("bytes of media", "media_bytes", 4),
            ("bytes of retransmissions and padding", "repair_bytes", 4),
            ("bytes of RTCP, down", "down_rtcp_bytes", 4),
            ("bytes of RTCP, up", "up_rtcp_bytes", 4),
            ("packets lost", "lost", 0),
            ("packets asked for, for each that was lost", "asked_per_lost", 3),
            (
                "retransmissions and padding, for each that was lost",
                "repairs_per_lost",
                3,
            ),
            ("whole pictures behind the trunk", "whole_far", 5),
            ("of so many", "pictures_far", 0),
            ("repaired packets: p50, ms after they were sent", "late_p50_ms", 1),
            ("repaired packets: p99, ms", "late_p99_ms", 1),
        ] {
            let [counted, lossy] = ["counted", "lossy"].map(|variant| self.cell(variant, figure, digits));
            let _ = writeln!(text, "| {name} | {counted} | {lossy} |");
        }
        text + "\n"
    }
}

fn cell(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or("-".to_owned(), |spread| format!("{spread:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(variant: &'static str, figures: &[(&str, f64)]) -> Outcome {
        Outcome {
            variant,
            figures: figures
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            faults: Vec::new(),
            beside: None,
        }
    }

    #[test]
    fn rounds_survive_their_file_and_are_compared_within_a_round() {
        let mut rounds = Rounds::default();
        for (round, costs) in [[2.0, 3.0], [4.0, 4.0]].into_iter().enumerate() {
            rounds.add(
                round as u32,
                &outcome("one", &[("us_per_replica", costs[0]), ("p50_us_0", 100.0)]),
            );
            let two = [("us_per_replica", costs[1]), ("p50_us_0", 90.0), ("p50_us_1", 250.0)];
            rounds.add(round as u32, &outcome("two", &two));
        }
        assert_eq!(Rounds::read(&rounds.csv()), rounds);
        let tables = rounds.tables();
        assert!(
            tables.contains("| two | - | - | - | 3.50 (3.00-4.00) | 1.25 (1.00-1.50) |"),
            "{tables}"
        );
        assert!(tables.contains("| two | 90; 250 |  | 0.90; 2.50 |  |"), "{tables}");
    }
}
