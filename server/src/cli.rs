//! The command line.

mod operators;
mod timelines;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::dataplane::MediaPorts;
pub(crate) use operators::{
    CallArgs, CallCommand, CallsArgs, Doctor, ParticipantArgs, ParticipantCommand, RelayArgs, RoomArgs, RoomCommand,
    RoomsArgs, ServerArgs, SignerArgs,
};
pub(crate) use timelines::{Explain, TimelineSubject, Trace};

/// Examples of `weir plan`.
const PLAN_HELP: &str = "Examples:
  weir plan --rooms 500 --participants 8 --senders 2 --quality 720p
  weir plan --mix campus --device weir-udp --cores 16 --bandwidth 25G
  weir plan --mix meetings.csv --device here.yaml
  weir plan --cluster --viewers 100000 --regions 3 --cores 16 --bandwidth 25G
  weir plan --cluster --rooms 1000 --participants 5 --regions 3 --cores 16";

/// A media switch for real-time calls.
#[derive(Debug, Parser)]
#[command(name = "weir", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the switch: signalling, control and media in one process.
    Serve(Serve),
    /// Run a controller of rooms, whose media nodes are other processes. It reads the configuration
    /// of `weir serve`, with a section `cluster`.
    Controller(Serve),
    /// Run a media node for controllers on other machines. It reads the configuration of `weir
    /// serve`, with a section `cluster`.
    Media(Serve),
    /// Write a certificate authority for a cluster, certificates for its machines, and a key that
    /// its controllers share.
    ClusterCert(ClusterCert),
    /// Check the configuration that `weir serve` would read with the same flags and environment.
    /// The status is 1 if it has errors.
    CheckConfig(CheckConfig),
    /// Examine this machine, its configuration and its certificates, beside a running server if
    /// there is one: limits, buffers, clocks, kernel, ports and addresses. The status is 1 if there
    /// are errors.
    Doctor(Box<Doctor>),
    /// Print an access token for one participant.
    Token(Token),
    /// List, show and remove rooms of a running server.
    #[command(subcommand)]
    Room(RoomCommand),
    /// List, show and remove participants of a running server.
    #[command(subcommand)]
    Participant(ParticipantCommand),
    /// List, show and remove SIP calls of a running server.
    #[command(subcommand)]
    Call(CallCommand),
    /// Print where each entry of a running switch's data plane runs: in the kernel, or in the base
    /// and why. With --cluster: print the cluster as a running controller knows it.
    Inspect(Inspect),
    /// Say what was wrong with the call of a participant, when, and why.
    Explain(Explain),
    /// Write the call of a participant as a trace for https://ui.perfetto.dev: tracks are streams,
    /// slices are layers.
    Trace(Trace),
    /// End forwarding in the kernel that a switch left behind.
    Detach(Detach),
    /// Say how many meetings switches and servers carry, and which resource binds.
    #[command(after_help = PLAN_HELP)]
    Plan(Box<Plan>),
    /// Print a Weir configuration made of a LiveKit server's; comments say what was not taken over.
    ImportConfig(ImportConfig),
}

/// The settings of the switch. Flags override environment variables, those the file, and the file
/// the defaults.
#[derive(Debug, Default, Args)]
pub(crate) struct Serve {
    /// For trying things out: API key "devkey", secret "secret", the page gets its tokens by
    /// itself, loopback only.
    #[arg(long, env = "WEIR_DEV")]
    pub dev: bool,
    /// With --dev: also HTTPS at this port, on all addresses, with a certificate that is made at
    /// the start. For phones in the same network.
    #[arg(long, value_name = "PORT", env = "WEIR_DEV_TLS", num_args = 0..=1, default_missing_value = "7443")]
    pub dev_tls: Option<u16>,
    /// Configuration file (YAML).
    #[arg(long, value_name = "FILE", env = "WEIR_CONFIG")]
    pub config: Option<PathBuf>,
    /// Address to listen on, for signalling and media; may be given several times.
    #[arg(long, value_name = "ADDR", env = "WEIR_BIND", value_delimiter = ',')]
    pub bind: Vec<IpAddr>,
    /// Port of HTTP and WebSocket.
    #[arg(long, env = "WEIR_PORT")]
    pub port: Option<u16>,
    /// UDP port of media, or as "7882-7885" one for each worker.
    #[arg(long, env = "WEIR_RTC_PORT")]
    pub rtc_port: Option<MediaPorts>,
    /// TCP port of media, for clients whose network lets no UDP pass; 0 for none.
    #[arg(long, env = "WEIR_RTC_TCP_PORT")]
    pub rtc_tcp_port: Option<u16>,
    /// Address clients reach this machine at, when it is not one of its own (behind a NAT); may be
    /// given several times.
    #[arg(long, value_name = "ADDR", env = "WEIR_NODE_IP", value_delimiter = ',')]
    pub node_ip: Vec<IpAddr>,
    /// Worker threads that move packets; by default one for each core.
    #[arg(long, env = "WEIR_WORKERS")]
    pub workers: Option<usize>,
    /// API keys as "key: secret", several separated by commas. Others on the machine can read a
    /// command line: use the environment, or --key-file.
    #[arg(
        long,
        value_name = "KEY:SECRET",
        env = "WEIR_KEYS",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub keys: Vec<String>,
    /// File of API keys, a line "key: secret" each.
    #[arg(long, alias = "keys-file", value_name = "FILE", env = "WEIR_KEY_FILE")]
    pub key_file: Option<PathBuf>,
    /// The log filter: a level, or "target=level" filters.
    #[arg(long, value_name = "FILTER", env = "WEIR_LOG")]
    pub log: Option<String>,
    /// Log one JSON object a line.
    #[arg(long, env = "WEIR_LOG_JSON")]
    pub log_json: bool,
    /// Whether there may be no API keys: a media node takes no tokens.
    #[arg(skip)]
    pub is_keyless: bool,
}

/// The configuration to check, and the form of the report.
#[derive(Debug, Args)]
pub(crate) struct CheckConfig {
    /// As `weir serve` has them.
    #[command(flatten)]
    pub serve: Serve,
    /// Check for `weir media` or `weir controller` in place of `weir serve`.
    #[arg(long, value_enum, value_name = "ROLE")]
    pub role: Option<Role>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A part in a cluster that a certificate permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// May command the media nodes of the cluster.
    Controller,
    /// May forward the media of the cluster.
    Media,
    /// May relay SIP calls of the cluster, and pass commands about them on to the other relays.
    Sip,
}

impl Role {
    /// All roles that there are.
    pub(crate) const ALL: [Self; 3] = [Role::Controller, Role::Media, Role::Sip];

    /// The name of the role in certificates. No host has a name that ends so.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Role::Controller => "controller.weir.internal",
            Role::Media => "media.weir.internal",
            Role::Sip => "sip.weir.internal",
        }
    }
}

/// The certificates to write.
#[derive(Debug, Args)]
pub(crate) struct ClusterCert {
    /// The directory for the files; it is made if need be. An authority in it, ca.pem and ca.key,
    /// signs the certificates.
    pub directory: PathBuf,
    /// A machine that gets a certificate and a key, NAME.pem and NAME.key; may be given several
    /// times. Machines may share one: by default there is one with the name "weir".
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// A role that the certificates permit; by default all.
    #[arg(long = "role", value_enum, value_name = "ROLE")]
    pub roles: Vec<Role>,
}

/// Whether API keys stand on this process's command line.
pub(crate) fn has_keys_argument() -> bool {
    let mut arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    arguments.any(|argument| argument == "--keys" || argument.starts_with("--keys="))
}

/// The configuration to import.
#[derive(Debug, Args)]
pub(crate) struct ImportConfig {
    /// LiveKit's configuration file (YAML).
    pub file: PathBuf,
}

/// Which switch to ask.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The address of its HTTP port.
    #[arg(long, default_value = "127.0.0.1:7880")]
    pub server: SocketAddr,
    /// Print the cluster of a controller: media nodes, the other controllers, rooms with their
    /// owners, and who took a room from whom.
    #[arg(long)]
    pub cluster: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// The `token` of its `metrics` settings, if it has one.
    #[arg(long, env = "WEIR_METRICS_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// The forwarding to end.
#[derive(Debug, Args)]
pub(crate) struct Detach {
    /// The folder that `rtc: {ebpf: {pins: ...}}` names.
    #[arg(long, default_value = "/sys/fs/bpf/weir")]
    pub pins: PathBuf,
}

/// The identity, the room and the grants of a token.
#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The room.
    #[arg(long)]
    pub room: String,
    /// The participant's identity, unique in the room.
    #[arg(long)]
    pub identity: String,
    /// The name others see.
    #[arg(long)]
    pub name: Option<String>,
    /// Metadata attached to the participant.
    #[arg(long)]
    pub metadata: Option<String>,
    /// How long the token is valid, in minutes, up to ten years.
    #[arg(long, default_value_t = 360, value_parser = clap::value_parser!(u64).range(1..=5_256_000))]
    pub valid_minutes: u64,
    /// The key that signs.
    #[command(flatten)]
    pub signer: SignerArgs,
    /// Only listen and watch.
    #[arg(long)]
    pub no_publish: bool,
    /// May administer the room (docs/use/api.md) and see how every receiver in it does (`GET
    /// /api/receivers`); the grant roomAdmin.
    #[arg(long)]
    pub room_admin: bool,
    /// May create and delete rooms; the grant roomCreate.
    #[arg(long)]
    pub room_create: bool,
    /// May list rooms; the grant roomList.
    #[arg(long)]
    pub room_list: bool,
}

/// The meetings to plan, and the devices to plan them on.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Meetings from a file (CSV: count,participants,senders,quality and optionally encrypted,
    /// adaptation, audio), or a synthetic mix by its name.
    #[arg(long, value_name = "NAME|FILE.csv", conflicts_with_all = ["rooms", "participants", "senders", "quality", "clear", "adaptation", "no_audio"])]
    pub mix: Option<String>,
    /// Meetings.
    #[arg(long, default_value_t = 1)]
    pub rooms: u64,
    /// Participants of each meeting.
    #[arg(long, default_value_t = 10)]
    pub participants: u64,
    /// Participants who send; by default all.
    #[arg(long)]
    pub senders: Option<u64>,
    /// A sender's video: 180p, 360p, 540p, 720p, 1080p, none, or kbit/s; low, medium and high are
    /// 1, 1.5 and 3 Mbit/s.
    #[arg(long, default_value = "720p")]
    pub quality: String,
    /// Media is not encrypted between clients and the device.
    #[arg(long)]
    pub clear: bool,
    /// Senders send no audio.
    #[arg(long)]
    pub no_audio: bool,
    /// Receivers get different qualities: "none", "receivers" (each one quality from everybody), or
    /// "pairs". A Weir server with its default settings is planned by "receivers".
    #[arg(long, default_value = "none")]
    pub adaptation: String,
    /// A device by its name, or its file (YAML); may be given several times. By default all that
    /// are shipped.
    #[arg(long = "device", value_name = "NAME|FILE.yaml")]
    pub devices: Vec<String>,
    /// Processor cores of all servers, in place of those of their files.
    #[arg(long)]
    pub cores: Option<u64>,
    /// Bits a second that all servers can send, such as 25G.
    #[arg(long, value_parser = amount)]
    pub bandwidth: Option<u64>,
    /// Bytes of memory of all servers, such as 64G.
    #[arg(long, value_parser = amount)]
    pub memory: Option<u64>,
    /// Also write every resource of every device as CSV; "-" is standard output, without the table.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The same as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also draw the meetings by their size, and the devices by the number of meetings.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Only list the devices and mixes that are shipped.
    #[arg(long)]
    pub list: bool,
    /// Only print a shipped device file or mix, to begin one of your own with.
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
    /// A cluster instead of devices.
    #[command(flatten)]
    pub cluster: ClusterPlan,
}

/// A cluster to plan: one publisher's viewers, or rooms whose participants are in several regions.
#[derive(Debug, Args)]
pub(crate) struct ClusterPlan {
    /// Print a sheet for a cluster: nodes, trunks, the load of controllers and store.
    #[arg(long, conflicts_with_all = ["mix", "senders", "quality", "clear", "adaptation", "csv", "plot"])]
    pub cluster: bool,
    /// Viewers of one publisher, in place of rooms whose participants all send.
    #[arg(long, requires = "cluster", conflicts_with_all = ["rooms", "participants"])]
    pub viewers: Option<u64>,
    /// The encodings of each publisher in kbit/s, with the percentage of viewers that get each.
    #[arg(long, requires = "cluster", default_value = "1500:50,500:30,150:20")]
    pub encodings: String,
    /// Regions, with as many viewers or participants in each.
    #[arg(long, requires = "cluster", default_value_t = 1)]
    pub regions: u64,
    /// The most trunks on which a node sends one stream.
    #[arg(long, requires = "cluster", default_value_t = 16)]
    pub fan_out: u64,
    /// The time in which all join.
    #[arg(long, requires = "cluster", default_value_t = 600)]
    pub join_seconds: u64,
}

/// A number, with k, M, G or T for thousands, millions, and so on.
fn amount(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        Some((at, 'T')) => (&text[..at], 1_000_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| "a number above 0, with k, M, G or T behind it if need be, such as 25G".to_owned())
}
