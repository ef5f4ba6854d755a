//! `weir inspect`: the places of a running switch's entries or the cluster of a running controller,
//! and `weir detach`: the end of forwarding that a switch left in the kernel.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use operator::{Cluster, Places};
use serde::de::DeserializeOwned;

use crate::{cli, dataplane};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer: of a million entries.
const ANSWER_MAX: u64 = 100 << 20;

/// Asks, and prints the answer.
pub(crate) fn run(arguments: cli::Inspect) -> Result<(), Box<dyn Error>> {
    let text = match arguments.cluster {
        true => {
            let body = ask(&arguments, "/api/cluster")?;
            let cluster: Cluster = read(&body)?;
            if arguments.json { body } else { cluster.text() }
        }
        false => {
            let body = ask(&arguments, "/api/entries")?;
            let places: Places = read(&body)?;
            if arguments.json { body } else { places.text() }
        }
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(io::stdout().lock(), "{text}{end}") {
        // Somebody has seen enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// The body of a server's answer.
fn ask(arguments: &cli::Inspect, path: &str) -> Result<String, Box<dyn Error>> {
    let mut server = TcpStream::connect_timeout(&arguments.server, PATIENCE).map_err(|error| {
        let address = arguments.server;
        format!("nobody answers at {address}: {error}: --server names the HTTP port of a running Weir")
    })?;
    server.set_read_timeout(Some(PATIENCE))?;
    write!(
        server,
        "GET {path} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n",
        arguments.server
    )?;
    if let Some(token) = &arguments.token {
        write!(server, "Authorization: Bearer {token}\r\n")?;
    }
    server.write_all(b"\r\n")?;
    let mut answer = String::new();
    server.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the server does not speak HTTP")?;
    if head.split(' ').nth(1) != Some("200") {
        let status = head.lines().next().unwrap_or_default();
        return Err(match body.trim() {
            "" => format!("{path} of this server is not to be had: it answers {status}").into(),
            why => why.into(),
        });
    }
    Ok(body.to_owned())
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, String> {
    serde_json::from_str(body).map_err(|error| format!("the server's answer is of another version of Weir: {error}"))
}

/// Takes programs off interfaces, and frees what they kept.
pub(crate) fn detach(arguments: cli::Detach) -> Result<(), Box<dyn Error>> {
    let pins = arguments.pins.display();
    dataplane::ebpf::detach(&arguments.pins).map_err(|error| format!("cannot detach what is in {pins}: {error}"))?;
    Ok(())
}
