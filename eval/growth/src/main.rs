//! `weir-growth`: how the cost of forwarding grows with receivers, rooms and tables.
//!
//! Writes its tables into a page between markers, and charts and all figures beside the page. Ends with an error when something grows faster
//! than it may.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;
use growth::axes;
use growth::meter::Meter;
use growth::report::{self, Axis};

/// Measures how the cost of forwarding grows: a minute, and the machine may be busy.
#[derive(Parser)]
struct Arguments {
    /// The page to write the tables into; charts and figures go into a folder of its name.
    #[arg(long, default_value = "docs/performance.md")]
    page: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut meter = Meter::open();
    let axes = measure(&mut meter);
    let text = report::tables(&axes, meter.unit());
    print!("{text}");
    if let Err(error) = write(&arguments.page, &axes, &text, &meter) {
        eprintln!("weir-growth: {}: {error}", arguments.page.display());
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for axis in &axes {
        for series in axis.beyond_bounds(meter.unit()) {
            eprintln!("weir-growth: {}: {} grows faster than it may", axis.name, series.name);
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn measure(meter: &mut Meter) -> [Axis; 4] {
    [
        Axis {
            name: "receivers",
            title: "Receivers of one stream",
            series: axes::receivers(meter, axes::RECEIVERS, axes::REPLICAS),
        },
        Axis {
            name: "agent",
            title: "Receivers who report",
            series: axes::agent(meter, axes::RECEIVERS, axes::CALL),
        },
        Axis {
            name: "rooms",
            title: "Rooms of five",
            series: axes::rooms(meter, axes::ROOMS, axes::REPLICAS),
        },
        Axis {
            name: "entries",
            title: "Table entries",
            series: axes::entries(meter, axes::ENTRIES, axes::REPLICAS),
        },
    ]
}

fn write(page: &std::path::Path, axes: &[Axis], text: &str, meter: &Meter) -> io::Result<()> {
    let folder = page.with_extension("");
    fs::create_dir_all(&folder)?;
    for axis in axes {
        let chart = axis.chart(meter.unit());
        fs::write(folder.join(format!("growth-{}.svg", axis.name)), chart)?;
    }
    fs::write(folder.join("growth.csv"), report::csv(axes))?;
    let before = fs::read_to_string(page)?;
    fs::write(page, report::put_into(&before, text))
}
