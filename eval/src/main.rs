//! `weir-bench`: measures a server of the LiveKit protocol. See `eval/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use eval::media::{PublishPlan, VideoPlan};
use eval::peer::{Mode, Server};
use eval::report::Report;
use eval::run::{RunError, Settings, run};
use eval::scenario::Scenario;

/// Measures a server of the LiveKit protocol with many light clients.
#[derive(Parser)]
#[command(
    name = "weir-bench",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArguments,
}

#[derive(Subcommand)]
enum Command {}

#[derive(Args)]
struct RunArguments {
    /// PUBLISHERSxRECEIVERS; equal numbers above one are a meeting; ROOMS*NxN are several.
    #[arg(required = true)]
    scenario: Option<Scenario>,
    /// The server.
    #[arg(long, default_value = "ws://127.0.0.1:7880")]
    url: String,
    #[arg(long, default_value = "devkey")]
    api_key: String,
    #[arg(long, default_value = "secret")]
    api_secret: String,
    /// The server's process, to measure its processor time and memory.
    #[arg(long)]
    server_pid: Option<u32>,
    /// How the report calls the server.
    #[arg(long, default_value = "server")]
    name: String,
    /// Where to write the report as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    #[command(flatten)]
    load: Load,
}

/// What publishers send, and how clients speak.
#[derive(Args, Clone)]
struct Load {
    /// Video bits a second of each publisher; 0 for none. K and M are understood.
    #[arg(long, default_value = "2M", value_parser = bits)]
    bitrate: u64,
    /// Video frames a second.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=240))]
    fps: u32,
    /// Seconds between key frames that nobody asked for.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    key_interval: u64,
    /// Publish audio too: 50 packets a second.
    #[arg(long)]
    audio: bool,
    /// The measured window.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The protocol's form: /rtc with two peer connections, or /rtc/v1 with one.
    #[arg(long, value_enum, default_value_t = ModeArgument::V0)]
    mode: ModeArgument,
    /// The part in the DTLS handshake of clients that may choose.
    #[arg(long, value_enum, default_value_t = DtlsArgument::Client)]
    dtls: DtlsArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeArgument {
    V0,
    V1,
}

#[derive(Clone, Copy, ValueEnum)]
enum DtlsArgument {
    /// As browsers do; the server chooses the SRTP profile.
    Client,
    /// The client chooses AES-256-GCM.
    Server,
}

fn bits(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((end, 'k' | 'K')) => (&text[..end], 1e3),
        Some((end, 'm' | 'M')) => (&text[..end], 1e6),
        _ => (text, 1.0),
    };
    let value: f64 = digits
        .parse()
        .map_err(|_| "expected a number, K or M behind it".to_string())?;
    if (0.0..=1e9 / factor).contains(&value) {
        Ok((value * factor) as u64)
    } else {
        Err("at most 1000M".into())
    }
}

impl Load {
    fn publish(&self) -> PublishPlan {
        let key_interval = Duration::from_secs(self.key_interval);
        let video = VideoPlan {
            bitrate: self.bitrate,
            frame_rate: self.fps,
            key_interval,
        };
        PublishPlan {
            video: (self.bitrate > 0).then_some(video),
            audio: self.audio || self.bitrate == 0,
        }
    }

    fn mode(&self) -> Mode {
        match self.mode {
            ModeArgument::V0 => Mode::V0,
            ModeArgument::V1 => Mode::V1,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        None => measure(&arguments.run),
        Some(command) => match command {},
    };
    match outcome {
        Ok(clean) => ExitCode::from(u8::from(!clean)),
        Err(error) => {
            eprintln!("weir-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(arguments: &RunArguments) -> Result<bool, RunError> {
    let server = Server::new(&arguments.url, &arguments.api_key, &arguments.api_secret).map_err(RunError::Server)?;
    let report = run(&Settings {
        target: arguments.name.clone(),
        server,
        server_pid: arguments.server_pid,
        scenario: arguments.scenario.expect("required by the parser"),
        publish: arguments.load.publish(),
        mode: arguments.load.mode(),
        dtls_client: matches!(arguments.load.dtls, DtlsArgument::Client),
        window: Duration::from_secs(arguments.load.seconds),
    })?;
    print!("{}", report.text());
    write_json(arguments.json.as_deref(), &[report.clone()])?;
    Ok(report.is_clean())
}

fn write_json(path: Option<&std::path::Path>, reports: &[Report]) -> Result<(), RunError> {
    let Some(path) = path else { return Ok(()) };
    let text = serde_json::to_string_pretty(reports).expect("a report is plain data");
    std::fs::write(path, text + "\n").map_err(RunError::Machine)
}
