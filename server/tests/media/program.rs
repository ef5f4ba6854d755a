//! The program with a configuration of a test's own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ports::free_ports;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

const PROGRAM: &str = env!("CARGO_BIN_EXE_weir");

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A media node that ends with the test.
pub(crate) struct Program {
    child: Child,
    port: u16,
    southbound: u16,
    media: u16,
    folder: PathBuf,
    log: Arc<Mutex<String>>,
}

impl Program {
    /// Starts it with these settings in the section of its cluster, and these lines at the end.
    pub(crate) fn start(cluster: &str, rest: &str) -> Self {
        let folder = folder();
        make_certificates(&folder);
        let [port, southbound, media] = free_ports();
        write_config(&folder, [port, southbound, media], cluster, rest);
        let mut child = Command::new(PROGRAM)
            .args(["media", "--config"])
            .arg(folder.join("weir.yaml"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let log = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("nobody panics with it").push_str(&(line + "\n"));
            }
        });
        let program = Program {
            child,
            port,
            southbound,
            media,
            folder,
            log,
        };
        program.wait_until_it_listens();
        program
    }

    fn wait_until_it_listens(&self) {
        for _ in 0..1_000 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not listen: {}", self.log());
    }

    /// The address at which controllers reach it.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.southbound)
    }

    /// Makes another authority, and a certificate of it, in the place of those there are.
    pub(crate) fn make_certificates(&self) {
        make_certificates(&self.folder);
    }

    /// Writes another configuration, and has it read.
    pub(crate) fn reload(&self, cluster: &str, rest: &str) {
        write_config(&self.folder, [self.port, self.southbound, self.media], cluster, rest);
        self.signal(Signal::HUP);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits until it has ended; whether it says that all was well.
    pub(crate) async fn await_end(&mut self) -> bool {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.success();
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.log());
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// The lines of its log.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// Waits until its log says this.
    pub(crate) async fn await_log(&self, text: &str) {
        until(text, async || self.log().contains(text)).await;
    }

    /// An answer, head and body.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is ours, and may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The report of `weir check-config --role media` on these settings of the cluster.
pub(crate) fn check(cluster: &str) -> String {
    let folder = folder();
    make_certificates(&folder);
    write_config(&folder, free_ports(), cluster, "");
    let mut check = Command::new(PROGRAM);
    check
        .args(["check-config", "--role", "media", "--config"])
        .arg(folder.join("weir.yaml"));
    let output = check.output().expect("the program");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let _ = fs::remove_dir_all(&folder);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until something is so, and returns how long it took.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "not so: {what}");
        sleep(Duration::from_millis(20)).await;
    }
    begun.elapsed()
}

fn folder() -> PathBuf {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("weir-media-{}-{nth}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn make_certificates(folder: &Path) {
    let made = folder.join("new");
    let mut command = Command::new(PROGRAM);
    command
        .arg("cluster-cert")
        .arg(&made)
        .args(["--name", "one", "--role", "media"]);
    assert!(command.stdout(Stdio::null()).status().expect("the program").success());
    for name in ["ca.pem", "one.pem", "one.key"] {
        fs::rename(made.join(name), folder.join(name)).expect("it is made");
    }
    fs::remove_dir_all(made).expect("it is there");
}

fn write_config(folder: &Path, [port, southbound, media]: [u16; 3], cluster: &str, rest: &str) {
    let path = folder.display();
    let files = format!("ca: {path}/ca.pem, certificate: {path}/one.pem, key: {path}/one.key");
    let cluster = match cluster {
        "" => String::new(),
        settings => format!(", {settings}"),
    };
    let text = format!(
        "bind: [127.0.0.1]\nport: {port}\nrtc: {{port: {media}, workers: 1}}\n\
         cluster: {{name: one, listen: '127.0.0.1:{southbound}', {files}{cluster}}}\n{rest}"
    );
    fs::write(folder.join("weir.yaml"), text).expect("a file");
}
