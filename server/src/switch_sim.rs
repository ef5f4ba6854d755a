//! `weir switch-sim`: the simulated P4 switch on network interfaces of this machine.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use backend_p4::COMPILED;
use switch_sim::{Options, Output, Port, Server};
use tokio::net::TcpListener;

use crate::cli;
use crate::os::clock;
use crate::os::signals::{Asked, Signals};

/// How long a port's thread waits for a frame before it looks whether it is to end.
const WAIT: Duration = Duration::from_millis(200);

/// The interfaces by port.
struct Ports {
    all: HashMap<u16, Port>,
    /// Frames to ports without an interface, and frames that an interface refused.
    unsent: AtomicU64,
    is_ending: AtomicBool,
}

impl Ports {
    fn open(ports: &[cli::SwitchPort]) -> Result<Self, Box<dyn Error>> {
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

/// Runs the switch until a signal, and prints its counters.
pub(crate) fn run(arguments: cli::SwitchSim) -> Result<(), Box<dyn Error>> {
    let ports = Arc::new(Ports::open(&arguments.ports)?);
    let options = Options {
        device_id: arguments.device_id,
        cpu_port: arguments.cpu_port,
        replicas_max: arguments.replicas,
        is_lenient: arguments.lenient,
    };
    let start = clock::now();
    let sender = Arc::clone(&ports);
    let server = Server::new(
        options,
        Arc::new(move || clock::now().duration_since(start)),
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
                    say(format_args!("weir switch-sim: port {number}: {error}"));
                }
            });
        }
        let outcome = runtime.block_on(serve(&arguments, server.clone()));
        ports.is_ending.store(true, Ordering::Relaxed);
        outcome
    });
    report(&server, &ports);
    outcome
}

async fn serve(arguments: &cli::SwitchSim, server: Server) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::listen()?;
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
        "weir switch-sim: P4Runtime on {local} ({exposed}), device {}, {count} ports",
        arguments.device_id
    ));
    let end = async move { while signals.next().await != Asked::End {} };
    tokio::pin!(end);
    // A controller's stream never ends by itself: the server is dropped with it.
    tokio::select! {
        served = server.serve(listener, std::future::pending()) => served?,
        () = &mut end => {}
    }
    Ok(())
}

/// A program and its description, by the name of one of ours or by the path of its JSON.
fn program(name: &str) -> Result<(String, String), Box<dyn Error>> {
    // Those of the driver: the simulator's own would be in the program a second time.
    if let Some(compiled) = COMPILED.iter().find(|it| it.name == name) {
        return Ok((compiled.json.to_owned(), compiled.p4info.to_owned()));
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
