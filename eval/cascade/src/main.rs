//! `weir-cascade`: the cost and the delay of one room on several media nodes.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cascade::report::Rounds;
use cascade::scene::{self, Settings};
use cascade::{Outcome, VARIANTS, Variant};
use clap::Parser;
use harness::page;

/// One room on one, two and four media nodes, by turns.
#[derive(Parser)]
struct Arguments {
    /// Only these variants, by name; all otherwise.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How often to measure everything, by turns.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Pictures a second; fewer than 30 lower the rate by the same factor.
    #[arg(long, default_value_t = 30)]
    fps: u32,
    /// Receivers of the large rooms.
    #[arg(long)]
    receivers: Option<usize>,
    /// Seconds of each scene that are measured.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Seconds before them, in which trunks find their capacity.
    #[arg(long, default_value_t = 12)]
    warm_up: u64,
    /// The folder of results; rounds that are there are replaced.
    #[arg(long, default_value = "target/cascade")]
    out: PathBuf,
    /// Measures nothing, and only prints the tables of the folder's rounds.
    #[arg(long)]
    print: bool,
    /// Writes the tables into eval/cascade, and the figures into docs/measured/cascade.
    #[arg(long)]
    write: bool,
}

const FILE: &str = "results.csv";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let file = arguments.out.join(FILE);
    if !arguments.print {
        let rounds = measure(&arguments)?;
        fs::create_dir_all(&arguments.out)?;
        fs::write(&file, rounds.csv())?;
    }
    let rounds = Rounds::read(&fs::read_to_string(&file)?);
    let tables = rounds.tables();
    println!("{tables}");
    if arguments.write {
        let (readme, folder) = (Path::new("eval/cascade/README.md"), Path::new("docs/measured/cascade"));
        fs::create_dir_all(folder)?;
        fs::write(folder.join(FILE), rounds.csv())?;
        fs::write(readme, page::put(&fs::read_to_string(readme)?, "results", &tables))?;
    }
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<Rounds, Box<dyn Error>> {
    if !(1..=60).contains(&arguments.fps) {
        return Err(format!("--fps is {}: it has to be from 1 to 60", arguments.fps).into());
    }
    let settings = Settings {
        pictures_per_second: arguments.fps,
        warm_up: Duration::from_secs(arguments.warm_up),
        window: Duration::from_secs(arguments.seconds),
    };
    let variants = variants(arguments)?;
    let mut rounds = Rounds::default();
    let mut faults = 0;
    for round in 0..arguments.rounds {
        for variant in &variants {
            let outcome = scene::play(variant, &settings)?;
            say(round, &outcome);
            faults += outcome.faults.len();
            rounds.add(round, &outcome);
        }
    }
    match faults {
        0 => Ok(rounds),
        _ => Err(format!("{faults} faults: there is no measurement").into()),
    }
}

fn variants(arguments: &Arguments) -> Result<Vec<Variant>, Box<dyn Error>> {
    let most = VARIANTS.iter().map(|variant| variant.receivers).max().unwrap_or(0);
    let mut variants = match arguments.only.as_slice() {
        [] => VARIANTS.to_vec(),
        names => {
            let named = |name: &String| Variant::named(name).ok_or_else(|| format!("there is no variant {name}"));
            names.iter().map(named).collect::<Result<_, _>>()?
        }
    };
    if let Some(receivers) = arguments.receivers {
        if !(1..=most).contains(&receivers) {
            return Err(format!("--receivers is {receivers}: it has to be from 1 to {most}").into());
        }
        let large = variants.iter_mut().filter(|variant| variant.receivers == most);
        large.for_each(|variant| variant.receivers = receivers);
    }
    Ok(variants)
}

/// A line on a scene.
fn say(round: u32, outcome: &Outcome) {
    eprintln!(
        "round {round}, {}: {:.0} replicas/s, {:.4} arrived, {:.2} us/replica, {:.2} cores, idle {:.2}, overflows {}, beside it {}",
        outcome.variant,
        outcome.figure("replicas_per_s"),
        outcome.figure("arrived"),
        outcome.figure("us_per_replica"),
        outcome.figure("cores"),
        outcome.figure("idle"),
        outcome.figure("overflows"),
        outcome.beside.as_deref().map_or("nothing".into(), |name| format!(
            "{name} ({:.2} cores)",
            outcome.figure("beside_cores")
        )),
    );
    outcome.faults.iter().for_each(|fault| eprintln!("  {fault}"));
}
