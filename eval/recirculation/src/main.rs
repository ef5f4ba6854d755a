//! `weir-recirculation`: the delay of one packet to many viewers, by our P4 program and by Weir's
//! own data planes, beside the tables of a thesis.
//!
//! Read `plan` for the loads, `way` for the SFUs, `matching` and `summary` for the figures.

#![forbid(unsafe_code)]

mod capture;
mod entries;
mod matching;
mod naive;
mod plan;
mod report;
mod scene;
mod summary;
mod switch;
mod way;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use capture::Capture;
use clap::Parser;
use harness::{clock, page};
use matching::{Direction, Figures, Seen};
use plan::{Load, PlanOptions};
use scene::Scene;
use summary::Results;
use way::Way;

type Failure = Box<dyn Error + Send + Sync>;

/// Delay of one packet to many viewers: our P4 program on BMv2, Weir with sockets, Weir in the
/// kernel.
#[derive(Parser)]
struct Arguments {
    /// Only these rates, in Mbit/s.
    #[arg(long, value_delimiter = ',')]
    rates: Vec<f64>,
    /// Only these numbers of viewers.
    #[arg(long, value_delimiter = ',')]
    viewers: Vec<u32>,
    /// Packets in each burst.
    #[arg(long)]
    packets: Option<u32>,
    /// Everything that the thesis has: about three hours.
    #[arg(long)]
    full: bool,
    /// Only these ways, by name; all otherwise.
    #[arg(long)]
    way: Vec<String>,
    /// Bursts of each.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// The folder of results.
    #[arg(long, default_value = "target/recirculation")]
    out: PathBuf,
    /// Adds runs to those in the folder, which are replaced otherwise.
    #[arg(long)]
    add: bool,
    /// Measures nothing, and only reports on the folder's runs.
    #[arg(long)]
    draw: bool,
    /// Writes the tables into eval/recirculation, and the drawings and all single runs into
    /// docs/measured/recirculation. Lines of ways that were not measured stay.
    #[arg(long)]
    write: bool,
}

/// Packets that find out whether the SFU copies, at a rate that all keep up with.
const FIRST_PACKETS: u32 = 5;
const FIRST_KBPS: u32 = 1_000;
/// So often they are sent.
const FIRST_MAX: u32 = 20;
/// The copies of a burst have left when none has for so long.
const QUIET: Duration = Duration::from_millis(600);
const LOOK: Duration = Duration::from_millis(20);

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let rows = arguments.out.join("results.csv");
    if !arguments.draw {
        fs::create_dir_all(&arguments.out)?;
        measure(&arguments, &rows)?;
    }
    let mut results = Results::read(&fs::read_to_string(&rows)?);
    let here = Path::new("eval/recirculation");
    if arguments.write {
        results.keep(&fs::read_to_string(here.join("summary.csv")).unwrap_or_default());
    }
    let tables = report::tables(&results);
    println!("{tables}");
    report_into(&arguments.out, &arguments.out, &results)?;
    if arguments.write {
        let drawings = Path::new("docs/measured/recirculation");
        fs::create_dir_all(drawings)?;
        report_into(here, drawings, &results)?;
        fs::copy(&rows, drawings.join("runs.csv"))?;
        let readme = here.join("README.md");
        fs::write(&readme, page::put(&fs::read_to_string(&readme)?, "results", &tables))?;
    }
    Ok(())
}

fn report_into(folder: &Path, drawings: &Path, results: &Results) -> Result<(), Failure> {
    fs::write(folder.join("summary.csv"), report::file(results))?;
    fs::write(drawings.join("delay.svg"), report::drawing(results, true))?;
    fs::write(drawings.join("ours.svg"), report::drawing(results, false))?;
    Ok(())
}

fn measure(arguments: &Arguments, rows: &Path) -> Result<(), Failure> {
    let wish = PlanOptions {
        full: arguments.full,
        rates: arguments.rates.clone(),
        viewers: arguments.viewers.clone(),
        packets: arguments.packets,
    };
    let loads = plan::loads(&wish);
    let is_asked = |way: &Way| arguments.way.is_empty() || arguments.way.iter().any(|name| name == way.name());
    let program = way::switch_program();
    if program.is_none() {
        eprintln!("{} is not on the search path: BMv2 is left out", switch::PROGRAM);
    }
    let is_there = |way: &Way| way.replication().is_none() || program.is_some();
    let ways: Vec<Way> = Way::ALL.into_iter().filter(is_asked).filter(is_there).collect();
    let mut file = open(rows, arguments.add)?;
    let _awake = harness::software::keep_awake().ok();
    let viewers: BTreeSet<u32> = loads.iter().flat_map(|load| load.viewers.iter().copied()).collect();
    if viewers
        .iter()
        .any(|viewers| !(1..=scene::VIEWERS_MAX).contains(viewers))
    {
        return Err(format!("there are 1 to {} viewers", scene::VIEWERS_MAX).into());
    }
    for viewers in viewers {
        for &way in &ways {
            let log = arguments.out.join("switch.log");
            let mut scene = Scene::new(viewers, way.replication().is_some())?;
            let mut capture = Capture::start(&scene.pair.near)?;
            let running = way.start(&scene, viewers, program.as_deref(), log)?;
            wait_for_copies(&mut scene, &mut capture, viewers).map_err(|error| format!("{}: {error}", way.name()))?;
            // Higher rates than one that it cannot keep up with tell nothing.
            let mut most = u32::MAX;
            for load in loads.iter().filter(|load| load.viewers.contains(&viewers)) {
                if !load.is_the_thesis && load.kbps > most {
                    continue;
                }
                for run in 1..=arguments.runs {
                    let figures = burst(&mut scene, &mut capture, load, viewers)?;
                    file.write_all(summary::line(way, load.kbps, viewers, run, &figures).as_bytes())?;
                    if !summary::keeps_up(figures.average, figures.lost / f64::from(figures.sent)) {
                        most = most.min(load.kbps);
                    }
                    let (rate, ms) = (plan::rate(load.kbps), figures.average * 1e3);
                    let (name, lost) = (way.name(), figures.lost);
                    eprintln!("{name}, {viewers} viewers, {rate} Mbit/s: {ms:.3} ms, {lost:.1} lost");
                }
            }
            drop(running);
        }
    }
    Ok(())
}

fn open(rows: &Path, add: bool) -> Result<File, Failure> {
    let is_new = !add || !rows.exists();
    let mut file = match is_new {
        true => File::create(rows)?,
        false => OpenOptions::new().append(true).open(rows)?,
    };
    if is_new {
        writeln!(file, "{}", summary::HEADER)?;
    }
    Ok(file)
}

/// Sends packets until each has a copy for each viewer.
fn wait_for_copies(scene: &mut Scene, capture: &mut Capture, viewers: u32) -> Result<(), Failure> {
    let mut last = 0;
    for _ in 0..FIRST_MAX {
        let seen = send(scene, capture, FIRST_KBPS, FIRST_PACKETS, viewers)?;
        last = seen
            .iter()
            .filter(|packet| packet.direction != Direction::Arriving)
            .count();
        if last as u32 == FIRST_PACKETS * viewers {
            return Ok(());
        }
    }
    Err(format!("{FIRST_PACKETS} packets have {last} copies for {viewers} viewers").into())
}

fn burst(scene: &mut Scene, capture: &mut Capture, load: &Load, viewers: u32) -> Result<Figures, Failure> {
    let seen = send(scene, capture, load.kbps, load.packets, viewers)?;
    Ok(matching::figures(&seen, load.packets, viewers, plan::SIZE))
}

/// Sends a burst and waits until its copies have left.
fn send(scene: &mut Scene, capture: &mut Capture, kbps: u32, packets: u32, viewers: u32) -> Result<Vec<Seen>, Failure> {
    let before = scene.left()?;
    let source = scene.burst(kbps, packets);
    let expected = u64::from(packets) * u64::from(viewers);
    let (mut left, mut since) = (0, clock::now());
    while left < expected && since.elapsed() < QUIET {
        sleep(LOOK);
        let now = scene.left()? - before;
        if now != left {
            (left, since) = (now, clock::now());
        }
    }
    Ok(capture.read(source, scene::FIRST_VIEWER)?)
}
