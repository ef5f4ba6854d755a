//! `weir-swiftcall`: the cost of sending one packet to many, in the kernel and outside of it.
//!
//! Read `way` for the compared ways, `measure` for the method.

#![deny(unsafe_code)]

mod bare;
mod burst;
mod measure;
mod report;
mod scene;
mod way;

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use bare::Sink;
use clap::Parser;
use report::Rounds;
use scene::{Media, Scene};
use way::Way;

/// Copies of one packet to many receivers: bare loops in the kernel, Weir in the kernel, Weir with
/// sockets.
#[derive(Parser)]
struct Arguments {
    /// Numbers of receivers.
    #[arg(long, value_delimiter = ',', default_value = "2,5,10,25,50,100")]
    receivers: Vec<u32>,
    /// Only these ways, by name; all otherwise.
    #[arg(long)]
    way: Vec<String>,
    /// How often to measure everything, by turns.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// The folder of results; rows are added to existing ones.
    #[arg(long, default_value = "target/swiftcall")]
    out: PathBuf,
    /// Measure nothing, only draw the existing results.
    #[arg(long)]
    draw: bool,
    /// Instead of all this, the share of 100 copies of a burst of 64 packets that arrives within 20
    /// ms, into `burst.csv`.
    #[arg(long)]
    burst: bool,
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments = Arguments::parse();
    fs::create_dir_all(&arguments.out)?;
    if arguments.burst {
        return bursts(&arguments);
    }
    let rows = arguments.out.join("results.csv");
    if !arguments.draw {
        measure(&arguments, &rows)?;
    }
    let rounds = Rounds::read(&fs::read_to_string(&rows)?);
    for (name, figure, digits) in [
        ("instructions per copy", 2, 0),
        ("busy microseconds per copy", 1, 2),
        ("least time between packets, ms", 3, 3),
        ("mean time between packets, ms", 4, 3),
        ("greatest time between packets, ms", 5, 2),
        ("copies a second when flooded", 6, 0),
        ("share that arrived", 0, 4),
    ] {
        println!("{name}\n\n{}\n", rounds.table(figure, digits));
    }
    for (way, beside) in [
        (Way::Tc, Way::BareTc),
        (Way::Xdp, Way::BareXdp),
        (Way::Xdp, Way::Tc),
        (Way::Tc, Way::Clones),
        (Way::TcStamped, Way::Tc),
        (Way::TcLayered, Way::Tc),
        (Way::XdpStamped, Way::Xdp),
        (Way::Userspace, Way::Tc),
    ] {
        let ratios = rounds.ratios(way, beside, 2);
        let shown: Vec<String> = ratios
            .iter()
            .map(|(receivers, ratio)| format!("{receivers}: {ratio:.2}"))
            .collect();
        println!(
            "{} beside {}, instructions: {}",
            way.name(),
            beside.name(),
            shown.join(", ")
        );
    }
    let costs = [(2, "instructions per copy"), (6, "copies a second, flooded")];
    fs::write(
        arguments.out.join("costs.svg"),
        rounds.drawing("One packet to many: costs", &costs),
    )?;
    let deltas = [(3, "least delta, ms"), (4, "mean delta, ms"), (5, "greatest delta, ms")];
    fs::write(
        arguments.out.join("deltas.svg"),
        rounds.drawing("One packet to many: time between packets", &deltas),
    )?;
    Ok(())
}

fn bursts(arguments: &Arguments) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut scene = Scene::new().map_err(|error| error.to_string())?;
    let mut sink = Sink::start(&scene.pair.far)?;
    let mut text = format!("{}\n", burst::HEADER);
    for way in Way::ALL.into_iter().filter(|way| way.media() == Media::Plain) {
        text.push_str(&burst::measure(&mut scene, &mut sink, way)?);
    }
    print!("{text}");
    fs::write(arguments.out.join("burst.csv"), text)?;
    Ok(())
}

fn measure(arguments: &Arguments, rows: &PathBuf) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut scene = Scene::new().map_err(|error| error.to_string())?;
    let mut sink = Sink::start(&scene.pair.far)?;
    let is_new = !rows.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(rows)?;
    if is_new {
        writeln!(file, "{}", report::HEADER)?;
    }
    for _ in 0..arguments.rounds {
        for &receivers in &arguments.receivers {
            let is_asked = |way: &Way| arguments.way.is_empty() || arguments.way.iter().any(|name| name == way.name());
            for way in Way::ALL.into_iter().filter(is_asked) {
                let row = measure::measure(&mut scene, &mut sink, way, receivers)?;
                writeln!(file, "{}", report::line(&row))?;
            }
        }
    }
    Ok(())
}
