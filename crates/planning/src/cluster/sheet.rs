//! The answer: numbers with their origin.

use std::fmt::Write as _;

use serde::Serialize;

use crate::report::grouped;

/// A worked sheet of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// The question in words.
    pub question: String,
    /// The numbers, in the order of their calculation.
    pub lines: Vec<Line>,
    /// Limits that are exceeded, in sentences.
    pub beyond: Vec<String>,
    /// The origin of the costs.
    pub source: String,
}

/// A number and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The name of the number.
    pub what: &'static str,
    /// The number, in thousandths of the unit.
    pub thousandths: u64,
    /// The unit, if it is not a number of things.
    pub unit: &'static str,
    /// How it came about.
    pub from: String,
}

impl Sheet {
    pub(super) fn new(question: String, source: &str) -> Self {
        Sheet {
            question,
            lines: Vec::new(),
            beyond: Vec::new(),
            source: source.trim().to_owned(),
        }
    }

    /// Adds a number of whole things.
    pub(super) fn count(&mut self, what: &'static str, number: u64, from: impl Into<String>) {
        self.add(what, number.saturating_mul(1_000), "", from);
    }

    /// Adds a rate. Shape: bits per second.
    pub(super) fn rate(&mut self, what: &'static str, bits: u64, from: impl Into<String>) {
        self.add(what, bits / 1_000, "Mbit/s", from);
    }

    pub(super) fn add(&mut self, what: &'static str, thousandths: u64, unit: &'static str, from: impl Into<String>) {
        self.lines.push(Line {
            what,
            thousandths,
            unit,
            from: from.into(),
        });
    }

    /// Notes a limit if it is exceeded.
    pub(super) fn limit(&mut self, what: &str, number: u64, most: u64) {
        if number > most {
            let (number, most) = (grouped(number), grouped(most));
            self.beyond
                .push(format!("{what}: {number}, of which there may be {most}"));
        }
    }

    /// The sheet for a terminal.
    pub fn text(&self) -> String {
        let value = |line: &Line| {
            let (whole, parts) = (line.thousandths / 1_000, line.thousandths % 1_000);
            match parts {
                0 => format!("{} {}", grouped(whole), line.unit).trim_end().to_owned(),
                _ => format!("{}.{parts:03} {}", grouped(whole), line.unit)
                    .trim_end()
                    .to_owned(),
            }
        };
        let values: Vec<_> = self.lines.iter().map(value).collect();
        let widest = |lens: &mut dyn Iterator<Item = usize>| lens.max().unwrap_or(0);
        let names = widest(&mut self.lines.iter().map(|line| line.what.len()));
        let numbers = widest(&mut values.iter().map(String::len));
        let mut text = format!("question: {}\n\n", self.question);
        for (line, value) in self.lines.iter().zip(&values) {
            let shown = format!("{:names$}  {value:>numbers$}  {}", line.what, line.from);
            let _ = writeln!(text, "{}", shown.trim_end());
        }
        if !self.beyond.is_empty() {
            text.push_str("\nbeyond a limit:\n");
            self.beyond.iter().for_each(|beyond| _ = writeln!(text, "  {beyond}"));
        }
        let _ = writeln!(text, "\ncosts: {}", self.source);
        text
    }
}
