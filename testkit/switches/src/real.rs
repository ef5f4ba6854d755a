//! BMv2's `simple_switch_grpc` in a network namespace of its own.

#![allow(clippy::disallowed_methods, reason = "the time of a real program is the machine's")]

use std::env;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use skip::skipped;
use switch_sim::{Output, Port};
use veth::Namespace;

use crate::{CPU_PORT, DEVICE, Switch};

/// The program.
const PROGRAM: &str = "simple_switch_grpc";

/// The address of P4Runtime inside of the namespace.
const INSIDE: &str = "127.0.0.1:9559";

/// The longest packet of a cable, in bytes without the Ethernet header.
const MTU: u16 = 4_000;

/// How long the program may take to listen.
const START_MAX: Duration = Duration::from_secs(20);

/// How long an expected packet may take.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How long the receiver of a port waits before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// BMv2 with ports that end in this process.
pub struct Bmv2 {
    child: Child,
    address: SocketAddr,
    ports: Vec<(u16, Arc<Port>)>,
    received: Receiver<Output>,
    is_ending: Arc<AtomicBool>,
    /// How long the first packet of an answer may take.
    pub first: Duration,
    /// How long each further one may take.
    pub further: Duration,
}

/// BMv2 with these ports, or `None` with the reason on standard error if there is no program, or no
/// namespace for it. With `P4_CHECK` in the environment there has to be one.
///
/// # Panics
///
/// If the program is there and does not start: a test that skips then would count as passed.
pub fn bmv2(ports: &[u16]) -> Option<Bmv2> {
    let place = find(PROGRAM)
        .ok_or_else(|| format!("there is no {PROGRAM} on the path"))
        .and_then(|program| Ok((program, Namespace::new().map_err(|error| error.to_string())?)));
    let is_needed = env::var_os("P4_CHECK").is_some();
    match place {
        Ok((program, namespace)) => {
            let started = Bmv2::start(&program, namespace, ports);
            Some(started.unwrap_or_else(|reason| panic!("BMv2 is there and does not start: {reason}")))
        }
        Err(reason) if is_needed => panic!("BMv2 is needed, as P4_CHECK says: {reason}"),
        Err(reason) => {
            skipped("nothing was tested on BMv2", reason);
            None
        }
    }
}

impl Bmv2 {
    /// Starts a program in a namespace.
    ///
    /// Errors: the reason why it does not listen. Its standard error is that of the test.
    fn start(program: &Path, namespace: Namespace, ports: &[u16]) -> Result<Self, String> {
        let is_ending = Arc::new(AtomicBool::new(false));
        let (sender, received) = mpsc::channel();
        let mut opened = Vec::new();
        let run = |words: &str| namespace.command("ip", words).map_err(|error| error.to_string());
        run("link set lo up")?;
        for number in ports {
            run(&format!("link add s{number} type veth peer name t{number}"))?;
            for end in [format!("s{number}"), format!("t{number}")] {
                // Without offloads bursts are not lost, and the stack sends nothing by itself.
                let path = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
                namespace
                    .run(|| fs::write(path, "1"))
                    .map_err(|error| error.to_string())?;
                let offloads = format!("-K {end} rx off tx off sg off tso off gso off gro off");
                namespace
                    .command("ethtool", &offloads)
                    .map_err(|error| error.to_string())?;
                run(&format!("link set {end} mtu {MTU} up"))?;
            }
            let port = namespace
                .run(|| Port::open(&format!("t{number}")))
                .map_err(|error| error.to_string())?;
            opened.push((*number, Arc::new(port)));
        }
        let child = spawn(program, ports, &namespace).map_err(|error| error.to_string())?;
        let mut switch = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            ports: opened,
            received,
            is_ending,
            first: Duration::from_millis(60),
            further: Duration::from_millis(15),
        };
        switch.await_listener(&namespace)?;
        for (number, port) in &switch.ports {
            receive(*number, Arc::clone(port), sender.clone(), Arc::clone(&switch.is_ending));
        }
        let is_ending = Arc::clone(&switch.is_ending);
        switch.address = forward(namespace, is_ending).map_err(|error| error.to_string())?;
        Ok(switch)
    }

    fn put(&self, port: u16, bytes: &[u8]) {
        let Some((_, socket)) = self.ports.iter().find(|it| it.0 == port) else {
            panic!("the switch has no port {port}");
        };
        socket.send(bytes).expect("the cable of a test takes a frame");
    }

    /// Forgets what was received so far.
    fn forget(&self) {
        while self.received.try_recv().is_ok() {}
    }

    fn await_listener(&mut self, namespace: &Namespace) -> Result<(), String> {
        let start = Instant::now();
        while namespace.run(|| TcpStream::connect(INSIDE)).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{PROGRAM} has ended: {status}"));
            }
            if start.elapsed() > START_MAX {
                return Err(format!("{PROGRAM} does not listen"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Switch for Bmv2 {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn packet(&mut self, port: u16, bytes: &[u8]) -> Vec<Output> {
        self.forget();
        self.put(port, bytes);
        self.sent()
    }

    fn packet_for(&mut self, port: u16, bytes: &[u8], expected: usize) -> Vec<Output> {
        self.forget();
        self.put(port, bytes);
        let mut outputs = Vec::new();
        loop {
            let wait = if outputs.len() < expected {
                ANSWER_MAX
            } else {
                self.further
            };
            match self.received.recv_timeout(wait) {
                Ok(output) => outputs.push(output),
                Err(_) => return outputs,
            }
        }
    }

    fn send(&mut self, port: u16, bytes: &[u8]) {
        self.put(port, bytes);
    }

    fn sent(&mut self) -> Vec<Output> {
        let mut outputs = Vec::new();
        let mut wait = self.first;
        while let Ok(output) = self.received.recv_timeout(wait) {
            outputs.push(output);
            wait = self.further;
        }
        outputs
    }
}

impl Drop for Bmv2 {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|it| it.join(program))
        .find(|it| it.is_file())
}

/// Whether it was built with nanomsg. It does not know the option otherwise, and several of them at
/// a time share one address without it.
fn has_notifications(program: &Path) -> bool {
    let help = Command::new(program).arg("--help").output();
    help.is_ok_and(|help| {
        [help.stdout, help.stderr]
            .iter()
            .any(|text| contains(text, b"--notifications-addr"))
    })
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

fn spawn(program: &Path, ports: &[u16], namespace: &Namespace) -> io::Result<Child> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let notifications = format!("ipc:///tmp/weir-bmv2-{}-{number}.ipc", std::process::id());
    // It drops packets once 64 wait for one of its threads, as on a machine that is busy with other
    // things.
    let mut command = match find("chrt") {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(["--rr", "10"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--no-p4", "--log-level", "off", "--device-id", &DEVICE.to_string()]);
    if has_notifications(program) {
        command.args(["--notifications-addr", &notifications]);
    }
    for port in ports {
        command.args(["-i", &format!("{port}@s{port}")]);
    }
    command.args(["--", "--grpc-server-addr", INSIDE, "--cpu-port", &CPU_PORT.to_string()]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    namespace.run(|| command.spawn())
}

/// Receives the frames that the switch sends on a port.
fn receive(number: u16, port: Arc<Port>, sender: Sender<Output>, is_ending: Arc<AtomicBool>) {
    thread::spawn(move || {
        let _ = port.set_timeout(Some(LOOK));
        while !is_ending.load(Ordering::Relaxed) {
            match port.receive() {
                Ok(Some(bytes)) => {
                    if sender.send(Output { port: number, bytes }).is_err() {
                        return;
                    }
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
    });
}

/// Forwards connections from this process's namespace to the program's.
fn forward(namespace: Namespace, is_ending: Arc<AtomicBool>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for outer in listener.incoming() {
            if is_ending.load(Ordering::Relaxed) {
                return;
            }
            let (Ok(outer), Ok(inner)) = (outer, namespace.run(|| TcpStream::connect(INSIDE))) else {
                continue;
            };
            for stream in [&outer, &inner] {
                let _ = stream.set_nodelay(true);
            }
            if let (Ok(from), Ok(to)) = (outer.try_clone(), inner.try_clone()) {
                pass(from, to);
                pass(inner, outer);
            }
        }
    });
    Ok(address)
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}
