//! The command line of `weir-bench`.

mod compare;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use eval::client::Mode;
use eval::floor::Cable;
use eval::impairment::Impairment;
use eval::media::{PublishPlan, VideoPlan};
use eval::scenario::{Behaviour, Scenario};
use eval::transport::RouteKind;

pub(crate) use compare::CompareArguments;

/// Measures a server of the LiveKit protocol with many light clients.
#[derive(Parser)]
#[command(
    name = "weir-bench",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArguments,
}

/// Commands other than a single run.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run scenarios against a server and, each beside it, their floor; print one table.
    Suite(SuiteArguments),
    /// Measure the cost of a packet over TCP and TURN beside UDP.
    Routes(RoutesArguments),
    /// Measure a lower bound for any server: copy, seal and send, to the same kind of sinks.
    Floor(FloorArguments),
    /// Measure the servers that are installed beside each other; started by `eval/compare/run`,
    /// which see.
    Compare(CompareArguments),
    /// A part of it; started by `compare`.
    #[command(hide = true)]
    CompareSubprocess {
        /// The orders, as JSON.
        orders: String,
    },
    /// The floor's sending process; started by `floor`.
    #[command(hide = true)]
    FloorSender {
        /// The orders, as JSON.
        orders: String,
    },
}

/// A run of several scenarios.
#[derive(Args)]
pub(crate) struct SuiteArguments {
    /// The scenarios; 1x50 and 10x10 by default.
    pub scenarios: Vec<Scenario>,
    /// The command that starts the server; started anew for each scenario, and stopped.
    #[arg(long)]
    pub server_cmd: Option<String>,
    /// Leave out the floor.
    #[arg(long)]
    pub no_floor: bool,
    /// The server.
    #[command(flatten)]
    pub target: Target,
    /// The load on the server.
    #[command(flatten)]
    pub load: Load,
}

/// Runs over each route.
#[derive(Args)]
pub(crate) struct RoutesArguments {
    /// The command that starts the server; started anew for each run, and stopped.
    #[arg(long)]
    pub server_cmd: String,
    /// Rounds; of each figure the median is printed.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// The server.
    #[command(flatten)]
    pub target: Target,
    /// The load on the server.
    #[command(flatten)]
    pub load: Load,
}

/// A run without a server.
#[derive(Args)]
pub(crate) struct FloorArguments {
    /// Publishers and receivers, as for a run.
    #[arg(required_unless_present = "receivers", conflicts_with = "receivers")]
    pub scenario: Option<Scenario>,
    /// One publisher and this many receivers.
    #[arg(long)]
    pub receivers: Option<u32>,
    /// File for the report, as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Words in front of the sender's command, to run it elsewhere; clients send there too then.
    #[arg(long, requires = "sender_ip", requires = "sinks_ip")]
    pub sender_place: Option<String>,
    /// The sender's address there.
    #[arg(long)]
    pub sender_ip: Option<IpAddr>,
    /// The receivers' address.
    #[arg(long)]
    pub sinks_ip: Option<IpAddr>,
    /// The load on the receivers.
    #[command(flatten)]
    pub load: Load,
}

impl FloorArguments {
    /// The sender's place and addresses.
    pub(crate) fn cable(&self) -> Cable {
        match (&self.sender_place, self.sender_ip, self.sinks_ip) {
            (Some(place), Some(server), Some(clients)) => Cable {
                place: place.split_whitespace().map(String::from).collect(),
                server,
                clients,
                clients_send: true,
            },
            _ => Cable::default(),
        }
    }
}

#[derive(Args)]
pub(crate) struct RunArguments {
    /// PUBLISHERSxRECEIVERS; equal numbers above one are a meeting; ROOMS*NxN are several;
    /// PUBLISHERSofALL is a crowd.
    #[arg(required = true)]
    pub scenario: Option<Scenario>,
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub load: Load,
}

/// The server, and where the reports go.
#[derive(Args)]
pub(crate) struct Target {
    /// The server.
    #[arg(long, default_value = "ws://127.0.0.1:7880")]
    pub url: String,
    /// The API key that signs the clients' tokens.
    #[arg(long, default_value = "devkey")]
    pub api_key: String,
    /// The key's secret.
    #[arg(long, default_value = "secret")]
    pub api_secret: String,
    /// The server's process, to measure its processor time and memory.
    #[arg(long)]
    pub server_pid: Option<u32>,
    /// How the report calls the server.
    #[arg(long, default_value = "server")]
    pub name: String,
    /// File for the reports, as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// Media of publishers, and the clients' form of the protocol.
#[derive(Args, Clone)]
pub(crate) struct Load {
    /// Video bits a second of each publisher; 0 for none. K and M are understood. By default 2M, in
    /// a crowd 120K.
    #[arg(long, value_parser = bits)]
    pub bitrate: Option<u64>,
    /// Video frames a second; by default 30, in a crowd 15.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=240))]
    pub fps: Option<u32>,
    /// Video of three temporal layers, with VP8's layer numbers and dependency descriptors.
    #[arg(long)]
    pub layered: bool,
    /// Video is sent in bursts of one to three packets, as libwebrtc paces it, instead of a frame
    /// at once.
    #[arg(long)]
    pub paced: bool,
    /// Seconds between key frames that nobody asked for.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub key_interval: u64,
    /// Publish audio too: 50 packets a second. A crowd always does.
    #[arg(long)]
    pub audio: bool,
    /// In a crowd: publishers that each client shows; the others it only hears.
    #[arg(long, default_value_t = 2)]
    pub watched: u32,
    /// In a crowd: publishers who speak at the same time, by turns; the others' microphones send
    /// silence.
    #[arg(long, default_value_t = 2)]
    pub speaking: u32,
    /// Participants that join per second; by default a few at a time, as fast as they can, in a
    /// crowd 50.
    #[arg(long, value_parser = rate)]
    pub join_rate: Option<f64>,
    /// Between the last join and the measured window: key frames and rate estimates calm down.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=600))]
    pub settle: u64,
    /// Receivers decrypt and check one packet in this many, and recognise the others by their
    /// headers, which allows more clients to a processor. 1 for all.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub open_one_in: u32,
    /// The measured window.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// The protocol: LiveKit's by /rtc with two peer connections or by /rtc/v1 with one, or Janus'
    /// VideoRoom.
    #[arg(long, value_enum, default_value_t = ModeArgument::V0)]
    pub mode: ModeArgument,
    /// Media packets lost on the way to the server, in percent: shows repair at work.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    pub loss_up: f64,
    /// Media packets lost on the way to the clients, in percent.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    pub loss_down: f64,
    /// Bits a second that each client can take: more waits, up to 300 ms, or is lost. Shows
    /// adaptation at work.
    #[arg(long, value_parser = bits)]
    pub downlink: Option<u64>,
    /// The part in the DTLS handshake of clients that may choose.
    #[arg(long, value_enum, default_value_t = DtlsArgument::Client)]
    pub dtls: DtlsArgument,
    /// Clients' sockets get each datagram of a run by itself, as clients without UDP_GRO do. The
    /// floor's do not.
    #[arg(long)]
    pub single_datagrams: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeArgument {
    V0,
    V1,
    /// Janus' VideoRoom; no crowds.
    Janus,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum DtlsArgument {
    /// As browsers do; the server chooses the SRTP profile.
    Client,
    /// The client chooses AES-256-GCM.
    Server,
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.0..=100.0).contains(value))
        .ok_or_else(|| "expected 0 to 100".into())
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| (0.1..=10_000.0).contains(value))
        .ok_or_else(|| "expected 0.1 to 10000".into())
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
    /// How participants behave in this scenario.
    pub(crate) fn behaviour(&self, scenario: Scenario) -> Behaviour {
        let crowd = scenario.is_crowd();
        let bitrate = self.bitrate.unwrap_or(if crowd { 120_000 } else { 2_000_000 });
        let video = VideoPlan {
            bitrate,
            frame_rate: self.fps.unwrap_or(if crowd { 15 } else { 30 }),
            key_interval: Duration::from_secs(self.key_interval),
        };
        Behaviour {
            publish: PublishPlan {
                video: (bitrate > 0).then_some(video),
                layered: self.layered,
                paced: self.paced,
                audio: self.audio || bitrate == 0 || crowd,
            },
            watched: self.watched,
            speaking: self.speaking,
            mode: match self.mode {
                ModeArgument::V0 => Mode::V0,
                ModeArgument::V1 => Mode::V1,
                ModeArgument::Janus => Mode::Janus,
            },
            dtls_client: matches!(self.dtls, DtlsArgument::Client),
            single_datagrams: self.single_datagrams,
            route: RouteKind::Udp,
            impairment: Impairment {
                up: self.loss_up / 100.0,
                down: self.loss_down / 100.0,
                downlink: self.downlink,
            },
        }
    }

    /// How many join per second.
    pub(crate) fn join_rate(&self, scenario: Scenario) -> Option<f64> {
        self.join_rate.or(scenario.is_crowd().then_some(50.0))
    }

    /// How long to wait before measuring.
    pub(crate) fn settle(&self) -> Duration {
        Duration::from_secs(self.settle)
    }

    /// How long is measured.
    pub(crate) fn window(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}
