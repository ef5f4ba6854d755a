//! Workers of agents, on the controller's task.

use std::net::IpAddr;
use std::time::Instant;

use access::{Claims, ParticipantKind};
use controller::{AdminRequest, ConnectionId, CreateRoom, RoomChange, RoomEvent};
use livekit::Frame;
use livekit::agents::{DispatchError, DispatchReply, DispatchRequest, Event, Inbox, Output, Received};
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::{ControllerRequest, ControllerTask, Handle};
use crate::clients::outbox::{Ends, Outbox, ToSocket, Told, outbox};
use crate::os::clock;

/// The answer to a request about dispatches.
type DispatchAnswer = Result<DispatchReply, DispatchError>;

/// A request of a worker's socket, or about dispatches.
pub(super) enum WorkerRequest {
    Open(Box<Claims>, IpAddr, Outbox, oneshot::Sender<ConnectionId>),
    Message(ConnectionId, Box<Received>),
    Closed(ConnectionId),
    Dispatch(Box<DispatchRequest>, oneshot::Sender<DispatchAnswer>),
}

impl Handle {
    /// A new connection of a worker, with the claims of its token: its id, and the queue of its
    /// messages. It counts for the address.
    pub(crate) async fn open_worker(&self, claims: Box<Claims>, address: IpAddr) -> Option<(ConnectionId, Told, Ends)> {
        let (outbox, told, ends) = outbox();
        let (answer, answered) = oneshot::channel();
        self.send(WorkerRequest::Open(claims, address, outbox, answer)).await?;
        Some((answered.await.ok()?, told, ends))
    }

    /// A message of a worker arrived. It is read here, on the task of its connection.
    pub(crate) async fn worker_message(&self, connection: ConnectionId, inbox: &mut Inbox, frame: Frame) {
        let received = Box::new(inbox.read(clock::now(), &frame));
        drop(frame);
        // An error means that the controller has ended, and nobody needs the message.
        let _ = self.send(WorkerRequest::Message(connection, received)).await;
    }

    /// A connection of a worker ended.
    pub(crate) async fn worker_closed(&self, connection: ConnectionId) {
        let _ = self.send(WorkerRequest::Closed(connection)).await;
    }

    /// The answer to a request about dispatches; `None` if the server is shutting down.
    pub(crate) async fn dispatch(&self, request: DispatchRequest) -> Option<DispatchAnswer> {
        let (answer, answered) = oneshot::channel();
        self.send(WorkerRequest::Dispatch(Box::new(request), answer)).await?;
        answered.await.ok()
    }

    async fn send(&self, request: WorkerRequest) -> Option<()> {
        self.requests.send(ControllerRequest::Worker(request)).await.ok()
    }
}

impl ControllerTask {
    pub(super) fn worker(&mut self, request: WorkerRequest) {
        let now = self.read_clocks();
        let mut out = Vec::new();
        match request {
            WorkerRequest::Open(claims, address, socket, answer) => {
                self.connections += 1;
                let connection = ConnectionId(self.connections);
                self.sockets.insert(connection, socket);
                let _ = answer.send(connection);
                self.workers.open(now, connection, *claims, Some(address), &mut out);
            }
            WorkerRequest::Message(connection, received) => {
                let controller = &self.controller;
                let is_taken = |room: &str, identity: &str| {
                    let kind = controller.kind_of(room, identity);
                    kind.is_some_and(|kind| kind != ParticipantKind::Agent)
                };
                self.workers.message(now, connection, *received, &is_taken, &mut out);
            }
            WorkerRequest::Closed(connection) => {
                self.sockets.remove(connection);
                self.workers.closed(now, connection, &mut out);
            }
            WorkerRequest::Dispatch(request, answer) => {
                if let DispatchRequest::Create { api_key, room, .. } = &*request {
                    self.create_room(api_key, room);
                }
                let done = self.workers.administer(now, *request, &mut out);
                // An error means that the administrator has given up waiting.
                let _ = answer.send(done);
            }
        }
        self.worker_outputs(out);
    }

    /// Creates the room of a dispatch, where joining would create it.
    fn create_room(&mut self, api_key: &str, room: &str) {
        if self.workers.has_room(room) || self.controller.check_admission(api_key, room, "", false).is_err() {
            return;
        }
        let request = CreateRoom {
            api_key: api_key.to_owned(),
            name: room.to_owned(),
            ..CreateRoom::default()
        };
        self.administer(AdminRequest::CreateRoom(request), None);
        // The workers learn of the room.
        self.flush();
    }

    /// Tells the workers of an event of a room.
    pub(super) fn tell_workers(&mut self, event: &RoomEvent) {
        let agents = match event.change {
            RoomChange::Started => std::mem::take(&mut self.founding),
            _ => Vec::new(),
        };
        let mut out = Vec::new();
        self.workers.room_event(clock::now(), event, agents, &mut out);
        self.worker_outputs(out);
    }

    /// Has the workers do what has become due.
    pub(super) fn workers_timeout(&mut self, now: Instant) {
        let mut out = Vec::new();
        self.workers.handle_timeout(now, &mut out);
        self.worker_outputs(out);
    }

    fn worker_outputs(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Send { connection, frame } => self.sockets.tell(connection, ToSocket::Frame(frame)),
                Output::Close {
                    connection,
                    code,
                    reason,
                } => self.sockets.tell(connection, ToSocket::Close(code, reason)),
                Output::Remove { room, identity } => {
                    self.administer(AdminRequest::RemoveParticipant { room, identity }, None);
                }
                Output::Count(counter) => self.metrics.worker(counter),
                Output::Event(event) => log(&event),
            }
        }
    }
}

fn log(event: &Event) {
    match event {
        Event::Registered { worker, agent } => info!(worker, agent, "worker registered"),
        Event::Lost { worker } => info!(worker, "worker lost"),
        Event::Assigned { job, room, worker } => info!(job, room, worker, "job assigned"),
        Event::Restarted { job, room, error } => warn!(job, room, error, "agent lost, its job is offered again"),
        Event::Ended { job, room, error } if error.is_empty() => info!(job, room, "job ended"),
        Event::Ended { job, room, error } => warn!(job, room, error, "job failed"),
    }
}
