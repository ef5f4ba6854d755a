//! Workers of agents, and dispatches of agents.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use ::livekit::Frame;
use ::livekit::agents::{
    DispatchError, DispatchReply, DispatchRequest, Event, Inbox, Output, Received, Takeover, Workers, is_part,
};
use access::{ApiKeys, Claims, ParticipantKind};
use controller::{AdminRequest, AdminRequestId, ConnectionId, CreateRoom, RoomEvent, room_with_participants};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::{info, warn};

use super::outbox::{Ends, Outbox, SocketQueue, ToSocket, outbox};
use super::readers::Readers;
use super::{AdminAnswer, Context, FrontEnd, Keepsake, RequestHandler, Requests, Restored};
use crate::os::clock;

/// The answer to a request about dispatches.
pub(crate) type DispatchAnswer = Result<DispatchReply, DispatchError>;

/// A request of a worker's socket, or about dispatches.
pub(crate) enum Request {
    /// A new connection, with the claims of its token, from an address.
    Open(Box<Claims>, IpAddr, Outbox, oneshot::Sender<ConnectionId>),
    /// A message, with the place of a long one.
    Message(ConnectionId, Box<Received>, Option<OwnedSemaphorePermit>),
    /// A message of another controller to a worker.
    Relay(ConnectionId, Frame),
    /// A connection ended.
    Closed(ConnectionId),
    /// A request of `AgentDispatchService`.
    Dispatch(Dispatch),
    /// Tokens are of these keys from now on.
    SetKeys(ApiKeys),
}

/// A request about dispatches, and where its answer goes.
pub(crate) struct Dispatch {
    request: Box<DispatchRequest>,
    answer: oneshot::Sender<DispatchAnswer>,
}

/// The handle on the front end.
#[derive(Clone)]
pub(crate) struct Handle {
    requests: Requests<Request>,
    readers: Readers,
}

impl Handle {
    /// On the front end with this queue.
    pub(super) fn new(requests: Requests<Request>, readers: Readers) -> Self {
        Self { requests, readers }
    }

    /// A new connection of a worker, with the claims of its token: its id, and the queue of its
    /// messages. It counts for the address.
    pub(crate) async fn open(&self, claims: Box<Claims>, address: IpAddr) -> Option<(ConnectionId, SocketQueue, Ends)> {
        let (outbox, told, ends) = outbox();
        let (answer, answered) = oneshot::channel();
        self.requests
            .send(Request::Open(claims, address, outbox, answer))
            .await?;
        Some((answered.await.ok()?, told, ends))
    }

    /// A message of a worker arrived. It is read here, on the task of its connection.
    pub(crate) async fn message(&self, connection: ConnectionId, inbox: &mut Inbox, frame: Frame) {
        let (place, turn) = self.readers.frame(frame.len()).await;
        let received = Box::new(inbox.read(clock::now(), &frame));
        drop((frame, turn));
        // `None` means that the server is shutting down, and nobody needs the message.
        let _ = self.requests.send(Request::Message(connection, received, place)).await;
    }

    /// Another controller says something to a worker.
    pub(crate) async fn relay(&self, connection: ConnectionId, frame: Frame) {
        let _ = self.requests.send(Request::Relay(connection, frame)).await;
    }

    /// A connection of a worker ended.
    pub(crate) async fn closed(&self, connection: ConnectionId) {
        let _ = self.requests.send(Request::Closed(connection)).await;
    }

    /// The answer to a request about dispatches; `None` if the server is shutting down.
    pub(crate) async fn dispatch(&self, request: DispatchRequest) -> Option<DispatchAnswer> {
        let (answer, answered) = oneshot::channel();
        let request = Box::new(request);
        self.requests
            .send(Request::Dispatch(Dispatch { request, answer }))
            .await?;
        answered.await.ok()
    }

    /// Admits workers with tokens of these keys from now on.
    pub(crate) async fn set_keys(&self, keys: ApiKeys) {
        let _ = self.requests.send(Request::SetKeys(keys)).await;
    }
}

/// The front end.
pub(super) struct Agents {
    workers: Workers,
    /// Dispatches that wait for the room that is being created for them.
    creating: HashMap<AdminRequestId, Dispatch>,
    /// Messages to workers that wait until the nodes of a room keep what they are about, by room.
    held: Vec<(String, ConnectionId, Frame)>,
}

impl Agents {
    pub(super) fn new(workers: Workers) -> Self {
        Self {
            workers,
            creating: HashMap::new(),
            held: Vec::new(),
        }
    }

    /// Calls the workers, and does what they ask for.
    fn with<T>(&mut self, ctx: &mut Context<'_>, call: impl FnOnce(&mut Workers, &mut Vec<Output>) -> T) -> T {
        self.workers.set_clock(ctx.wall);
        let has_successors = ctx.has_successors();
        if has_successors {
            Takeover::of(&mut self.workers).note_unsaved();
        }
        let mut out = Vec::new();
        let called = call(&mut self.workers, &mut out);
        for output in out {
            match output {
                Output::Send { connection, frame } => self.tell(connection, frame, ctx),
                Output::SendKept {
                    room,
                    connection,
                    frame,
                } if has_successors => self.held.push((room, connection, frame)),
                Output::SendKept { connection, frame, .. } => ctx.tell(connection, ToSocket::Frame(frame)),
                Output::Close {
                    connection,
                    code,
                    reason,
                } => ctx.tell(connection, ToSocket::Close(code, reason)),
                Output::Remove { room, identity } => {
                    ctx.administer(AdminRequest::RemoveParticipant { room, identity });
                }
                Output::Count(counter) => ctx.metrics().worker(counter),
                Output::Event(event) => log(&event),
            }
        }
        for kept in Takeover::of(&mut self.workers).take_unsaved() {
            ctx.keep(Keepsake {
                room: kept.room,
                part: kept.part,
                content: kept.content,
            });
        }
        called
    }

    /// Sends a message, after those to the same worker that wait.
    fn tell(&mut self, connection: ConnectionId, frame: Frame, ctx: &mut Context<'_>) {
        let mut waiting = self.held.iter().rev();
        match waiting.find(|(_, other, _)| *other == connection) {
            Some((room, ..)) => self.held.push((room.clone(), connection, frame)),
            None => ctx.tell(connection, ToSocket::Frame(frame)),
        }
    }

    /// Sends what has waited for a room.
    fn release(&mut self, room: &str, ctx: &mut Context<'_>) {
        let held = std::mem::take(&mut self.held);
        let (due, rest): (Vec<_>, Vec<_>) = held.into_iter().partition(|(of, ..)| of == room);
        self.held = rest;
        for (_, connection, frame) in due {
            ctx.tell(connection, ToSocket::Frame(frame));
        }
    }

    /// Creates the room of a dispatch first, where joining would create it.
    fn dispatch(&mut self, dispatch: Dispatch, ctx: &mut Context<'_>) {
        if let DispatchRequest::Create { api_key, room, .. } = &*dispatch.request
            && !self.workers.has_room(room)
            && ctx.rooms.check_admission(api_key, room, "", false).is_ok()
        {
            let request = CreateRoom {
                api_key: api_key.clone(),
                name: room.clone(),
                ..CreateRoom::default()
            };
            let request_id = ctx.administer(AdminRequest::CreateRoom(request));
            self.creating.insert(request_id, dispatch);
            return;
        }
        self.carry_out(dispatch, ctx);
    }

    fn carry_out(&mut self, Dispatch { request, answer }: Dispatch, ctx: &mut Context<'_>) {
        let now = ctx.now;
        let done = self.with(ctx, |workers, out| workers.administer(now, *request, out));
        // An error means that the administrator has given up waiting.
        let _ = answer.send(done);
    }
}

impl FrontEnd for Agents {
    fn reply(&mut self, request_id: AdminRequestId, _: AdminAnswer, ctx: &mut Context<'_>) {
        // The workers have learned of the room before. Without one the dispatch fails.
        if let Some(dispatch) = self.creating.remove(&request_id) {
            self.carry_out(dispatch, ctx);
        }
    }

    fn room_event(&mut self, event: &RoomEvent, ctx: &mut Context<'_>) {
        let now = ctx.now;
        self.with(ctx, |workers, out| workers.room_event(now, event, out));
    }

    fn room_released(&mut self, room: &str, ctx: &mut Context<'_>) {
        // The next controller knows of everything that was kept.
        self.release(room, ctx);
        self.workers.room_released(room);
    }

    fn restored(&mut self, keepsake: &Restored, ctx: &mut Context<'_>) {
        if !is_part(&keepsake.part) {
            return;
        }
        let Restored { room, part, content } = keepsake;
        let now = ctx.now;
        let is_new = !self.workers.has_room(room);
        let found = is_new.then(|| room_with_participants(ctx.rooms, room)).flatten();
        let is_used = self.with(ctx, |workers, _| {
            let mut takeover = Takeover::of(workers);
            if let Some((info, participants)) = found {
                takeover.room_restored(now, info, participants);
            }
            takeover.restore(now, room, part, content)
        });
        if !is_used {
            ctx.keep(Keepsake {
                room: room.clone(),
                part: part.clone(),
                content: None,
            });
        }
    }

    fn saved(&mut self, room: &str, ctx: &mut Context<'_>) {
        self.release(room, ctx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.workers.poll_timeout()
    }

    fn handle_timeout(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.now;
        self.with(ctx, |workers, out| workers.handle_timeout(now, out));
    }
}

impl RequestHandler for Agents {
    type Request = Request;

    fn request(&mut self, request: Request, ctx: &mut Context<'_>) {
        let now = ctx.now;
        match request {
            Request::Open(claims, address, socket, answer) => {
                let connection = ctx.connect();
                ctx.open_socket(connection, socket);
                let _ = answer.send(connection);
                self.with(ctx, |workers, out| {
                    workers.open(now, connection, *claims, Some(address), out)
                });
            }
            Request::Message(connection, received, _place) => {
                let rooms = ctx.rooms;
                let is_taken = |room: &str, identity: &str| {
                    let kind = rooms.kind_of(room, identity);
                    kind.is_some_and(|kind| kind != ParticipantKind::Agent)
                };
                self.with(ctx, |workers, out| {
                    workers.message(now, connection, *received, &is_taken, out)
                });
            }
            Request::Relay(connection, frame) => {
                self.with(ctx, |workers, out| workers.relay(connection, frame, out));
            }
            Request::Closed(connection) => {
                ctx.close_socket(connection);
                ctx.disconnect(connection);
                self.with(ctx, |workers, out| workers.closed(now, connection, out));
            }
            Request::Dispatch(dispatch) => self.dispatch(dispatch, ctx),
            Request::SetKeys(keys) => self.workers.set_keys(keys),
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
