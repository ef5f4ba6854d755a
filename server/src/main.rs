//! `weir`: the program. It owns what the rest of Weir may not use: clocks, sockets, threads, files
//! and the environment.
//!
//! Reading order: [`cli`] and [`config`] define the settings; [`serve`] puts the parts together;
//! [`media`] runs the agent and its data plane on a thread, with handshakes on others;
//! [`controller_task`] runs the controller on a task with its [`frontends`], which [`http`] feeds
//! from [`clients`], and [`sip`] is the same for calls of SIP proxies.

#![forbid(unsafe_code)]

mod cli;
mod clients;
mod cluster;
mod commands;
mod config;
mod controller_task;
mod dataplane;
mod frontends;
mod http;
mod import;
mod inspect;
mod log;
mod media;
mod metrics;
mod os;
mod plan;
mod roles;
mod serve;
mod settings;
mod sip;
mod tls;
mod turn_server;
mod webhooks;
mod websocket;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Parser;

/// How long the last words may take.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let outcome = match cli::Cli::parse().command {
        cli::Command::Serve(arguments) => serve::run(arguments),
        cli::Command::Controller(arguments) => serve::controller::run(arguments),
        cli::Command::Media(arguments) => serve::media_node::run(arguments),
        cli::Command::ClusterCert(arguments) => cluster::certificates::run(arguments),
        cli::Command::CheckConfig(arguments) => serve::check::run(arguments),
        cli::Command::Token(arguments) => commands::token::run(arguments),
        cli::Command::Doctor(arguments) => commands::doctor::run(*arguments),
        cli::Command::Room(command) => commands::rooms::run(command),
        cli::Command::Participant(command) => commands::participants::run(command),
        cli::Command::Call(command) => commands::calls::run(command),
        cli::Command::Inspect(arguments) => inspect::run(arguments),
        cli::Command::Explain(arguments) => commands::explain::run(arguments),
        cli::Command::Trace(arguments) => commands::explain::trace(arguments),
        cli::Command::Detach(arguments) => inspect::detach(arguments),
        cli::Command::Plan(arguments) => plan::run(*arguments),
        cli::Command::ImportConfig(arguments) => import::run(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let status = commands::refusal::Refusal::status_of(&*error);
            complain(error.to_string());
            ExitCode::from(status)
        }
    }
}

/// Says why the process ends, to whoever reads it: where standard error is stuck, the exit status
/// has to do.
fn complain(error: String) {
    let (said, heard) = mpsc::channel::<()>();
    let saying = thread::Builder::new().spawn(move || {
        let _ = writeln!(io::stderr(), "weir: {error}");
        drop(said);
    });
    if saying.is_ok() {
        let _ = heard.recv_timeout(LAST_WORDS_MAX);
    }
}
