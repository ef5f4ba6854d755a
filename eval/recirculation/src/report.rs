//! The results as tables in Markdown, a file and drawings.

use std::fmt::Write as _;

use harness::curves::{Curve, Drawing, Panel, Scale};
use harness::{page, software};

use crate::plan::{self, THESIS, rate};
use crate::summary::{Knee, Results, Summary, THESIS_P4, THESIS_PYTHON};
use crate::way::Way;

/// The columns of the file of summaries, those of the thesis' tables.
const HEADER: [&str; 12] = [
    "sfu",
    "rate_mbps",
    "viewers",
    "runs",
    "packets",
    "least_ms",
    "greatest_ms",
    "average_ms",
    "change_to_previous_percent",
    "deviation_between_runs_ms",
    "lost",
    "leaving_mbps",
];

/// Our counterparts of the thesis' userspace SFU: the same loop, and Weir's sockets.
const USERSPACE: [(&str, Way); 2] = [
    ("Beside the naive SFU", Way::Naive),
    ("Beside Weir's sockets", Way::Userspace),
];

/// The ways, with the thesis' SFUs first.
fn names() -> impl Iterator<Item = &'static str> {
    [THESIS_P4, THESIS_PYTHON].into_iter().chain(Way::ALL.map(Way::name))
}

/// Everything in Markdown, each table a question.
pub(crate) fn tables(results: &Results) -> String {
    let mut text = setting(results);
    for (kbps, _) in THESIS {
        let _ = write!(
            text,
            "### Average delay at {} Mbit/s, in ms\n\n{}\n",
            rate(kbps),
            table(
                "viewers",
                results.viewers(kbps).into_iter().map(|viewers| {
                    let cell = |name| results.get(name, kbps, viewers).map(|it| delay(it.average));
                    (viewers.to_string(), names().map(cell).collect())
                })
            )
        );
    }
    let _ = write!(text, "### Packets lost\n\n{}\n", lost(results));
    let _ = write!(text, "### The knee\n\n{}\n", knees(results));
    for (title, userspace) in USERSPACE {
        let _ = write!(text, "### {title}\n\n{}\n", beside(results, userspace));
    }
    text.truncate(text.trim_end().len() + 1);
    text
}

/// The machine, and what was not measured.
fn setting(results: &Results) -> String {
    let version = crate::way::switch_program().map(|program| software::version(&program, "--version"));
    let machine = software::describe_machine().join(", ");
    let mut text = page::paragraph(&match version {
        Some(version) => format!("{machine}, `simple_switch_grpc` {version}."),
        None => format!("{machine}."),
    });
    let absent: Vec<&str> = Way::ALL
        .map(Way::name)
        .into_iter()
        .filter(|name| results.of(name).next().is_none())
        .collect();
    if !absent.is_empty() {
        text += &page::paragraph(&format!(
            "Not measured: {}. (BMv2 is left out where `simple_switch_grpc` is not on the search path.)",
            absent.join(", ")
        ));
    }
    let earlier: Vec<&str> = results.earlier().collect();
    if !earlier.is_empty() {
        text += &page::paragraph(&format!(
            "Of an earlier run: {}. Their ratios are of averages in whole microseconds.",
            earlier.join(", ")
        ));
    }
    let left_out = plan::left_out(&results.loads());
    if !left_out.is_empty() {
        text += &page::paragraph(&format!(
            "Of the thesis' loads this run left out: {}.",
            left_out.join("; ")
        ));
    }
    text
}

/// A table with a column for each SFU.
fn table(first: &'static str, rows: impl Iterator<Item = (String, Vec<Option<String>>)>) -> String {
    let columns: Vec<&str> = std::iter::once(first).chain(names()).collect();
    let rows: Vec<(String, Vec<Option<String>>)> = rows.collect();
    markdown(&columns, rows)
}

fn markdown(columns: &[&str], rows: impl IntoIterator<Item = (String, Vec<Option<String>>)>) -> String {
    let mut text = format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for (first, cells) in rows {
        let _ = write!(text, "| {first} |");
        for cell in cells {
            let _ = match cell {
                Some(cell) => write!(text, " {cell} |"),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}

/// Milliseconds, with three digits that count.
fn delay(seconds: f64) -> String {
    let ms = seconds * 1e3;
    let digits = match ms {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

/// The most packets lost at each rate.
fn lost(results: &Results) -> String {
    let columns: Vec<String> = std::iter::once("SFU".into())
        .chain(THESIS.map(|(kbps, _)| format!("{} Mbit/s", rate(kbps))))
        .collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let worst = |name: &'static str, kbps: u32| {
        let cells = results.of(name).filter(|(of, ..)| *of == kbps);
        let worst = cells.max_by(|(.., one), (.., other)| one.lost_share().total_cmp(&other.lost_share()));
        worst.map(|(_, viewers, summary)| share(viewers, summary))
    };
    let rows = names().map(|name| (name.to_owned(), THESIS.map(|(kbps, _)| worst(name, kbps)).to_vec()));
    markdown(&columns, rows)
}

fn share(viewers: u32, summary: &Summary) -> String {
    match summary.lost {
        0.0 => "none".to_owned(),
        lost => {
            let plural = if viewers == 1 { "" } else { "s" };
            format!("{lost:.1} of {}, {viewers} viewer{plural}", summary.packets)
        }
    }
}

fn knees(results: &Results) -> String {
    let shown = |knee: Option<Knee>| {
        knee.map(|knee| match knee {
            Knee::At(rate) => format!("{rate}"),
            Knee::Above(rate) => format!("above {rate}"),
            Knee::Below(rate) => format!("below {rate}"),
        })
    };
    let most = |name: &'static str| {
        let rates = results.of(name).filter_map(|(.., summary)| summary.mbps_out);
        rates.reduce(f64::max).map(|rate| format!("{rate:.0}"))
    };
    let columns = [
        "SFU",
        "viewers added at 4 Mbit/s",
        "viewers added at 2.5 Mbit/s",
        "rate raised with 11 viewers",
        "most that left",
    ];
    let rows = names().map(|name| {
        let by_rate = (name != THESIS_P4 && name != THESIS_PYTHON)
            .then(|| results.knee_by_rate(name))
            .flatten();
        let by_viewers = [4_000, 2_500].map(|kbps| shown(results.knee_by_viewers(name, kbps)));
        let cells = [&by_viewers[..], &[shown(by_rate), most(name)]].concat();
        (name.to_owned(), cells)
    });
    markdown(&columns, rows)
}

/// Tables 9 and 10: the average delay over that of a userspace SFU on the same machine.
fn beside(results: &Results, userspace: Way) -> String {
    let ratio = |name: &'static str, kbps, viewers| {
        let userspace = match name {
            THESIS_P4 => THESIS_PYTHON,
            _ => userspace.name(),
        };
        let one = results.get(name, kbps, viewers)?;
        Some(one.average / results.get(userspace, kbps, viewers)?.average)
    };
    let others = || names().filter(|name| *name != THESIS_PYTHON && *name != userspace.name());
    let columns: Vec<&str> = ["Mbit/s", "viewers"].into_iter().chain(others()).collect();
    let mut rows = Vec::new();
    for kbps in [150, 76] {
        for viewers in results.viewers(kbps) {
            let ratios = others().map(|name| ratio(name, kbps, viewers).map(|it| format!("{it:.3}")));
            let cells: Vec<Option<String>> = std::iter::once(Some(viewers.to_string())).chain(ratios).collect();
            if cells[1..].iter().any(Option::is_some) {
                rows.push((rate(kbps), cells));
            }
        }
    }
    markdown(&columns, rows)
}

/// A line of the thesis' tables for each cell, its own included.
pub(crate) fn file(results: &Results) -> String {
    let mut text = harness::csv::line(&HEADER);
    for name in names() {
        for (kbps, viewers, summary) in results.of(name) {
            let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
            let percent = |share: f64| format!("{:.2}", share * 100.0);
            let cells = [
                name.to_owned(),
                rate(kbps),
                viewers.to_string(),
                summary.runs.to_string(),
                summary.packets.to_string(),
                ms(summary.least),
                ms(summary.greatest),
                ms(summary.average),
                results.change(name, kbps, viewers).map_or_else(String::new, percent),
                ms(summary.deviation),
                format!("{:.2}", summary.lost),
                summary.mbps_out.map_or_else(String::new, |rate| format!("{rate:.3}")),
            ];
            text += &harness::csv::line(&cells);
        }
    }
    text
}

/// Average delay against the number of viewers, a panel for each rate: with the thesis' P4 SFU, or
/// without.
pub(crate) fn drawing(results: &Results, with_thesis: bool) -> String {
    let panel = |(kbps, _): (u32, u32)| Panel {
        across: format!("viewers at {} Mbit/s", rate(kbps)),
        up: "average delay, ms".into(),
        scale: Scale::Linear,
        curves: names()
            .filter(|name| *name != THESIS_PYTHON && (with_thesis || *name != THESIS_P4))
            .map(|name| Curve {
                name: name.into(),
                points: results
                    .of(name)
                    .filter(|(of, ..)| *of == kbps)
                    .map(|(_, viewers, summary)| (f64::from(viewers), summary.average * 1e3))
                    .collect(),
            })
            .filter(|curve: &Curve| !curve.points.is_empty())
            .collect(),
    };
    let title = match with_thesis {
        true => "One packet to many: delay, beside the thesis",
        false => "One packet to many: delay on this machine",
    };
    Drawing {
        title: title.into(),
        panels: THESIS.map(panel).into(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thesis_stands_where_nothing_was_measured() {
        let results = Results::read("");
        let text = tables(&results);
        assert!(text.contains("\n| 5 | 142 |"), "table 1, five viewers");
        assert!(text.contains("\n| 1 | 1.69 | 1037 |"));
        assert!(text.contains("| thesis Python | 210.3 of 300, 1 viewer |"));
        assert!(text.contains("\n| thesis P4 | 16 | 15 |"));
        assert!(text.contains("Not measured: BMv2 multicast, "));
        assert!(text.contains("4 Mbit/s: everything; 2.5 Mbit/s: everything"));
        assert!(text.contains("\n| 0.15 | 5 | 0.002 |"), "table 9: 99.8 % faster");
    }

    #[test]
    fn the_file_has_the_columns_of_the_thesis() {
        let text = file(&Results::read(""));
        assert_eq!(text.lines().count(), 1 + 48 + 14);
        assert!(text.contains("\nthesis P4,4,4,3,300,4.434,161.159,44.819,583.74,9.311,0.00,\n"));
    }

    #[test]
    fn a_delay_has_three_digits_that_count() {
        assert_eq!(
            [0.000_012_3, 0.001_234, 0.0123, 0.123, 1.234].map(delay),
            ["0.012", "1.23", "12.3", "123", "1234"]
        );
    }
}
