//! Plays every scenario with both estimators, writes the table into `docs/design/bandwidth.md` and
//! the plots beside it.
//!
//! `cargo run -p links --release --example report [FIRST_SEED LAST_SEED]`

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use links::{Candidate, Scenario, catalogue, plot, report, run};

const BEGIN: &str = "<!-- table begins -->\n";
const END: &str = "<!-- table ends -->";
/// Other seeds than those that the estimator was tuned with.
const SEEDS: RangeInclusive<u64> = 101..=120;

/// Drawings: file, scenario, and whether the other estimator is drawn with it.
const PLOTS: [(&str, &str, bool); 8] = [
    ("steps", "4, 1, 0.5, 2 Mbit/s", true),
    ("small", "1.2, 0.3, 1.2 Mbit/s, RTT 100 ms", true),
    ("loss", "3, 1, 3 Mbit/s, 2 % loss, RTT 100 ms", true),
    ("bursty", "3, 1, 3 Mbit/s, 10 % bursty loss", true),
    ("jitter", "3, 1, 3 Mbit/s, jitter 15 ms", true),
    ("ramps", "ramps 4 to 1 to 4 Mbit/s over 30 s each", true),
    ("cross", "3 Mbit/s, cross traffic 1.5 Mbit/s", true),
    ("shared", "two flows, 5 Mbit/s, the second 20 s later", false),
];

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let seeds = match (arguments.next(), arguments.next()) {
        (Some(first), Some(last)) => first..=last,
        _ => SEEDS,
    };
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design");
    let scenarios = catalogue();
    for (file, name, both) in PLOTS {
        if let Some(scenario) = scenarios.iter().find(|scenario| scenario.name == name) {
            fs::write(docs.join(format!("bandwidth/{file}.svg")), draw(scenario, both))?;
        }
    }
    replace_table(&docs.join("bandwidth.md"), &report::table(&scenarios, &seeds))
}

fn draw(scenario: &Scenario, both: bool) -> String {
    let ours = run(scenario, Candidate::Weir, *SEEDS.start());
    let other = run(scenario, Candidate::RtcInterceptor, *SEEDS.start());
    let traces = [("Weir", &ours), ("rtc-interceptor", &other)];
    plot::draw(scenario.name, &traces[..if both { 2 } else { 1 }])
}

fn replace_table(page: &Path, table: &str) -> io::Result<()> {
    let text = fs::read_to_string(page)?;
    let marks = text.find(BEGIN).zip(text.find(END));
    let (begin, end) = marks.ok_or_else(|| io::Error::other("the page has no marks to put the table between"))?;
    fs::write(page, format!("{}{table}{}", &text[..begin + BEGIN.len()], &text[end..]))
}
