//! `weir-switch-sim`: the simulated P4 switch on network interfaces of this machine.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a switch runs by the machine's clock")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use switch_sim::{Options, Output, PROGRAMS, Port, Server};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// How long a port's thread waits for a frame before it looks whether it is to end.
const WAIT: Duration = Duration::from_millis(200);

/// Runs a P4 switch in software, to try or test a deployment without a switch.
#[derive(Debug, Parser)]
#[command(name = "weir-switch-sim", version)]
struct Arguments {
    /// The address for P4Runtime. It has neither encryption nor authentication.
    #[arg(long, default_value = "127.0.0.1:9559")]
    listen: SocketAddr,
    /// The number by which controllers name the switch.
    #[arg(long, default_value_t = 1)]
    device_id: u64,
    /// The program to begin with: "multicast", "recirculation" or "tree", or the compiler's JSON,
    /// with its description beside it (FILE.p4info.txtpb). Without it the controller's is awaited.
    #[arg(long, value_name = "NAME|FILE.json")]
    program: Option<String>,
    /// A port and its network interface, such as "1@veth1"; may be given several times. Needs
    /// CAP_NET_RAW. Turn off checksum and segmentation offloads at the cable's other end.
    #[arg(long = "port", value_name = "PORT@INTERFACE")]
    ports: Vec<PortArgument>,
    /// The port that is the controller.
    #[arg(long, default_value_t = 510)]
    cpu_port: u16,
    /// Replicas over all multicast groups and clone sessions.
    #[arg(long, default_value_t = 4096)]
    replicas: usize,
    /// Accept what BMv2 accepts in silence, such as groups left of an earlier program.
    #[arg(long)]
    lenient: bool,
}

/// A port of the switch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PortArgument {
    /// Its number.
    number: u16,
    /// The network interface.
    interface: String,
}

impl FromStr for PortArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, interface) = text.split_once('@').ok_or("a port is NUMBER@INTERFACE")?;
        match number.parse() {
            Ok(number @ 1..511) if !interface.is_empty() => Ok(Self {
                number,
                interface: interface.to_owned(),
            }),
            _ => Err("a port is NUMBER@INTERFACE, with a number from 1 to 510".to_owned()),
        }
    }
}

/// The interfaces by port.
struct Ports {
    all: HashMap<u16, Port>,
    /// Frames to ports without an interface, and frames that an interface refused.
    unsent: AtomicU64,
    is_ending: AtomicBool,
}

impl Ports {
    fn open(ports: &[PortArgument]) -> Result<Self, Box<dyn Error>> {
        let mut all = HashMap::new();
        for port in ports {
            let name = &port.interface;
            let opened = Port::open(name).map_err(|error| format!("{name}: {error}"))?;
            opened.set_timeout(Some(WAIT))?;
            if all.insert(port.number, opened).is_some() {
                return Err(format!("port {} is there twice", port.number).into());
            }
        }
        Ok(Self {
            all,
            unsent: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        })
    }

    fn send(&self, outputs: &[Output]) {
        for output in outputs {
            let port = self.all.get(&output.port);
            if port.is_none_or(|it| it.send(&output.bytes).is_err()) {
                self.unsent.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Passes the frames of one port through the switch until the end.
    fn run(&self, number: u16, server: &Server) -> io::Result<()> {
        while !self.is_ending.load(Ordering::Relaxed) {
            if let Some(frame) = self.all[&number].receive()? {
                self.send(&server.packet(number, &frame));
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "weir-switch-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the switch until a signal, and prints its counters.
fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let ports = Arc::new(Ports::open(&arguments.ports)?);
    let options = Options {
        device_id: arguments.device_id,
        cpu_port: arguments.cpu_port,
        replicas_max: arguments.replicas,
        is_lenient: arguments.lenient,
    };
    let start = Instant::now();
    let sender = Arc::clone(&ports);
    let server = Server::new(
        options,
        Arc::new(move || start.elapsed()),
        Arc::new(move |outputs: Vec<Output>| sender.send(&outputs)),
    );
    if let Some(name) = &arguments.program {
        let (json, info) = program(name)?;
        server
            .with_device(|device| device.load(&json, &info))
            .map_err(|refusal| format!("{name}: {refusal}"))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = thread::scope(|scope| {
        for number in ports.all.keys().copied() {
            let (ports, server) = (&ports, &server);
            scope.spawn(move || {
                if let Err(error) = ports.run(number, server) {
                    say(format_args!("weir-switch-sim: port {number}: {error}"));
                }
            });
        }
        let outcome = runtime.block_on(serve(arguments, server.clone()));
        ports.is_ending.store(true, Ordering::Relaxed);
        outcome
    });
    report(&server, &ports);
    outcome
}

async fn serve(arguments: &Arguments, server: Server) -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listen = arguments.listen;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("{listen}: {error}"))?;
    let exposed = if listen.ip().is_loopback() {
        "loopback only"
    } else {
        "WITHOUT authentication, beyond loopback"
    };
    let local = listener.local_addr()?;
    let count = arguments.ports.len();
    say(format_args!(
        "weir-switch-sim: P4Runtime on {local} ({exposed}), device {}, {count} ports",
        arguments.device_id
    ));
    // A controller's stream never ends by itself: the server is dropped with it.
    tokio::select! {
        served = server.serve(listener, std::future::pending()) => served?,
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// A program and its description, by the name of one of ours or by the path of its JSON.
fn program(name: &str) -> Result<(String, String), Box<dyn Error>> {
    if let Some(embedded) = PROGRAMS.iter().find(|it| it.name == name) {
        return Ok((embedded.json.to_owned(), embedded.p4info.to_owned()));
    }
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let json = Path::new(name);
    Ok((read(json)?, read(&json.with_extension("p4info.txtpb"))?))
}

/// Prints what was counted.
fn report(server: &Server, ports: &Ports) {
    let (statistics, counts) = server.with_device(|device| (device.statistics(), device.counts()));
    for (name, value) in statistics.all() {
        say(format_args!("{name} {value}"));
    }
    say(format_args!("unsent {}", ports.unsent.load(Ordering::Relaxed)));
    say(format_args!("dropped_packet_ins {}", server.dropped_packet_ins()));
    for (name, index, packets, bytes) in counts {
        say(format_args!("{name}[{index}] {packets} packets, {bytes} bytes"));
    }
}

/// Writes a line to standard output; a closed one does not end the switch.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
