//! The arguments of the commands for operators of a running server.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Role, Serve};

/// The configuration to examine the machine for, and the form of the report.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// As `weir serve` has them. Without any configuration it is that of the package, if there is
    /// one.
    #[command(flatten)]
    pub serve: Serve,
    /// Examine for `weir media` or `weir controller` in place of `weir serve`.
    #[arg(long, value_enum, value_name = "ROLE")]
    pub role: Option<Role>,
    /// A STUN server to ask for the addresses that clients see, and where it can, whether packets
    /// of strangers arrive; may be given several times. By default none is asked.
    #[arg(long, value_name = "HOST:PORT")]
    pub stun: Vec<String>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The key that signs, or the file that has it.
#[derive(Debug, Args)]
pub(crate) struct SignerArgs {
    /// API key that signs; by default the first one of the file of keys.
    #[arg(long, env = "WEIR_API_KEY")]
    pub api_key: Option<String>,
    /// The key's secret; by default that of the file of keys.
    #[arg(long, env = "WEIR_API_SECRET", hide_env_values = true)]
    pub api_secret: Option<String>,
    /// File of API keys, a line "key: secret" each; by default that of the package, if there is
    /// one, and otherwise the key "devkey" of `weir serve --dev`.
    #[arg(long, alias = "keys-file", value_name = "FILE", env = "WEIR_KEY_FILE")]
    pub key_file: Option<PathBuf>,
}

/// Which server to ask, and with which key.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The URL of the server's HTTP port, as clients have it.
    #[arg(long, env = "WEIR_URL", default_value = "http://127.0.0.1:7880")]
    pub url: String,
    /// The key that signs.
    #[command(flatten)]
    pub signer: SignerArgs,
    /// Certificates (PEM) to trust for https, in place of this machine's.
    #[arg(long, value_name = "FILE")]
    pub root: Option<PathBuf>,
}

/// The action on rooms.
#[derive(Debug, Subcommand)]
pub(crate) enum RoomCommand {
    /// List the rooms, in a cluster those of all controllers.
    List(RoomsArgs),
    /// Print a room and who is in it.
    Show(RoomArgs),
    /// Disconnect everybody, and remove the room.
    Remove(RoomArgs),
}

/// The server to ask about its rooms.
#[derive(Debug, Args)]
pub(crate) struct RoomsArgs {
    /// The server and the key.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The server and the room.
#[derive(Debug, Args)]
pub(crate) struct RoomArgs {
    /// The name of the room.
    pub room: String,
    /// The server and the key.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The action on participants.
#[derive(Debug, Subcommand)]
pub(crate) enum ParticipantCommand {
    /// List the participants of a room.
    List(RoomArgs),
    /// Print a participant: the tracks it publishes, how its downlink does, and what it gets.
    Show(ParticipantArgs),
    /// Disconnect a participant. It may join again with a valid token.
    Remove(ParticipantArgs),
}

/// The server and the participant.
#[derive(Debug, Args)]
pub(crate) struct ParticipantArgs {
    /// The name of the room.
    pub room: String,
    /// The identity of the participant.
    pub identity: String,
    /// The server and the key.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The action on calls.
#[derive(Debug, Subcommand)]
pub(crate) enum CallCommand {
    /// List the calls that there are.
    List(CallsArgs),
    /// Print a call: its parties, their addresses and packets, and scores of the streams.
    Show(CallArgs),
    /// End a call at once. The proxy is not told.
    Remove(CallArgs),
}

/// The relay of calls to ask.
#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// An address of `sip.ng` of the server: HOST:PORT over UDP, or a URL of HTTP. The server takes
    /// commands from the networks in `sip.allow`.
    #[arg(long, env = "WEIR_NG", value_name = "ADDR|URL", default_value = "127.0.0.1:2223")]
    pub ng: String,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The relay, and how many calls.
#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// The relay of calls to ask.
    #[command(flatten)]
    pub relay: RelayArgs,
    /// How many calls to list at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
}

/// The relay and the call.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The Call-ID of SIP.
    pub call_id: String,
    /// The relay of calls to ask.
    #[command(flatten)]
    pub relay: RelayArgs,
}
