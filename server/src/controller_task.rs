//! The controller on its task: sockets and the agent feed it, it feeds them.

mod events;
mod handle;
mod sockets;
mod whip_requests;
mod workers;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{ApiKeys, RoomNames};
use controller::{
    AdminError, AdminReply, AdminRequest, AdminRequestId, ConnectionId, Controller, Downlink, Quotas, RoomEvent,
};
use livekit::agents::{AgentRequest, Workers};
use livekit::webhook;
use livekit::{Admission, Front, Input, Output, Received, Refusal};
use southbound::Notice;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

pub(crate) use self::handle::Handle;
use self::sockets::Sockets;
use self::whip_requests::WhipRequest;
use self::workers::WorkerRequest;
use crate::clients::outbox::{Outbox, ToSocket};
use crate::media::media_thread::CommandSender;
use crate::metrics::Metrics;
use crate::os::clock::{self, Clocks};

/// How many inputs may wait. Beyond it sockets wait, which slows their clients down.
const INPUTS_MAX: usize = 4096;

/// The most notices that are handled before a client has its turn, so that fast senders of data
/// cannot keep others from joining.
const NOTICES_IN_A_ROW: usize = 16;

/// The most session descriptions that may be parsed, or wait for the controller after parsing, at
/// the same time. Further ones wait in their sockets: a parsed description takes many times its
/// length in memory, and all other messages to the controller wait after the parsed ones.
const DESCRIPTIONS_MAX: usize = 2;

/// The answer to an administrator.
type AdminAnswer = Result<AdminReply, AdminError>;

enum ControllerRequest {
    Check(Box<Admission>, oneshot::Sender<Result<(), Refusal>>),
    Open(
        Box<Admission>,
        Outbox,
        oneshot::Sender<ConnectionId>,
        Option<OwnedSemaphorePermit>,
    ),
    Message(ConnectionId, Box<Received>, Option<OwnedSemaphorePermit>),
    Closed(ConnectionId),
    Administer(Box<AdminRequest>, Vec<AgentRequest>, oneshot::Sender<AdminAnswer>),
    Worker(WorkerRequest),
    Downlink(String, String, oneshot::Sender<Option<Downlink>>),
    Downlinks(Option<String>, RoomNames, usize, oneshot::Sender<Vec<Downlink>>),
    Drain,
    Population(oneshot::Sender<(usize, usize)>),
    Ready(oneshot::Sender<bool>),
    ShutDown(oneshot::Sender<()>),
    Whip(WhipRequest, OwnedSemaphorePermit),
    SetKeys(ApiKeys),
    SetQuotas(Quotas),
    SetSessionLimits(slots::Limits),
    SetWebhooks(bool),
    Alive(oneshot::Sender<()>),
}

/// Starts the controller. The task ends when all handles are dropped, or by a panic.
pub(crate) fn start(
    mut controller: Controller,
    (front, whip): (Front, whip::Front),
    workers: Workers,
    notices: mpsc::Receiver<Notice>,
    commands: CommandSender,
    metrics: Metrics,
    room_events: mpsc::Sender<Box<RoomEvent>>,
) -> (Handle, JoinHandle<()>) {
    let (requests, asked) = mpsc::channel(INPUTS_MAX);
    // Workers of agents learn of rooms by them.
    controller.set_room_events(true);
    let sockets = Sockets::new(front.ledger(), metrics.clone());
    let task = ControllerTask {
        controller,
        front,
        whip,
        workers,
        founding: Vec::new(),
        has_webhooks: false,
        commands,
        metrics,
        room_events,
        sockets,
        connections: 0,
        administrators: HashMap::new(),
        admin_requests: 0,
        out: Vec::new(),
    };
    let running = tokio::spawn(task.run(asked, notices));
    let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    let handle = Handle {
        requests,
        descriptions: Arc::new(Semaphore::new(DESCRIPTIONS_MAX)),
        readers: Arc::new(Semaphore::new((processors / 2).max(1))),
        is_draining: Arc::default(),
    };
    (handle, running)
}

struct ControllerTask {
    controller: Controller,
    front: Front,
    whip: whip::Front,
    workers: Workers,
    /// The agents of a room that the current input creates.
    founding: Vec<AgentRequest>,
    /// Events of rooms are sent to receivers of webhooks.
    has_webhooks: bool,
    commands: CommandSender,
    metrics: Metrics,
    room_events: mpsc::Sender<Box<RoomEvent>>,
    sockets: Sockets,
    connections: u64,
    /// Administrators whose requests are not answered yet.
    administrators: HashMap<AdminRequestId, oneshot::Sender<AdminAnswer>>,
    admin_requests: u64,
    out: Vec<Output>,
}

impl ControllerTask {
    async fn run(mut self, mut asked: mpsc::Receiver<ControllerRequest>, mut notices: mpsc::Receiver<Notice>) {
        let mut in_a_row = 0;
        loop {
            let timeouts = [self.controller.poll_timeout(), self.workers.poll_timeout()];
            let timeout = timeouts.into_iter().flatten().min();
            if in_a_row >= NOTICES_IN_A_ROW {
                in_a_row = 0;
                if let Ok(ask) = asked.try_recv() {
                    self.ask(ask);
                }
                self.handle_timeout(clock::now());
                self.flush();
            }
            tokio::select! {
                // Notices first: the media node's state is older than the clients' next requests.
                biased;
                Some(notice) = notices.recv() => {
                    in_a_row += 1;
                    self.input(Input::Notice(notice));
                }
                ask = asked.recv() => match ask {
                    Some(ask) => self.ask(ask),
                    None => return,
                },
                () = sleep_until(timeout) => {
                    let now = self.read_clocks();
                    self.handle_timeout(now);
                }
            }
            self.flush();
        }
    }

    fn ask(&mut self, ask: ControllerRequest) {
        match ask {
            ControllerRequest::Check(admission, answer) => {
                // By the time that it is now: identities are refused for some time.
                self.read_clocks();
                // An error means that the client has disconnected; nobody waits for the answer
                // then.
                let _ = answer.send(admission.check(&self.controller, clock::now()));
            }
            ControllerRequest::Open(admission, socket, answer, _place) => {
                self.connections += 1;
                let connection = ConnectionId(self.connections);
                self.sockets.insert(connection, socket);
                let _ = answer.send(connection);
                self.founding = AgentRequest::of_claims(&admission.claims).unwrap_or_default();
                self.input(Input::Open { connection, admission });
            }
            ControllerRequest::Message(connection, message, _place) => {
                self.input(Input::Message { connection, message })
            }
            ControllerRequest::Closed(connection) => {
                self.sockets.remove(connection);
                self.input(Input::Closed { connection });
            }
            ControllerRequest::Administer(request, agents, answer) => {
                self.founding = agents;
                self.administer(*request, Some(answer));
            }
            ControllerRequest::Worker(request) => self.worker(request),
            ControllerRequest::Downlink(room, identity, answer) => {
                let _ = answer.send(self.controller.downlink(&room, &identity));
            }
            ControllerRequest::Downlinks(room, rooms, max, answer) => {
                let downlinks = self.controller.downlinks(room.as_deref());
                let of_key = downlinks.filter(|downlink| rooms.admits(&downlink.room));
                let _ = answer.send(of_key.take(max).collect());
            }
            ControllerRequest::Whip(request, _place) => self.whip(request),
            ControllerRequest::SetKeys(keys) => {
                self.workers.set_keys(keys.clone());
                self.controller.set_keys(keys);
            }
            ControllerRequest::SetQuotas(quotas) => {
                let mut outputs = Vec::new();
                let now = self.read_clocks();
                self.controller.set_quotas(now, quotas, &mut outputs);
                self.translate(now, outputs);
                self.flush();
            }
            ControllerRequest::SetSessionLimits(limits) => self.whip.set_limits(limits),
            ControllerRequest::SetWebhooks(wanted) => self.has_webhooks = wanted,
            ControllerRequest::Alive(answer) => drop(answer.send(())),
            ControllerRequest::Drain => self.controller.drain(),
            ControllerRequest::Population(answer) => {
                let population = self.controller.population();
                // An error means that nobody waits any more.
                let _ = answer.send((population.rooms, population.participants));
            }
            ControllerRequest::Ready(answer) => drop(answer.send(self.controller.has_node())),
            ControllerRequest::ShutDown(answer) => {
                let mut outputs = Vec::new();
                let now = clock::now();
                self.controller.shut_down(now, &mut outputs);
                self.translate(now, outputs);
                self.flush();
                let _ = answer.send(());
            }
        }
    }

    /// Passes an administrator's request on. Nobody waits for the answer to one of our own.
    fn administer(&mut self, request: AdminRequest, answer: Option<oneshot::Sender<AdminAnswer>>) {
        self.admin_requests += 1;
        let request_id = AdminRequestId(self.admin_requests);
        if let Some(answer) = answer {
            self.administrators.insert(request_id, answer);
        }
        self.input(Input::Admin { request_id, request });
    }

    fn handle_timeout(&mut self, now: Instant) {
        let mut outputs = Vec::new();
        self.controller.handle_timeout(now, &mut outputs);
        self.translate(now, outputs);
        self.workers_timeout(now);
    }

    fn input(&mut self, input: Input) {
        let now = self.read_clocks();
        if let Some(input) = self.front.input(input, &mut self.out) {
            let mut outputs = Vec::new();
            self.controller.handle(now, input, &mut outputs);
            self.translate(now, outputs);
        }
    }

    /// Hands the controller's outputs to both front ends.
    fn translate(&mut self, now: Instant, mut outputs: Vec<controller::Output>) {
        self.whip.follow(&mut self.controller, now, &mut outputs);
        self.front.translate(outputs, &mut self.out);
    }

    /// Wall-clock time is read along with the monotonic time, since it may have been corrected.
    fn read_clocks(&mut self) -> Instant {
        let wall = Clocks::read().wall;
        self.controller.set_clock(wall);
        self.workers.set_clock(wall);
        wall.now
    }

    fn flush(&mut self) {
        // An output may lead to an input, and so to more.
        while !self.out.is_empty() {
            for output in std::mem::take(&mut self.out) {
                self.output(output);
            }
        }
        self.founding.clear();
    }

    fn output(&mut self, output: Output) {
        match output {
            Output::Send { connection, frame } => self.sockets.tell(connection, ToSocket::Frame(frame)),
            Output::Close {
                connection,
                code,
                reason,
            } => self.sockets.tell(connection, ToSocket::Close(code, reason)),
            Output::Command(command) => self.commands.send(command),
            Output::Count(counter) => self.metrics.count(counter),
            Output::Room(event) => {
                self.tell_workers(&event);
                if self.has_webhooks {
                    self.room_event(event);
                }
            }
            Output::Event(event) => events::log(&event),
            Output::Reply { request_id, reply } => {
                if let Some(answer) = self.administrators.remove(&request_id) {
                    // An error means that the administrator has given up waiting.
                    let _ = answer.send(reply);
                }
            }
        }
    }

    /// Rooms do not wait for the receivers of their events.
    fn room_event(&mut self, event: Box<RoomEvent>) {
        if self.room_events.try_send(event).is_err() {
            self.metrics.webhook(webhook::Counter::QueueFull);
        }
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => tokio::time::sleep(Duration::from_secs(3600)).await,
    }
}
