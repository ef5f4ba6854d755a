//! The OpenMetrics text format, as far as the library does not write it.

use std::fmt::{Display, Write};

/// Text in the making.
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    /// Goes on with what was written before; it must not have been ended yet.
    pub(crate) fn after(text: String) -> Self {
        Self(text)
    }

    /// Says what the samples that follow mean.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}."));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// One value.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (position, (label, text)) in labels.iter().enumerate() {
            let before = if position == 0 { '{' } else { ',' };
            write!(self.0, "{before}{label}=\"{}\"", escaped(text)).expect("writing to a string does not fail");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        self.line(format_args!(" {value}"));
    }

    /// The whole of it.
    pub(crate) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("writing to a string does not fail");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A gauge histogram: the distribution of a value at one moment. Unlike a histogram it drops
/// receivers that have left.
///
/// Source: OpenMetrics 1.0 section 5.6.
#[derive(Clone, Debug)]
pub(crate) struct GaugeHistogram<const N: usize> {
    edges: [f64; N],
    /// Values up to each edge and above the one before; those above all edges last.
    counts: Vec<u64>,
    sum: f64,
}

impl<const N: usize> GaugeHistogram<N> {
    /// An empty one; `edges` rise.
    pub(crate) fn new(edges: [f64; N]) -> Self {
        Self {
            edges,
            counts: vec![0; N + 1],
            sum: 0.0,
        }
    }

    /// One more value.
    pub(crate) fn observe(&mut self, value: f64) {
        self.counts[self.edges.partition_point(|edge| *edge < value)] += 1;
        self.sum += value;
    }

    /// The family.
    pub(crate) fn write(&self, text: &mut Text, name: &str, help: &str) {
        text.family(name, "gaugehistogram", help);
        let edges = self.edges.iter().map(|edge| format!("{edge:?}"));
        let mut total = 0;
        for (edge, count) in edges.chain(["+Inf".to_owned()]).zip(&self.counts) {
            total += count;
            text.sample(&format!("{name}_bucket"), &[("le", &edge)], total);
        }
        text.sample(&format!("{name}_gcount"), &[], total);
        text.sample(&format!("{name}_gsum"), &[], self.sum);
    }
}
