//! `weir-costs`: device files of `weir plan` for the data planes of this machine.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use costs::{Cost, Curve, Load, Scene, Way};
use planning::{DeviceFile, Machine, Server, server_file};

/// Measurements of each load, of which the median counts.
const ROUNDS: usize = 3;
/// After so long no further round begins.
const TIME_MAX: Duration = Duration::from_secs(35);
/// Receivers of each of the two loads that a cost is the line through.
const RECEIVERS: [u32; 2] = [4, 40];
/// Bursts of one measurement, 5 ms from one to the next.
const BURSTS: u16 = 120;
/// Rounds of the times on one core and on several.
const CURVE_ROUNDS: usize = 7;
/// Packets of a burst to workers: a frame of video.
const FRAME: u16 = 8;
/// Packets of a burst to the kernel, few enough for one turn of its network interrupt.
const KERNEL_BURST: u16 = 4;

/// The data planes, and the names that are added to their files.
const PLANES: [(Way, &str, &str); 3] = [
    (Way::Sockets, "", "sockets"),
    (Way::Rings, "-afxdp", "AF_XDP rings"),
    (Way::Kernel, "-ebpf", "copies in the kernel, before the stack"),
];

/// Measures the data planes of this machine, for less than two minutes, and writes device files for
/// `weir plan --device`.
#[derive(Debug, Parser)]
#[command(name = "weir-costs", version)]
struct Arguments {
    /// The device file for sockets. As root there is also one each for AF_XDP and the kernel,
    /// "FILE-afxdp.yaml" and "FILE-ebpf.yaml".
    #[arg(value_name = "FILE.yaml")]
    file: PathBuf,
    /// Also the times of a copy on one core and on several that are busy at the same time.
    #[arg(long, value_name = "FILE.csv")]
    curve: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "weir-costs: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures, and writes the files.
fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let path = &arguments.file;
    let (scene, place) = match Scene::cable(1) {
        Ok(scene) => (scene, "a cable whose far end drops everything"),
        Err(reason) => {
            say(&format!(
                "sockets over the loopback only, since there is no cable: {reason}\n"
            ))?;
            (Scene::Loopback, "the loopback")
        }
    };
    if cfg!(debug_assertions) {
        say("this is not an optimised build: an operator's costs less\n")?;
    }
    if is_busy() {
        say("other programs keep this machine busy: these are its costs while they do\n")?;
    }
    let contention = contention(arguments.curve.as_deref())?;
    let start = Instant::now();
    let mut encrypted = None;
    for (way, suffix, name) in PLANES {
        if way != Way::Sockets && matches!(scene, Scene::Loopback) {
            continue;
        }
        let clear = cost(&scene, way, false, start);
        let sealed = match way {
            Way::Kernel => encrypted.map_or_else(|| Err("sockets were not measured".into()), Ok),
            Way::Sockets | Way::Rings => cost(&scene, way, true, start),
        };
        let (clear, sealed) = match (clear, sealed) {
            (Ok(clear), Ok(sealed)) => (clear, sealed),
            (Err(reason), _) | (_, Err(reason)) => {
                say(&format!("{name}: not measured: {reason}\n"))?;
                continue;
            }
        };
        encrypted = encrypted.or(Some(sealed));
        let file = beside(path, suffix);
        let text = server_file(
            &comments(name, place),
            &source(name, way),
            &server(way, clear, sealed, contention)?,
        );
        DeviceFile::parse("measured", &text)?;
        fs::write(&file, &text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let line = |cost: Cost| format!("{:.0} ns a packet, {:.0} ns a copy", cost.packet_ns, cost.replica_ns);
        let (clear, sealed) = (line(clear), line(sealed));
        say(&format!(
            "{}: {name}: in clear {clear}; SRTP {sealed}\n",
            file.display()
        ))?;
    }
    Ok(())
}

/// Thousandths by which each further busy core lengthens the work; `None` if that was not measured.
/// Writes all times to a file.
fn contention(path: Option<&Path>) -> Result<Option<u64>, Box<dyn Error>> {
    let scene = Scene::cable(cores()).unwrap_or(Scene::Loopback);
    let curve = match Curve::measure(&scene, cores() as u16, CURVE_ROUNDS) {
        Ok(curve) => curve,
        Err(reason) => {
            say(&format!("contention of cores: not measured: {reason}\n"))?;
            return Ok(None);
        }
    };
    for (workers, slowdown) in curve.slowdowns().into_iter().filter(|(workers, _)| *workers > 1) {
        say(&format!(
            "{workers} busy cores: a copy takes {slowdown:.3} times that on one\n"
        ))?;
    }
    if let Some(path) = path {
        let comments = [
            machine(),
            "Nanoseconds of an encrypted copy by sockets, on workers that are busy at the same time.".to_owned(),
        ];
        fs::write(path, curve.csv(&comments)).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let permille = curve.contention_permille();
    Ok(permille.map(|permille| (permille.round() as u64).min(1_000)))
}

/// The cost of a data plane, by the medians of several rounds.
fn cost(scene: &Scene, way: Way, is_encrypted: bool, start: Instant) -> Result<Cost, costs::Failed> {
    let mut measured = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        if round > 0 && start.elapsed() > TIME_MAX {
            break;
        }
        for (times, receivers) in measured.iter_mut().zip(RECEIVERS) {
            let burst = if way == Way::Kernel { KERNEL_BURST } else { FRAME };
            let load = Load {
                way,
                is_encrypted,
                workers: 1,
                receivers,
                burst,
                bursts: BURSTS,
            };
            times.push(costs::measure(scene, load)?);
        }
    }
    let [few, many] = measured.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    if many <= few {
        return Err("more receivers cost no more: the machine is too busy to measure".into());
    }
    Ok(Cost::through((RECEIVERS[0], few), (RECEIVERS[1], many)))
}

/// This machine with these costs. Everything but those of a packet and a copy, and the contention,
/// is `weir-udp`'s.
fn server(way: Way, clear: Cost, sealed: Cost, contention: Option<u64>) -> Result<Server, Box<dyn Error>> {
    let like = match DeviceFile::shipped("weir-udp").map(|file| file.machine) {
        Some(Machine::Server(server)) => server,
        _ => return Err("the shipped file weir-udp is no server".into()),
    };
    let receiver_us = like.clear.map_or(0, |cost| cost.receiver_us);
    let whole = |cost: Cost| planning::Cost {
        packet_ns: cost.packet_ns.round() as u64,
        replica_ns: cost.replica_ns.round() as u64,
        receiver_us,
    };
    let total = memory();
    let memory = like.memory.map(|memory| planning::Memory {
        total: total.unwrap_or(memory.total),
        clear_stream: (way == Way::Kernel).then_some(0),
        ..memory
    });
    Ok(Server {
        cores: cores() as u64,
        cores_measured: Some(contention.map_or(1, |_| cores() as u64)),
        contention_permille: contention.unwrap_or(0),
        srtp: Some(whole(sealed)),
        clear: Some(whole(clear)),
        bandwidth: None,
        memory,
        ..like
    })
}

/// Whether more threads are ready to run than there are processors.
fn is_busy() -> bool {
    let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = average.split(' ').next().and_then(|it| it.parse::<f64>().ok());
    average.is_some_and(|average| average > cores() as f64)
}

/// Processors of this machine.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The processor and the kernel.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut models = cpu.lines().filter_map(|line| line.strip_prefix("model name"));
    let model = models
        .next()
        .map_or("an unknown processor", |line| line.trim_start_matches([':', '\t', ' ']));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} cores of {model}, Linux {}.", cores(), kernel.trim())
}

fn comments(name: &str, place: &str) -> Vec<String> {
    vec![
        format!("Weir's data plane with {name}, on this machine, over {place}."),
        machine(),
        format!(
            "Packets of 1,200 bytes to {} and {} receivers, AEAD_AES_128_GCM.",
            RECEIVERS[0], RECEIVERS[1]
        ),
        "Only packet_ns, replica_ns and contention_permille were measured: the rest is that of weir-udp.".to_owned(),
    ]
}

fn source(name: &str, way: Way) -> String {
    let srtp = if way == Way::Kernel { "; SRTP by sockets" } else { "" };
    format!("weir-costs, version {}: {name}{srtp}", env!("CARGO_PKG_VERSION"))
}

/// Bytes of memory of the machine.
fn memory() -> Option<u64> {
    let all = fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1_024)
}

/// `a/b.yaml` with a suffix is `a/b-suffix.yaml`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path
        .extension()
        .map_or(String::new(), |it| format!(".{}", it.to_string_lossy()));
    path.with_file_name(format!("{stem}{suffix}{extension}"))
}

/// Writes to standard output; a reader that has gone is no error.
fn say(text: &str) -> Result<(), io::Error> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
