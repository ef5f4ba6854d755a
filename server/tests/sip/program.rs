//! The program, with a configuration and ports of its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use ports::{free_ports, local_ports};
use rustix::process::{Pid, Signal, kill_process};

/// Ports that media of one program may have.
const PORTS: u16 = 40;

/// A program that ends with the test.
pub(crate) struct Program {
    child: Child,
    http: u16,
    /// The ports of its control sockets: UDP and TCP of `ng`, HTTP of `ng`, UDP of rtpproxy.
    pub ng: u16,
    pub ng_http: u16,
    pub rtpproxy: u16,
    /// Its files.
    pub directory: PathBuf,
    /// The first and the last port of its media.
    pub media: [u16; 2],
}

/// A range below those that the system gives out, another one for each program.
fn media_ports() -> [u16; 2] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let nth = (std::process::id() as u16 % 100) * 2 + NEXT.fetch_add(1, Ordering::Relaxed) % 40;
    let first = 12_000 + nth * PORTS;
    [first, first + PORTS - 1]
}

const CONFIG: &str = "weir.yaml";

fn serve(directory: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(["serve", "--log", "warn", "--config"])
        .arg(directory.join(CONFIG));
    command.stderr(Stdio::piped()).spawn().expect("the program")
}

impl Program {
    /// Starts it with these lines in its section `sip`, beside where it listens; `{directory}` is
    /// where its files are.
    pub(crate) fn start(more: &str) -> Self {
        let mut program = Self::spawn(more);
        program.await_start();
        program
    }

    /// Kills it, and starts it again.
    pub(crate) fn replace(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.child = serve(&self.directory);
        self.await_start();
    }

    /// Asks it to end, and not at once.
    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
    }

    /// Waits until it has ended by itself; whether it says that all was well.
    pub(crate) fn await_end(&mut self) -> bool {
        let begun = now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.success();
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn await_start(&mut self) {
        let begun = now();
        while TcpStream::connect(("127.0.0.1", self.http)).is_err() {
            let ended = self.child.try_wait().expect("it is ours");
            if ended.is_some() || begun.elapsed() > Duration::from_secs(60) {
                // It may have ended already.
                let _ = self.child.kill();
                panic!("it does not start: {ended:?}\n{}", self.said());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its messages on standard error until its end.
    fn said(&mut self) -> String {
        let mut said = String::new();
        let errors = self.child.stderr.as_mut().expect("it is piped");
        errors.read_to_string(&mut said).expect("text");
        said
    }

    fn spawn(more: &str) -> Self {
        let [http, rtc, ng, ng_http, rtpproxy] = free_ports();
        let media = media_ports();
        let directory = std::env::temp_dir().join(format!("weir-sip-{}-{ng}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let socket = directory.join("rtpproxy.sock");
        let [first, last] = media;
        let text = format!(
            "bind: [127.0.0.1]
port: {http}
keys: {{a: 0123456789abcdef0123456789abcdef}}
rtc: {{port: {rtc}, workers: 1, offload: none}}
sip:
  ng: {{listen: '127.0.0.1:{ng}', tcp: '127.0.0.1:{ng}', http: '127.0.0.1:{ng_http}'}}
  rtpproxy: {{listen: '127.0.0.1:{rtpproxy}', unix: '{}'}}
  interfaces: [{{address: 127.0.0.1, ports: {first}-{last}}}]
{more}",
            socket.display()
        );
        let text = text.replace("{directory}", &directory.display().to_string());
        std::fs::write(directory.join(CONFIG), text).expect("a file");
        Program {
            child: serve(&directory),
            http,
            ng,
            ng_http,
            rtpproxy,
            directory,
            media,
        }
    }

    /// Starts it where it cannot work; what it says about that.
    pub(crate) fn fail(more: &str) -> String {
        let mut program = Self::spawn(more);
        let said = program.said();
        let status = program.child.wait().expect("it ends");
        assert!(!status.success());
        said
    }

    /// One of its figures, by the beginning of its line.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let text = get(self.http, "/metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(f64::NAN, |value| value.trim().parse().expect("a number"))
    }

    /// Waits until a figure is what it should be.
    pub(crate) fn await_figure(&self, name: &str, expected: f64) {
        let begun = now();
        while self.figure(name) != expected {
            let waited = begun.elapsed();
            assert!(
                waited < Duration::from_secs(10),
                "{name} is {}, not {expected}",
                self.figure(name)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until no port of its media is open: a worker that has just read from one closes it a
    /// moment later.
    pub(crate) fn await_closed(&self) {
        let begun = now();
        while self.open_ports() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "ports stay open");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How many ports of its media are open.
    pub(crate) fn open_ports(&self) -> usize {
        let [first, last] = self.media;
        local_ports("udp").range(first..=last).count()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is ours, and may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// An HTTP request without a body.
pub(crate) fn get(port: u16, path: &str) -> String {
    request(
        port,
        &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
    )
}

/// Any HTTP request that asks for the connection to be closed.
pub(crate) fn request(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

#[expect(clippy::disallowed_methods, reason = "a program runs in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
