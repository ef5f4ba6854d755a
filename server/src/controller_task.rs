//! The controller on its task: sockets and the agent feed it, it feeds them.

mod handle;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::ApiKeys;
use controller::{
    AdminError, AdminReply, AdminRequest, AdminRequestId, ConnectionId, Controller, Downlink, Event, Quotas, RoomEvent,
};
use livekit::webhook;
use livekit::{Admission, Front, Input, Output, Received, Refusal};
use southbound::Notice;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tracing::{debug, info, warn};

pub(crate) use self::handle::Handle;
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
    Administer(Box<AdminRequest>, oneshot::Sender<AdminAnswer>),
    Downlink(String, String, oneshot::Sender<Option<Downlink>>),
    Downlinks(Option<String>, usize, oneshot::Sender<Vec<Downlink>>),
    ShutDown(oneshot::Sender<()>),
    SetKeys(ApiKeys),
    SetQuotas(Quotas),
    SetRoomEvents(bool),
    Alive(oneshot::Sender<()>),
}

/// Starts the controller. The task ends when all handles are dropped, or by a panic.
pub(crate) fn start(
    controller: Controller,
    notices: mpsc::Receiver<Notice>,
    commands: CommandSender,
    metrics: Metrics,
    room_events: mpsc::Sender<Box<RoomEvent>>,
) -> (Handle, JoinHandle<()>) {
    let (requests, asked) = mpsc::channel(INPUTS_MAX);
    let task = ControllerTask {
        controller,
        front: Front::default(),
        commands,
        metrics,
        room_events,
        sockets: HashMap::new(),
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
    };
    (handle, running)
}

struct ControllerTask {
    controller: Controller,
    front: Front,
    commands: CommandSender,
    metrics: Metrics,
    room_events: mpsc::Sender<Box<RoomEvent>>,
    sockets: HashMap<ConnectionId, Outbox>,
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
            let timeout = self.controller.poll_timeout();
            if in_a_row >= NOTICES_IN_A_ROW {
                in_a_row = 0;
                if let Ok(ask) = asked.try_recv() {
                    self.ask(ask);
                }
                self.front
                    .handle_timeout(&mut self.controller, clock::now(), &mut self.out);
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
                    self.front.handle_timeout(&mut self.controller, now, &mut self.out);
                }
            }
            self.flush();
        }
    }

    fn ask(&mut self, ask: ControllerRequest) {
        match ask {
            ControllerRequest::Check(admission, answer) => {
                // An error means that the client has disconnected; nobody waits for the answer
                // then.
                let _ = answer.send(admission.check(&self.controller));
            }
            ControllerRequest::Open(admission, socket, answer, _place) => {
                self.connections += 1;
                let connection = ConnectionId(self.connections);
                self.sockets.insert(connection, socket);
                let _ = answer.send(connection);
                self.input(Input::Open { connection, admission });
            }
            ControllerRequest::Message(connection, message, _place) => {
                self.input(Input::Message { connection, message })
            }
            ControllerRequest::Closed(connection) => {
                self.sockets.remove(&connection);
                self.input(Input::Closed { connection });
            }
            ControllerRequest::Administer(request, answer) => {
                self.admin_requests += 1;
                let request_id = AdminRequestId(self.admin_requests);
                self.administrators.insert(request_id, answer);
                let request = *request;
                self.input(Input::Admin { request_id, request });
            }
            ControllerRequest::Downlink(room, identity, answer) => {
                let _ = answer.send(self.controller.downlink(&room, &identity));
            }
            ControllerRequest::Downlinks(room, max, answer) => {
                let _ = answer.send(self.controller.downlinks(room.as_deref()).take(max).collect());
            }
            ControllerRequest::SetKeys(keys) => self.controller.set_keys(keys),
            ControllerRequest::SetQuotas(quotas) => {
                let mut outputs = Vec::new();
                let now = self.read_clocks();
                self.controller.set_quotas(now, quotas, &mut outputs);
                self.front.translate(outputs, &mut self.out);
                self.flush();
            }
            ControllerRequest::SetRoomEvents(wanted) => self.controller.set_room_events(wanted),
            ControllerRequest::Alive(answer) => drop(answer.send(())),
            ControllerRequest::ShutDown(answer) => {
                let mut outputs = Vec::new();
                self.controller.shut_down(clock::now(), &mut outputs);
                self.front.translate(outputs, &mut self.out);
                self.flush();
                let _ = answer.send(());
            }
        }
    }

    fn input(&mut self, input: Input) {
        let now = self.read_clocks();
        self.front.handle(&mut self.controller, now, input, &mut self.out);
    }

    /// Wall-clock time is read along with the monotonic time, since it may have been corrected.
    fn read_clocks(&mut self) -> Instant {
        let wall = Clocks::read().wall;
        self.controller.set_clock(wall);
        wall.now
    }

    fn flush(&mut self) {
        for output in std::mem::take(&mut self.out) {
            match output {
                Output::Send { connection, frame } => self.tell(connection, ToSocket::Frame(frame)),
                Output::Close {
                    connection,
                    code,
                    reason,
                } => self.tell(connection, ToSocket::Close(code, reason)),
                Output::Command(command) => self.commands.send(command),
                Output::Count(counter) => self.metrics.count(counter),
                Output::Room(event) => self.room_event(event),
                Output::Event(event) => log(&event),
                Output::Reply { request_id, reply } => {
                    if let Some(answer) = self.administrators.remove(&request_id) {
                        // An error means that the administrator has given up waiting.
                        let _ = answer.send(reply);
                    }
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

    fn tell(&mut self, connection: ConnectionId, what: ToSocket) {
        let Some(socket) = self.sockets.get(&connection) else {
            return;
        };
        if socket.put(what).is_err() {
            warn!(%connection, "closed: the client does not read its messages");
            self.metrics.slow_client();
            // Dropping the sender ends the socket's task, which closes the connection and reports
            // it.
            self.sockets.remove(&connection);
        }
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => tokio::time::sleep(Duration::from_secs(3600)).await,
    }
}

fn log(event: &Event) {
    match event {
        Event::RoomStarted { room } => info!(room, "room started"),
        Event::RoomFinished { room } => info!(room, "room finished"),
        Event::Joined {
            room,
            identity,
            connection,
        } => info!(room, identity, %connection, "joined"),
        Event::Resumed {
            room,
            identity,
            connection,
        } => info!(room, identity, %connection, "resumed"),
        Event::Left { room, identity, reason } => info!(room, identity, reason, "left"),
        Event::DataTooSlow { room, identity } => {
            warn!(
                room,
                identity, "its data channels are closed: it did not take reliable data in time"
            );
        }
        Event::Misbehaved { connection, what } => debug!(%connection, what, "misbehaved"),
        Event::Refused { why } => warn!(why, "refused by the media node"),
    }
}
