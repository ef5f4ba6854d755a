//! `weir-media-relay`: measures relays for SIP calls. See `eval/media-relay/README.md`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use media_relay::compare::{self, EXPERIMENTS, Experiment, Options, Subprocess};
use media_relay::phones::CALLS_MAX;
use media_relay::xdp::{Attached, Program};

/// Measures relays for SIP calls.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Puts relays beside each other; needs root and a network namespace, which
    /// eval/media-relay/run makes.
    Compare(CompareArguments),
    /// Relays in XDP without a table, until ended.
    Bare {
        /// The interface for packets in and out.
        interface: String,
    },
    /// Makes measurements and prints their results; for `compare`.
    #[command(hide = true)]
    Subprocess {
        /// A file with the orders.
        orders: PathBuf,
    },
}

#[derive(Args)]
struct CompareArguments {
    /// The experiments: calls, kernel, sessions, setup, ramp.
    #[arg(required = true, value_parser = experiment)]
    experiments: Vec<&'static Experiment>,
    /// Only this relay; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Rounds of `calls` and `kernel`.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Calls of `calls`, `kernel` and `ramp`.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=i64::from(CALLS_MAX)))]
    calls: u32,
    /// The measured window of each run; `sessions` takes five at most.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Seconds between the last answer and the window: relays learn addresses for three.
    #[arg(long, default_value_t = 5)]
    settle: u64,
    /// The relays.
    #[arg(long, default_value = "eval/media-relay/relays.yaml")]
    relays: PathBuf,
    /// A command that runs another when the machine is free, put in front of each turn.
    #[arg(long, env = "MEDIA_RELAY_TURN", default_value = "")]
    turn: String,
    /// Prefix of the names of namespaces.
    #[arg(long, env = "MEDIA_RELAY_NAMESPACES", default_value = "weir-relays", hide = true)]
    namespaces: String,
    /// The page to write the results into.
    #[arg(long, default_value = "docs/measured/media-relay.md")]
    page: PathBuf,
    /// Print the results, write nothing.
    #[arg(long)]
    dry: bool,
}

fn experiment(name: &str) -> Result<&'static Experiment, String> {
    let names = || EXPERIMENTS.iter().map(|experiment| experiment.name).collect::<Vec<_>>();
    Experiment::named(name).ok_or_else(|| format!("expected one of {}", names().join(", ")))
}

impl CompareArguments {
    fn options(self) -> Options {
        Options {
            experiments: self.experiments,
            only: self.only,
            rounds: self.rounds,
            calls: self.calls,
            window: Duration::from_secs(self.seconds),
            settle: Duration::from_secs(self.settle),
            configuration: self.relays,
            turn: self.turn.split_whitespace().map(String::from).collect(),
            namespaces: self.namespaces,
            page: (!self.dry).then_some(self.page),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Compare(arguments) => compare::compare(&arguments.options()).map_err(|error| error.to_string()),
        Command::Bare { interface } => Attached::to(&interface, Program::Bounce)
            .map(|attached| attached.stay())
            .map_err(|error| error.to_string()),
        Command::Subprocess { orders } => perform(&orders).map(|()| true).map_err(|error| error.to_string()),
    };
    match outcome {
        Ok(complete) => ExitCode::from(u8::from(!complete)),
        Err(error) => {
            eprintln!("weir-media-relay: {error}");
            ExitCode::from(2)
        }
    }
}

fn perform(orders: &Path) -> std::io::Result<()> {
    let subprocess: Subprocess = serde_json::from_slice(&std::fs::read(orders)?)?;
    println!("{}", serde_json::to_string(&subprocess.perform())?);
    Ok(())
}
