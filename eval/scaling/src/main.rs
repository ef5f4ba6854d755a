//! `weir-scaling`: how the cost of forwarding grows with receivers, rooms and tables.
//!
//! Writes its tables into a page between markers, and charts and all figures beside the page. Ends
//! with an error when something grows faster than it may.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;
use scaling::axes::{self, Series};
use scaling::meter::Meter;
use scaling::report::{self, Axis};

/// Measures how the cost of forwarding grows: a minute, and the machine may be busy.
#[derive(Parser)]
struct Arguments {
    /// The page to write the tables into; charts and figures go into a folder of its name.
    #[arg(long, default_value = "docs/measured/performance.md")]
    page: PathBuf,
    /// Only this axis (receivers, agent, rooms, entries), to be printed and not written.
    #[arg(long, value_name = "AXIS")]
    only: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut meter = Meter::open();
    let only = arguments.only.as_deref();
    let axes = measure(&mut meter, only);
    let text = report::tables(&axes, meter.unit());
    print!("{text}");
    if only.is_none()
        && let Err(error) = write(&arguments.page, &axes, &text, &meter)
    {
        eprintln!("weir-scaling: {}: {error}", arguments.page.display());
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for axis in &axes {
        for series in axis.beyond_bounds(meter.unit()) {
            eprintln!("weir-scaling: {}: {} grows faster than it may", axis.name, series.name);
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn measure(meter: &mut Meter, only: Option<&str>) -> Vec<Axis> {
    type Measured = fn(&mut Meter) -> Vec<Series>;
    let axes: [(&'static str, &'static str, Measured); 4] = [
        ("receivers", "Receivers of one stream", |meter| {
            axes::receivers(meter, axes::RECEIVERS, axes::REPLICAS)
        }),
        ("agent", "Receivers who report", |meter| {
            axes::agent(meter, axes::RECEIVERS, axes::CALL)
        }),
        ("rooms", "Rooms of five", |meter| {
            axes::rooms(meter, axes::ROOMS, axes::REPLICAS)
        }),
        ("entries", "Table entries", |meter| {
            axes::entries(meter, axes::ENTRIES, axes::REPLICAS)
        }),
    ];
    axes.into_iter()
        .filter(|(name, ..)| only.is_none_or(|only| only == *name))
        .map(|(name, title, measured)| Axis {
            name,
            title,
            series: measured(meter),
        })
        .collect()
}

fn write(page: &std::path::Path, axes: &[Axis], text: &str, meter: &Meter) -> io::Result<()> {
    let folder = page.with_extension("");
    fs::create_dir_all(&folder)?;
    for axis in axes {
        let chart = axis.chart(meter.unit());
        fs::write(folder.join(format!("scaling-{}.svg", axis.name)), chart)?;
    }
    fs::write(folder.join("scaling.csv"), report::csv(axes))?;
    let before = fs::read_to_string(page)?;
    fs::write(page, report::put_into(&before, text))
}
