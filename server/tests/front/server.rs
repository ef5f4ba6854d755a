//! The program with a configuration of a test's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant, sign};
use ports::free_port;
use rustix::process::{Pid, Signal, kill_process};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A secret.
pub(crate) const ONE: &str = "0123456789abcdef0123456789abcdef";
/// Another one.
pub(crate) const OTHER: &str = "fedcba9876543210fedcba9876543210";

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    port: u16,
    ports: String,
    folder: PathBuf,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Starts it with these lines in its file, beside where it listens.
    pub(crate) fn start(config: &str) -> Self {
        Self::start_at(free_port(), config)
    }

    /// The same at this port of HTTP.
    pub(crate) fn start_at(port: u16, config: &str) -> Self {
        Self::start_in(port, config, |_| {})
    }

    /// The same in an environment that `set_up` makes.
    pub(crate) fn start_in(port: u16, config: &str, set_up: impl FnOnce(&mut Command)) -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("weir-front-{}-{nth}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let media = free_port();
        let ports = format!("bind: [127.0.0.1]\nport: {port}\nrtc: {{port: {media}, workers: 1}}\n");
        let path = folder.join("weir.yaml");
        std::fs::write(&path, format!("{ports}{config}")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .args(["serve", "--config"])
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        set_up(&mut command);
        let mut child = command.spawn().expect("the program");
        let log = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("nobody panics with it").push_str(&(line + "\n"));
            }
        });
        let server = Server {
            child,
            port,
            ports,
            folder,
            log,
        };
        server.wait("it starts", || server.listens());
        server
    }

    /// The file of its configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("weir.yaml")
    }

    /// Its port of HTTP.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes another configuration, and has it read.
    pub(crate) fn reload(&self, config: &str) {
        std::fs::write(self.config(), format!("{}{config}", self.ports)).expect("a file");
        self.signal(Signal::HUP);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it runs");
    }

    /// Waits until its log says this.
    pub(crate) fn await_log(&self, text: &str) {
        self.await_log_after(0, text);
    }

    /// Waits until its log says this after its first bytes.
    pub(crate) fn await_log_after(&self, start: usize, text: &str) {
        self.wait(text, || {
            self.log.lock().expect("nobody panics with it")[start..].contains(text)
        });
    }

    /// The number of bytes in its log.
    pub(crate) fn log_len(&self) -> usize {
        self.log.lock().expect("nobody panics with it").len()
    }

    /// Waits until it has ended by itself; whether it says that all was well.
    pub(crate) fn await_end(&mut self) -> bool {
        let begun = now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.success();
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "it does not end; its log: {}",
                self.log.lock().expect("whole")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether it takes connections.
    pub(crate) fn listens(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    /// A connection that nothing was said on. It fails when it has nothing to read for long.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("it is longer than nothing");
        stream
    }

    /// The status of an answer.
    pub(crate) fn status(&self, path: &str) -> u16 {
        let answer = self.get(path);
        answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("HTTP")
    }

    /// An answer, head and body.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// The status that a token with this key gets at joining.
    pub(crate) fn validate(&self, key: &str, secret: &str) -> u16 {
        self.validate_as("ada", key, secret)
    }

    /// The same for this identity; participants that join are `ada`.
    pub(crate) fn validate_as(&self, identity: &str, key: &str, secret: &str) -> u16 {
        self.status(&format!("/rtc/validate?access_token={}", token(identity, key, secret)))
    }

    /// Joins with a token of this key, as soon as somebody can.
    pub(crate) fn join(&self, key: &str, secret: &str) -> WebSocket<MaybeTlsStream<TcpStream>> {
        self.join_as("ada", key, secret)
    }

    /// The same for this identity.
    pub(crate) fn join_as(&self, identity: &str, key: &str, secret: &str) -> WebSocket<MaybeTlsStream<TcpStream>> {
        self.wait("it is ready", || self.status("/readyz") == 200);
        let url = format!(
            "ws://127.0.0.1:{}/rtc?protocol=16&access_token={}",
            self.port,
            token(identity, key, secret)
        );
        let (mut socket, _) = tungstenite::connect(url).expect("it joins");
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        }
        socket.read().expect("the answer to joining");
        socket
    }

    /// Waits until something is so.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = now();
        while !is_so() {
            let log = || self.log.lock().expect("nobody panics with it").clone();
            assert!(begun.elapsed() < PATIENCE, "not so: {what}; its log: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is ours, and may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A token of this identity for the lobby.
pub(crate) fn token(identity: &str, key: &str, secret: &str) -> String {
    let claims = Claims {
        iss: key.to_owned(),
        sub: identity.to_owned(),
        exp: Some(4_000_000_000),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    sign(&claims, &ApiKeys::default().with(key, secret)).expect("the key is there")
}

#[expect(clippy::disallowed_methods, reason = "a program runs in real time")]
fn now() -> Instant {
    Instant::now()
}

/// A configuration with these keys.
pub(crate) fn with_keys(keys: &[(&str, &str)], more: &str) -> String {
    let keys = keys.iter().map(|(key, secret)| format!("  {key}: {secret}\n"));
    format!("keys:\n{}{more}", keys.collect::<String>())
}

/// Whether a participant's signalling is served: its ping is answered.
pub(crate) fn is_served(socket: &mut WebSocket<impl Read + Write>) -> bool {
    let ping = Message::text(r#"{"pingReq":{"timestamp":"1"}}"#);
    let answers = socket.send(ping).and_then(|()| {
        loop {
            let message = socket.read()?;
            if message.is_text() && message.to_text()?.contains("pongResp") {
                return Ok(());
            }
        }
    });
    answers.is_ok()
}
