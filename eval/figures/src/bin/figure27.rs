//! Scallop, Figure 27: the cost of sequence rewriting in retransmissions, against the loss rate.
//!
//! `figure27` prints the tables. It writes the charts to `docs/design/rewriting`, and the curves
//! and the paper's conditions to `docs/measured/papers/rewriting.csv`. `figure27 DIR` writes all of
//! it to DIR.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use figures::call::{Conditions, Tally, play};
use figures::loss::Pattern;
use figures::plot::{Chart, Line};
use figures::source;
use figures::spread::Spread;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rewriting::{Cadence, Exact, LowMemory, LowRetransmission, LowRetransmissionOf};

const SEEDS: u64 = 21;
const SECONDS: u64 = 60;
const LOSSES: [f64; 10] = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2];
const BITS_PER_SECOND: f64 = 1.0e6;
/// The paper's values for S-LR: under 5 % at 10 % loss, around 7.5 % at 20 %.
const PAPER: [(f64, f64); 2] = [(0.1, 0.05), (0.2, 0.075)];
const USUAL: Conditions = Conditions {
    pattern: Pattern::Random,
    loss: 0.1,
    reordered: 0.002,
    round_trip_us: 60_000,
    cadence: Cadence::Second,
};

fn main() -> io::Result<()> {
    let given = env::args().nth(1).map(PathBuf::from);
    let directory = given.clone().unwrap_or_else(|| PathBuf::from("docs/design/rewriting"));
    let tables = given.unwrap_or_else(|| PathBuf::from("docs/measured/papers"));
    fs::create_dir_all(&directory)?;
    fs::create_dir_all(&tables)?;
    let mut rows = String::from(HEADER);
    let bursty = Conditions {
        pattern: Pattern::Bursty,
        ..USUAL
    };
    let fourth = Conditions {
        cadence: Cadence::Fourth,
        ..USUAL
    };
    curve(
        &directory,
        &mut rows,
        "15fps",
        "15 of 30 frames a second, random loss",
        USUAL,
    )?;
    curve(
        &directory,
        &mut rows,
        "15fps-bursty",
        "15 of 30 frames a second, bursts of four",
        bursty,
    )?;
    curve(
        &directory,
        &mut rows,
        "7fps",
        "7.5 of 30 frames a second, random loss",
        fourth,
    )?;
    rates();
    round_trips();
    as_in_the_paper(&mut rows);
    fs::write(tables.join("rewriting.csv"), rows)
}

/// The columns of the file. Shares are in percent; each is a median of the seeds.
const HEADER: &str = "conditions,rewriter,least_packets,loss_percent,overhead_percent,not_delivered_percent\n";

/// Adds a line to the file.
fn row(rows: &mut String, (conditions, rewriter, least): (&str, &str, u16), loss: f64, shares: [Spread; 2]) {
    let [overhead, missed] = shares.map(|share| share.median * 100.0);
    let _ = writeln!(
        rows,
        "{conditions},{rewriter},{least},{},{overhead:.2},{missed:.2}",
        loss * 100.0
    );
}

/// The conditions that give the paper's curve: frames of 3 to 7 packets, every second one left out,
/// no reordering. Type-2 errors are counted once, per packet of the stream. The rewriter knows that
/// a frame has three packets or more, or does not know it.
fn as_in_the_paper(rows: &mut String) {
    println!("\nFrames of 3 to 7 packets, every second one left out, no reordering\n");
    println!("| loss, % | S-LR, 3 packets known | S-LR, 1 packet known |\n|---|---|---|");
    let streams: Vec<_> = (0..SEEDS)
        .map(|seed| source::plain(3..=7, SECONDS, &mut StdRng::seed_from_u64(seed)))
        .collect();
    for loss in LOSSES {
        let conditions = Conditions {
            loss,
            reordered: 0.0,
            ..USUAL
        };
        let three = with(&streams, conditions, play::<LowRetransmissionOf<3>>);
        let one = with(&streams, conditions, play::<LowRetransmission>);
        let mut cells = Vec::new();
        for (least, tallies) in [(3, three), (1, one)] {
            let errors = spread(&tallies, Tally::type_two_of_source);
            row(
                rows,
                ("paper", "S-LR", least),
                loss,
                [errors, spread(&tallies, Tally::missed)],
            );
            cells.push(errors.to_string());
        }
        println!("| {} | {} |", loss * 100.0, cells.join(" | "));
    }
}

/// The same calls with each rewriter.
struct Runs {
    low_memory: Vec<Tally>,
    low_retransmission: Vec<Tally>,
    exact: Vec<Tally>,
}

impl Runs {
    fn of(bits_per_second: f64, conditions: Conditions) -> Self {
        let streams: Vec<_> = (0..SEEDS)
            .map(|seed| source::stream(bits_per_second, SECONDS, &mut StdRng::seed_from_u64(seed)))
            .collect();
        Runs {
            low_memory: with(&streams, conditions, play::<LowMemory>),
            low_retransmission: with(&streams, conditions, play::<LowRetransmission>),
            exact: with(&streams, conditions, play::<Exact>),
        }
    }
}

/// Each stream through one kind of rewriter, each with losses of its own.
fn with(
    streams: &[Vec<source::SourcePacket>],
    conditions: Conditions,
    play: fn(&[source::SourcePacket], Conditions, u64) -> Tally,
) -> Vec<Tally> {
    let tallies = streams
        .iter()
        .zip(1_000..)
        .map(|(stream, seed)| play(stream, conditions, seed));
    tallies
        .inspect(|tally| assert_eq!(tally.masked, 0, "type-1 error"))
        .collect()
}

fn spread(tallies: &[Tally], figure: fn(&Tally) -> f64) -> Spread {
    Spread::of(tallies.iter().map(figure))
}

fn curve(directory: &Path, rows: &mut String, name: &str, title: &str, conditions: Conditions) -> io::Result<()> {
    println!("\n{title}, {} Mbit/s\n", BITS_PER_SECOND / 1e6);
    println!(
        "| loss, % | Exact | S-LR | S-LM | S-LM, type 2 alone | not delivered: S-LR | S-LM |\n|---|---|---|---|---|---|---|"
    );
    let (mut exact, mut low_retransmission, mut low_memory) = (Vec::new(), Vec::new(), Vec::new());
    for loss in LOSSES {
        let runs = Runs::of(BITS_PER_SECOND, Conditions { loss, ..conditions });
        let row = [
            spread(&runs.exact, Tally::overhead),
            spread(&runs.low_retransmission, Tally::overhead),
            spread(&runs.low_memory, Tally::overhead),
            spread(&runs.low_memory, Tally::type_two),
            spread(&runs.low_retransmission, Tally::missed),
            spread(&runs.low_memory, Tally::missed),
        ];
        println!(
            "| {} | {} |",
            loss * 100.0,
            row.map(|cell| cell.to_string()).join(" | ")
        );
        for (rewriter, overhead, missed) in [
            ("Exact", row[0], spread(&runs.exact, Tally::missed)),
            ("S-LR", row[1], row[4]),
            ("S-LM", row[2], row[5]),
        ] {
            self::row(rows, (name, rewriter, 1), loss, [overhead, missed]);
        }
        exact.push((loss, row[0]));
        low_retransmission.push((loss, row[1]));
        low_memory.push((loss, row[2]));
    }
    let line = |label, colour, dashed, values| Line {
        label,
        colour,
        dashed,
        values,
    };
    let chart = Chart {
        title: title.to_owned(),
        x_label: "packets lost, %",
        y_label: "unneeded retransmissions per packet forwarded, %",
        x_max: 0.2,
        y_max: if conditions.cadence == Cadence::Fourth {
            0.5
        } else {
            0.25
        },
        lines: vec![
            line("S-LM", "#c44", true, low_memory),
            line("S-LR", "#06c", false, low_retransmission),
            line("Exact", "#393", false, exact),
        ],
        points: PAPER.to_vec(),
        points_label: "S-LR in the paper (the first is an upper bound)",
    };
    fs::write(directory.join(format!("{name}.svg")), chart.svg())
}

/// How much depends on the size of the frames.
fn rates() {
    println!("\n10 % loss\n");
    println!(
        "| Mbit/s | fps | loss | Exact | S-LR | S-LR per packet of the stream | S-LM, type 2 alone |\n|---|---|---|---|---|---|---|"
    );
    for bits_per_second in [0.3e6, 0.5e6, 1.0e6, 2.2e6] {
        for (cadence, fps) in [(Cadence::Second, "15"), (Cadence::Fourth, "7.5")] {
            for pattern in [Pattern::Random, Pattern::Bursty] {
                let runs = Runs::of(
                    bits_per_second,
                    Conditions {
                        pattern,
                        cadence,
                        ..USUAL
                    },
                );
                let row = [
                    spread(&runs.exact, Tally::overhead),
                    spread(&runs.low_retransmission, Tally::overhead),
                    spread(&runs.low_retransmission, Tally::overhead_of_source),
                    spread(&runs.low_memory, Tally::type_two),
                ];
                let cells = row.map(|cell| cell.to_string()).join(" | ");
                println!("| {} | {fps} | {pattern:?} | {cells} |", bits_per_second / 1e6);
            }
        }
    }
}

/// How long the history of S-LR lasts.
fn round_trips() {
    println!("\n15 fps, 10 % random loss\n");
    println!(
        "| round trip, ms | S-LR | S-LR, type 2 alone | S-LR, not delivered | Exact, not delivered |\n|---|---|---|---|---|"
    );
    for milliseconds in [20, 60, 100, 150, 200, 300] {
        let conditions = Conditions {
            round_trip_us: milliseconds * 1_000,
            ..USUAL
        };
        let runs = Runs::of(BITS_PER_SECOND, conditions);
        let row = [
            spread(&runs.low_retransmission, Tally::overhead),
            spread(&runs.low_retransmission, Tally::type_two),
            spread(&runs.low_retransmission, Tally::missed),
            spread(&runs.exact, Tally::missed),
        ];
        println!("| {milliseconds} | {} |", row.map(|cell| cell.to_string()).join(" | "));
    }
}
