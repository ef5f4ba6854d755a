//! Tables for people, figures for machines.

use std::fmt::Write;

use crate::axes::{Sample, Series};
use crate::chart::{Line, Panel, svg};
use crate::meter::Unit;
use crate::slope::Slope;

const BEGIN: &str = "<!-- scaling begins -->\n";
const END: &str = "<!-- scaling ends -->\n";

/// One thing that was made larger, and everything that was measured meanwhile.
#[derive(Clone, Debug)]
pub struct Axis {
    /// In file names.
    pub name: &'static str,
    /// Above its chart.
    pub title: &'static str,
    /// The measured series.
    pub series: Vec<Series>,
}

impl Axis {
    /// The series that grow faster than their bound.
    pub fn beyond_bounds(&self, unit: Unit) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |series| !series.is_within_bounds(unit))
    }

    /// Work and memory beside each other, as SVG.
    pub fn chart(&self, unit: Unit) -> String {
        let lines = |value: &dyn Fn(&Sample) -> f64, series: &[Series]| -> Vec<Line> {
            let line = |series: &Series| Line {
                label: format!("{}, per {}", series.name, series.per),
                points: series.points(value),
            };
            series.iter().map(line).collect()
        };
        let mut memory = lines(&|sample| sample.heap as f64, &self.series);
        // A device that is measured in several ways has the same memory in each.
        memory.dedup_by(|later, former| later.points == former.points);
        let names: Vec<_> = self.series.iter().map(|series| series.name).collect();
        match memory.len() {
            1 => memory[0].label = "all entries".into(),
            _ => memory
                .iter_mut()
                .zip(names)
                .for_each(|(line, name)| line.label = name.into()),
        }
        let work = Panel {
            title: format!("{}: {}", self.title, unit.name()),
            x_label: self.name,
            lines: lines(&|sample| sample.share(unit), &self.series),
        };
        let memory = Panel {
            title: format!("{}: bytes of heap", self.title),
            x_label: self.name,
            lines: memory,
        };
        svg(&[work, memory])
    }

    fn table(&self, text: &mut String, unit: Unit) {
        let _ = writeln!(text, "\n![{}](performance/scaling-{}.svg)\n", self.title, self.name);
        let sizes = self
            .series
            .iter()
            .map(|series| &series.samples)
            .max_by_key(|samples| samples.len());
        let sizes: Vec<u64> = sizes.into_iter().flatten().map(|sample| sample.size).collect();
        let head: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "| {} | {} | slope, at the end |", self.name, head.join(" | "));
        let _ = writeln!(text, "|---|{}---|", "--:|".repeat(sizes.len()));
        for series in &self.series {
            let name = format!("{}: {} per {}", series.name, unit.name(), series.per);
            row(text, &name, series, Some(series.work(unit)), |sample| {
                grouped(sample.share(unit))
            });
            let piece = series.piece;
            if series.per != piece {
                let name = format!("{} per {piece}", unit.name());
                row(text, &name, series, None, |sample| grouped(sample.per_piece(unit)));
            }
            row(text, &format!("ns per {piece}"), series, None, |sample| {
                grouped(sample.per_piece(Unit::Nanoseconds))
            });
        }
        let mut before: Option<Vec<u64>> = None;
        for series in &self.series {
            let heaps: Vec<u64> = series.samples.iter().map(|sample| sample.heap).collect();
            if before.as_ref() != Some(&heaps) {
                let name = format!("{}: kB of heap", series.name);
                row(text, &name, series, Some(series.memory()), |sample| {
                    grouped(sample.heap as f64 / 1e3)
                });
            }
            before = Some(heaps);
        }
    }
}

impl Series {
    /// The cost of a single entry that makes a table grow is proportional to the table, and memory
    /// grows in steps likewise.
    fn is_within_bounds(&self, unit: Unit) -> bool {
        let is_stepped = self.samples.iter().all(|sample| sample.pieces == 1);
        let work = match is_stepped {
            true => self.work(unit).is_within_by_steps(self.bound),
            false => self.work(unit).is_within(self.bound),
        };
        work && self.memory().is_within_by_steps(1.0)
    }

    /// How its work grows.
    pub fn work(&self, unit: Unit) -> Slope {
        Slope::of(&self.points(&|sample| sample.share(unit)))
    }

    /// How its memory grows.
    pub fn memory(&self) -> Slope {
        Slope::of(&self.points(&|sample| sample.heap as f64))
    }

    fn points(&self, value: &dyn Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        let point = |sample: &Sample| (sample.size as f64, value(sample));
        self.samples.iter().map(point).collect()
    }
}

impl Sample {
    /// Cost of one unit of the series.
    fn share(&self, unit: Unit) -> f64 {
        self.cost.in_unit(unit) / self.times
    }

    /// Cost of one replica or one entry.
    fn per_piece(&self, unit: Unit) -> f64 {
        self.cost.in_unit(unit) / self.pieces as f64
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Instructions => "instructions",
            Unit::Nanoseconds => "ns of processor time (no counters)",
        }
    }
}

fn row(text: &mut String, name: &str, series: &Series, slope: Option<Slope>, cell: impl Fn(&Sample) -> String) {
    let cells: Vec<String> = series.samples.iter().map(cell).collect();
    let slope = slope.map_or(String::new(), |slope| {
        format!("{:.2}, {:.2}", slope.fitted, slope.at_end)
    });
    let _ = writeln!(text, "| {name} | {} | {slope} |", cells.join(" | "));
}

/// A table for each axis.
pub fn tables(axes: &[Axis], unit: Unit) -> String {
    let mut text = String::new();
    if unit == Unit::Nanoseconds {
        text.push_str("\nThe processor's counters could not be read: judged by processor time, which is noisy.\n");
    }
    axes.iter().for_each(|axis| axis.table(&mut text, unit));
    text.push_str("\n[All figures](performance/scaling.csv)\n");
    text
}

/// Everything measured, one line each.
pub fn csv(axes: &[Axis]) -> String {
    let mut text = String::from("axis,work,size,per,times,pieces,instructions,cycles,cpu_ns,heap_bytes\n");
    for axis in axes {
        for series in &axis.series {
            for sample in &series.samples {
                let (cost, name) = (sample.cost, series.name.replace(',', ""));
                let _ = writeln!(
                    text,
                    "{},{name},{},{},{:.1},{},{},{},{},{}",
                    axis.name,
                    sample.size,
                    series.per,
                    sample.times,
                    sample.pieces,
                    cost.instructions,
                    cost.cycles,
                    cost.time.as_nanos(),
                    sample.heap,
                );
            }
        }
    }
    text
}

/// The page with these tables in place of its last ones; at its end if there were none.
pub fn put_into(page: &str, tables: &str) -> String {
    let old = page.find(BEGIN).zip(page.find(END)).filter(|(from, to)| from < to);
    match old {
        Some((from, to)) => format!("{}{BEGIN}{tables}{}", &page[..from], &page[to..]),
        None => format!("{page}\n## How cost grows\n\n{BEGIN}{tables}{END}"),
    }
}

/// A number with its thousands apart; tenths where it is small.
fn grouped(number: f64) -> String {
    if number < 10.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [7.25, 12.0, 999.6, 1_234_567.0].map(grouped),
            ["7.2", "12", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn tables_replace_their_forerunners_and_nothing_else() {
        let first = put_into("before\n", "one\n");
        let second = put_into(&format!("{first}behind\n"), "two\n");
        assert_eq!(second, format!("{}behind\n", first.replace("one", "two")));
    }
}
