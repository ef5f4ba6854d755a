//! The world: it lets time pass, delivers packets and messages, and has everything checked.

mod actions;
mod carry;
mod depart;
mod verdict;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use controller::{ConnectionId, WallClock};
use dataplane::{Clock, Path};
use dimpl::DtlsCertificate;
use livekit::Frame;
use livekit::Inbox;
use livekit_protocol::{signal_request, signal_response};
use rand::SeedableRng;
use rand::rngs::StdRng;
use wire::NtpTime;

use crate::checks::{Ledger, Permissions};
use crate::grants::Grants;
use crate::node::Node;
use crate::queue::Queue;
use crate::session::Session;
use crate::trace::Trace;
use crate::{Faults, History, Violation};

/// How long all is quiet before everybody must get their subscriptions.
const QUIET: Duration = Duration::from_secs(9);
/// The same with handshakes: one that lost its last flight to a bad network repeats it after eight
/// seconds, or is given up and restarted after twenty.
const QUIET_WITH_HANDSHAKES: Duration = Duration::from_secs(40);
/// Time after the last client has gone at which no state may be left.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(100);

/// The result of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Clients that joined.
    pub clients: u64,
    /// Controllers that went on with the rooms of another one.
    pub takeovers: u64,
    /// Clients that resumed.
    pub resumed: u64,
    /// Datagrams that arrived at the node.
    pub received: u64,
    /// Media packets that left it.
    pub media: u64,
    /// Packets between media nodes, which are among the media packets and retransmissions.
    pub crossings: u64,
    /// Retransmissions that left it.
    pub repairs: u64,
    /// Messages that left it on data channels.
    pub messages: u64,
    /// Pairs of client and source that were found to flow in the end.
    pub flows: u64,
    /// A digest of all datagrams, their paths and times: the same for the same history.
    pub digest: u64,
}

/// A history in which something did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The broken invariant.
    pub violation: Violation,
    /// When.
    pub at: Duration,
    /// The last things that happened, when they were traced.
    pub trace: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}at {:.3} s: {}", self.trace, self.at.as_secs_f64(), self.violation)
    }
}

/// Plays a history.
///
/// Errors: the first thing that did not hold.
pub fn run(history: &History, traced: bool) -> Result<Summary, Box<Failure>> {
    let mut world = World::new(history, traced);
    match world.play() {
        Ok(()) => Ok(world.summary),
        Err(violation) => {
            let at = world.now - world.start;
            let trace = format!("{}counted: {}\n", world.trace, world.node.counters());
            Err(Box::new(Failure { violation, at, trace }))
        }
    }
}

/// A future event.
enum ScheduledEvent {
    /// The history's next step is due.
    Step(usize),
    /// A client looks at its clock.
    Tick(usize),
    /// A datagram arrives at the node, if its sender's address is still the one it left from.
    ToNode(Path, Vec<u8>),
    /// A datagram arrives at a client.
    ToClient(SocketAddr, Vec<u8>),
    /// A signalling message arrives at the node, with the sources that it ends.
    Heard(ConnectionId, Frame, Option<Box<signal_request::Message>>, Vec<u32>),
    /// A signalling message arrives at a client.
    Told(ConnectionId, Box<signal_response::Message>),
    /// The node finds a signalling connection broken.
    NodeLoses(ConnectionId),
    /// A client finds its signalling connection broken.
    ClientLoses(ConnectionId),
    /// A client tries to resume on a new connection.
    Resume(usize),
    /// A person returns as a new client, with its sources.
    Return(usize),
    /// A message arrives at the node on the data channel of the transport with this user fragment.
    Message(usize, String, &'static str, Vec<u8>),
    /// Networks heal.
    Quiet,
    /// Everybody must get their subscriptions.
    Judge,
    /// No state may be left.
    End,
}

struct World<'a> {
    history: &'a History,
    people: &'a [Grants],
    start: Instant,
    now: Instant,
    clock: Clock,
    wall: WallClock,
    queue: Queue<ScheduledEvent>,
    node: Node,
    sessions: Vec<Session>,
    /// The client that each person has now.
    current: Vec<Option<usize>>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The client and peer connection of each address, present or past.
    owners: HashMap<SocketAddr, (usize, usize)>,
    /// When the newest datagram of each link arrives.
    links: HashMap<(SocketAddr, Way), Instant>,
    /// Nothing passes between media nodes until then.
    trunks_cut_until: Instant,
    permissions: Permissions,
    ledger: Ledger,
    faults: Faults,
    rng: StdRng,
    certificate: Option<Arc<DtlsCertificate>>,
    /// Connections whose end the node knows.
    closed: BTreeSet<ConnectionId>,
    messages: u64,
    /// The number of rooms in the node's events.
    rooms: i64,
    over: bool,
    summary: Summary,
    trace: Trace,
}

/// Which way a datagram goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    Up,
    Down,
}

/// A signalling connection. It keeps order, so a message arrives after earlier ones.
struct Connection {
    session: usize,
    node_hears_at: Instant,
    client_hears_at: Instant,
    /// Messages under way are lost.
    broken: bool,
    /// The node has closed it and reads no more; its earlier messages still arrive.
    shut: bool,
    /// Opened to resume.
    resumes: bool,
    /// Whether the node has sent a message on it.
    answered: bool,
    inbox: Inbox,
}

/// Keys cost more than everything else in a history, and whose they are makes no difference.
static NODE_CERTIFICATE: LazyLock<agent::Certificate> =
    LazyLock::new(|| agent::Certificate::generate().expect("the operating system has randomness"));
static CLIENT_CERTIFICATE: LazyLock<Arc<DtlsCertificate>> = LazyLock::new(|| {
    Arc::new(dimpl::certificate::generate_self_signed_certificate().expect("the operating system has randomness"))
});

impl<'a> World<'a> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a beginning is needed to count from; the clock is never read again"
    )]
    fn new(history: &'a History, traced: bool) -> Self {
        let start = Instant::now();
        let unix = Duration::from_secs(1_800_000_000);
        let (clock, wall) = (
            Clock {
                origin: start,
                ntp: NtpTime::from_unix(unix),
            },
            WallClock { now: start, unix },
        );
        Self {
            history,
            people: &history.people,
            start,
            now: start,
            clock,
            wall,
            queue: Queue::new(),
            node: Node::new(clock, wall, history, &NODE_CERTIFICATE),
            sessions: Vec::new(),
            current: vec![None; history.people.len()],
            connections: BTreeMap::new(),
            owners: HashMap::new(),
            links: HashMap::new(),
            trunks_cut_until: start,
            permissions: Permissions::default(),
            ledger: Ledger::default(),
            faults: history.faults.clone(),
            rng: StdRng::seed_from_u64(history.seed ^ 0x5eed),
            certificate: history.dtls.then(|| CLIENT_CERTIFICATE.clone()),
            closed: BTreeSet::new(),
            messages: 0,
            rooms: 0,
            over: false,
            summary: Summary::default(),
            trace: Trace::new(traced),
        }
    }

    fn play(&mut self) -> Result<(), Violation> {
        for (index, step) in self.history.steps.iter().enumerate() {
            self.queue.put(self.start + step.at, ScheduledEvent::Step(index));
        }
        self.queue
            .put(self.start + self.history.quiet_after, ScheduledEvent::Quiet);
        let quiet = if self.history.dtls {
            QUIET_WITH_HANDSHAKES
        } else {
            QUIET
        };
        self.queue
            .put(self.start + self.history.quiet_after + quiet, ScheduledEvent::Judge);
        while !self.over {
            let next = self.queue.first().into_iter().chain(self.node.poll_timeout()).min();
            self.now = self.now.max(next.expect("the end is always ahead"));
            if self.node.poll_timeout().is_some_and(|at| at <= self.now) {
                let done = self.node.handle_timeout(self.now);
                self.carry_out(done)?;
            } else if let Some(event) = self.queue.take() {
                self.handle(event)?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: ScheduledEvent) -> Result<(), Violation> {
        match event {
            ScheduledEvent::Step(index) => self.step(index),
            ScheduledEvent::Tick(session) => self.tick(session),
            ScheduledEvent::ToNode(path, bytes) => self.arrive_at_node(path, &bytes),
            ScheduledEvent::ToClient(address, bytes) => self.arrive_at_client(address, &bytes),
            ScheduledEvent::Heard(connection, frame, message, over) => {
                self.heard(connection, frame, message.as_deref(), &over)
            }
            ScheduledEvent::Told(connection, message) => self.told(connection, *message),
            ScheduledEvent::NodeLoses(connection) => self.node_loses(connection),
            ScheduledEvent::ClientLoses(connection) => self.client_loses(connection),
            ScheduledEvent::Resume(session) => self.resume(session),
            ScheduledEvent::Return(person) => self.come_back(person),
            ScheduledEvent::Message(session, ufrag, label, payload) => self.message(session, &ufrag, label, payload),
            ScheduledEvent::Quiet => {
                self.faults = self.faults.healed();
                self.node.wires.heal();
                Ok(())
            }
            ScheduledEvent::Judge => self.judge(),
            ScheduledEvent::End => self.end(),
        }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.line(self.now - self.start, line);
    }
}
