//! Arguments of `weir explain` and `weir trace`.

use clap::Args;

use super::ServerArgs;

/// The participant to explain, and the form of the answer.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Which participant of which server.
    #[command(flatten)]
    pub subject: TimelineSubject,
    /// How far back, as 90s, 10m or 2h.
    #[arg(long, default_value = "10m")]
    pub since: String,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The participant to trace.
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// Which participant of which server.
    #[command(flatten)]
    pub subject: TimelineSubject,
    /// How far back, as 90s, 10m or 2h; by default all that is known.
    #[arg(long)]
    pub since: Option<String>,
    /// Print the timeline as JSON in place of a trace.
    #[arg(long)]
    pub json: bool,
}

/// A participant, and the server that has its timeline.
#[derive(Debug, Args)]
pub(crate) struct TimelineSubject {
    /// The room of the participant.
    pub room: String,
    /// The identity of the participant, who may have left.
    pub identity: String,
    /// The server and the key.
    #[command(flatten)]
    pub server: ServerArgs,
}
