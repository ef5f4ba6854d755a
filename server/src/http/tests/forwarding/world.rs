//! Controllers with real ports, and the cluster that says which of them serves a room.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::*;
use crate::cli::Role;
use crate::cluster::certificates::{Authority, Issued};
use crate::cluster::forward::Forwarder;
use crate::cluster::location::{Location, Locator, Question};
use crate::cluster::tls::ClusterTls;
use crate::config::ClusterFiles;
use crate::http::forwarded;
use crate::http::listen::{self, Front, Port};
use crate::metrics::forwarded::ForwardCounts;
use crate::os::tcp;

pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The answers of the cluster, and the reports to it.
#[derive(Clone, Default)]
pub(super) struct Directory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The answers about each room, of which the last one stays.
    locations: HashMap<String, Vec<Location>>,
    controllers: Vec<String>,
    suspects: Vec<String>,
    questions: usize,
    denials: usize,
}

impl Directory {
    /// Answers so about a room: each location once, and the last one from then on.
    pub(super) fn set(&self, room: &str, locations: Vec<Location>) {
        let mut state = self.0.lock().unwrap();
        state.locations.insert(room.to_owned(), locations);
    }

    pub(super) fn set_controllers(&self, controllers: &[SocketAddr]) {
        let controllers = controllers.iter().map(SocketAddr::to_string);
        self.0.lock().unwrap().controllers = controllers.collect();
    }

    pub(super) fn suspects(&self) -> Vec<String> {
        self.0.lock().unwrap().suspects.clone()
    }

    pub(super) fn questions(&self) -> usize {
        self.0.lock().unwrap().questions
    }

    /// How often it was told that a controller does not serve a room.
    pub(super) fn denials(&self) -> usize {
        self.0.lock().unwrap().denials
    }

    fn answer(&self, question: Question) {
        let mut state = self.0.lock().unwrap();
        match question {
            Question::Locate {
                room,
                is_new_allowed,
                denied_by,
                answer,
            } => {
                state.questions += 1;
                state.denials += usize::from(denied_by.is_some());
                let known = state.locations.entry(room).or_default();
                let location = match (known.len(), is_new_allowed) {
                    (0, false) => Location::Nowhere,
                    (0, true) => Location::Here,
                    (1, _) => known[0].clone(),
                    _ => known.remove(0),
                };
                let _ = answer.send(location);
            }
            Question::Controllers { answer } => drop(answer.send(state.controllers.clone())),
            Question::Suspect { address } => {
                state.controllers.retain(|known| *known != address);
                state.suspects.push(address);
            }
        }
    }

    async fn answer_all(self, mut asked: mpsc::Receiver<Question>) {
        while let Some(question) = asked.recv().await {
            self.answer(question);
        }
    }
}

/// The authority of a cluster.
pub(super) struct Machines(Authority);

impl Machines {
    pub(super) fn new() -> Self {
        Self(Authority::new(clock::unix()).unwrap())
    }

    /// The certificate of a machine with a role.
    pub(super) fn tls(&self, name: &str, role: Role) -> ClusterTls {
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("weir-forward-{}-{nth}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let issued = self.0.issue(name, &[role]).unwrap();
        let tls = ClusterTls::load(&files(&directory, &self.0.issued(), &issued)).unwrap();
        fs::remove_dir_all(directory).unwrap();
        tls
    }
}

fn files(directory: &std::path::Path, ca: &Issued, issued: &Issued) -> ClusterFiles {
    let write = |name: &str, text: &str| -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    ClusterFiles {
        ca: write("ca.pem", &ca.certificate),
        certificate: write("one.pem", &issued.certificate),
        key: write("one.key", &issued.key),
    }
}

/// A controller with its two ports.
pub(super) struct Controller {
    pub(super) server: Server,
    pub(super) directory: Directory,
    pub(super) public: SocketAddr,
    pub(super) forward: SocketAddr,
    pub(super) counts: Metrics,
    _tasks: JoinSet<()>,
}

impl Controller {
    /// One that knows of no other one yet.
    pub(super) async fn start(tls: ClusterTls) -> Self {
        let (locator, asked) = Locator::of_cluster();
        let (directory, counts, metrics) = (Directory::default(), ForwardCounts::default(), Metrics::default());
        metrics.watch_forwarded(counts.clone());
        let forwarder = Forwarder::new(locator, tls.clone(), counts.clone());
        let server = server_with(dataplane::Model::new, "{}", forwarder);
        let [public, forward] = [(); 2].map(|()| tcp::bind(([127, 0, 0, 1], ports::free_port()).into()).unwrap());
        let addresses = [&public, &forward].map(|listener| listener.local_addr().unwrap());
        let front = Front {
            router: server.router.clone(),
            slots: server.slots.clone(),
            settings: server.settings.clone(),
            metrics: metrics.clone(),
            request_timeout: TIMEOUT,
            turn: None,
        };
        let port = Port {
            listener: public,
            tls: None,
        };
        let mut tasks = listen::serve(vec![port], &front);
        tasks.spawn(forwarded::serve(forward, tls, counts, front));
        tasks.spawn(directory.clone().answer_all(asked));
        let ready = async {
            while !server.controller.is_ready().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, ready).await.unwrap();
        Self {
            server,
            directory,
            public: addresses[0],
            forward: addresses[1],
            counts: metrics,
            _tasks: tasks,
        }
    }

    /// A value of its metrics.
    pub(super) fn metric(&self, line: &str) -> String {
        let text = self.counts.encode().finish();
        let found = text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{line} in {text}")).to_owned()
    }

    pub(super) async fn failures(&self, reason: &str) -> String {
        self.metric(&format!("weir_forward_failures_total{{reason=\"{reason}\"}}"))
    }

    /// Waits until a WebSocket more or less is open.
    pub(super) async fn wait_for_websockets(&self, open: &str) {
        let closed = async {
            while self.metric("weir_forwarded_websockets") != open {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, closed).await.unwrap();
    }
}

/// Two controllers; the first serves the lobby.
pub(super) async fn two() -> [Controller; 2] {
    let machines = Machines::new();
    let one = Controller::start(machines.tls("one", Role::Controller)).await;
    let two = Controller::start(machines.tls("two", Role::Controller)).await;
    one.directory.set("lobby", vec![Location::Here]);
    two.directory.set("lobby", vec![elsewhere(one.forward)]);
    [one, two]
}

pub(super) fn elsewhere(address: SocketAddr) -> Location {
    let address = address.to_string();
    Location::Elsewhere { address }
}

/// A client's connection, after its request.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    /// The head of the answer.
    pub(super) head: String,
}

impl Client {
    /// Asks to join, with more headers.
    pub(super) async fn open(address: SocketAddr, token: &str, headers: &str) -> Self {
        Self::ask(address, &format!("/rtc?access_token={token}"), headers).await
    }

    /// Asks for a WebSocket at a path.
    pub(super) async fn ask(address: SocketAddr, path: &str, headers: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        Self::send(address, request.as_bytes()).await
    }

    /// Sends bytes, and reads the head of the answer.
    pub(super) async fn send(address: SocketAddr, request: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut head = Vec::new();
        let read = async {
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
        };
        timeout(PATIENCE, read).await.unwrap();
        let head = String::from_utf8(head).unwrap();
        Self { stream, head }
    }

    pub(super) fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// Sends a frame, masked with zeros.
    pub(super) async fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let len = match u8::try_from(payload.len()) {
            Ok(len) if len < 126 => vec![0x80 | len],
            _ => [&[0x80 | 126], &(payload.len() as u16).to_be_bytes()[..]].concat(),
        };
        let bytes = [&[0x80 | opcode], &len[..], &[0; 4], payload].concat();
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// The next frame: its opcode and its payload.
    pub(super) async fn next(&mut self) -> (u8, Vec<u8>) {
        let read = async {
            let first = self.stream.read_u8().await.unwrap();
            let len = match self.stream.read_u8().await.unwrap() {
                126 => self.stream.read_u16().await.unwrap().into(),
                127 => self.stream.read_u64().await.unwrap() as usize,
                len => usize::from(len),
            };
            let mut payload = vec![0; len];
            self.stream.read_exact(&mut payload).await.unwrap();
            (first & 0x0f, payload)
        };
        timeout(PATIENCE, read).await.unwrap()
    }

    /// Whether the other end ends the connection within this time, with or without a word.
    pub(super) async fn is_ended_within(&mut self, time: Duration) -> bool {
        let mut rest = Vec::new();
        timeout(time, self.stream.read_to_end(&mut rest)).await.is_ok()
    }
}

/// A way to a controller that can be cut.
pub(super) struct Cable {
    pub(super) address: SocketAddr,
    tasks: JoinSet<()>,
}

impl Cable {
    pub(super) async fn to(address: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut ways = JoinSet::new();
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                let mut to = TcpStream::connect(address).await.unwrap();
                ways.spawn(async move { copy_bidirectional(&mut from, &mut to).await });
            }
        });
        Self { address: near, tasks }
    }

    /// Ends all connections at once.
    pub(super) async fn cut(&mut self) {
        self.tasks.shutdown().await;
    }
}
