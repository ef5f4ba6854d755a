//! `weir`: the program. It owns what the rest of Weir may not touch: clocks, sockets, threads, files and the environment.
//!
//! Reading order: [`cli`] and [`config`] say what can be asked for; [`serve`] puts the parts together; [`node`] runs the agent
//! and its data plane on a thread with [`handshakes`] on others, [`signal`] runs the controller on a task, [`http`] feeds it, and [`sip`] is the same for calls of SIP proxies. How receivers do is asked of both,
//! by message, in [`receivers`].

mod cli;
mod clock;
mod config;
mod cpu_latency;
mod dev;
mod handshakes;
mod http;
mod inspect;
mod listen;
mod metrics;
mod niceness;
mod node;
mod observe;
mod page;
mod plane;
mod receivers;
mod scrape;
mod serve;
mod signal;
mod sip;
mod socket;
mod token;
mod websocket;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let outcome = match cli::Cli::parse().command {
        cli::Command::Serve(arguments) => serve::run(arguments),
        cli::Command::Token(arguments) => token::run(arguments),
        cli::Command::Inspect(arguments) => inspect::run(arguments),
        cli::Command::TakeDown(arguments) => inspect::take_down(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir: {error}");
            ExitCode::FAILURE
        }
    }
}
