//! The front ends there are: each output of the controller goes to those it is for.

use std::any::Any;
use std::time::Instant;

use ::livekit::Ledger;
use controller::{ConnectionId, Controller, Event, Input, Notification, Output, WallClock};
use tokio::sync::mpsc;

use super::context::{Context, FrontEndId, Shared};
use super::{FrontEnd, Keepsake, RequestHandler, Restored};
use crate::metrics::Metrics;

/// How many requests may wait. Beyond it sockets wait, which slows their clients down.
const REQUESTS_MAX: usize = 4096;

/// A request for one of the front ends.
pub(crate) struct FrontEndRequest {
    front_end: FrontEndId,
    request: Box<dyn Any + Send>,
}

/// The queue of requests for one front end.
pub(crate) struct Requests<R> {
    front_end: FrontEndId,
    queue: mpsc::Sender<FrontEndRequest>,
    /// Which requests the front end takes.
    kind: std::marker::PhantomData<fn(R)>,
}

impl<R> Clone for Requests<R> {
    fn clone(&self) -> Self {
        Self {
            front_end: self.front_end,
            queue: self.queue.clone(),
            kind: std::marker::PhantomData,
        }
    }
}

impl<R: Send + 'static> Requests<R> {
    /// Appends a request; `None` if the server is shutting down.
    pub(crate) async fn send(&self, request: R) -> Option<()> {
        let request = FrontEndRequest {
            front_end: self.front_end,
            request: Box::new(request),
        };
        self.queue.send(request).await.ok()
    }
}

/// A front end whose requests are of any type.
trait AnyFrontEnd: FrontEnd {
    fn any_request(&mut self, request: Box<dyn Any + Send>, ctx: &mut Context<'_>);
}

impl<F: RequestHandler> AnyFrontEnd for F {
    fn any_request(&mut self, request: Box<dyn Any + Send>, ctx: &mut Context<'_>) {
        // Only `Requests` of its own type leads here.
        if let Ok(request) = request.downcast::<F::Request>() {
            self.request(*request, ctx);
        }
    }
}

/// All front ends.
pub(crate) struct FrontEnds {
    members: Vec<Box<dyn AnyFrontEnd>>,
    shared: Shared,
    queue: mpsc::Sender<FrontEndRequest>,
    queued: mpsc::Receiver<FrontEndRequest>,
}

/// The time and the rooms of one call.
#[derive(Clone, Copy)]
pub(crate) struct CallContext<'a> {
    /// Now, by both clocks.
    pub wall: WallClock,
    /// The rooms.
    pub rooms: &'a Controller,
}

impl FrontEnds {
    /// None yet. All messages to sockets are on this ledger.
    pub(crate) fn new(ledger: Ledger, metrics: Metrics) -> Self {
        let (queue, queued) = mpsc::channel(REQUESTS_MAX);
        Self {
            members: Vec::new(),
            shared: Shared::new(ledger, metrics),
            queue,
            queued,
        }
    }

    /// Adds one, and returns the queue of its requests.
    pub(crate) fn add<F: RequestHandler>(&mut self, front_end: F) -> Requests<F::Request> {
        self.members.push(Box::new(front_end));
        Requests {
            front_end: self.members.len() - 1,
            queue: self.queue.clone(),
            kind: std::marker::PhantomData,
        }
    }

    /// Waits for a request.
    pub(crate) async fn next_request(&mut self) -> FrontEndRequest {
        match self.queued.recv().await {
            Some(request) => request,
            // The queue has an end here.
            None => std::future::pending().await,
        }
    }

    /// A request that waits already.
    pub(crate) fn waiting_request(&mut self) -> Option<FrontEndRequest> {
        self.queued.try_recv().ok()
    }

    /// Hands a request to its front end.
    pub(crate) fn request(&mut self, at: CallContext<'_>, request: FrontEndRequest) {
        let FrontEndRequest { front_end, request } = request;
        self.with(at, front_end, |member, ctx| member.any_request(request, ctx));
    }

    /// The next input for the controller.
    pub(crate) fn next_input(&mut self) -> Option<Input> {
        self.shared.next_input()
    }

    /// Has nodes keep what the front ends say from now on.
    pub(crate) fn expect_successors(&mut self) {
        self.shared.keeps = true;
    }

    /// The next part that nodes are to keep.
    pub(crate) fn next_keepsake(&mut self) -> Option<Keepsake> {
        self.shared.next_keepsake()
    }

    /// Hands on what nodes have kept of a room that this controller goes on with.
    pub(crate) fn restored(&mut self, at: CallContext<'_>, keepsake: &Restored) {
        self.each(at, |member, ctx| member.restored(keepsake, ctx));
    }

    /// The nodes of a room were sent everything that is to be kept of it.
    pub(crate) fn saved(&mut self, at: CallContext<'_>, room: &str) {
        self.each(at, |member, ctx| member.saved(room, ctx));
    }

    /// Whether there are inputs for the controller.
    pub(crate) fn has_inputs(&self) -> bool {
        self.shared.has_inputs()
    }

    /// Hands an output of the controller to those it is for, and gives back one that is for none.
    pub(crate) fn output(&mut self, at: CallContext<'_>, output: Output) -> Option<Output> {
        match output {
            Output::Notify {
                connection,
                notification,
            } => self.notify(at, &[connection], notification),
            Output::NotifyMany {
                connections,
                notification,
            } => self.notify(at, &connections, notification),
            Output::End { connection, cause } => {
                if let Some(owner) = self.shared.owner(connection) {
                    self.with(at, owner, |member, ctx| member.end(connection, cause, ctx));
                }
            }
            Output::Reply { request_id, reply } => {
                if let Some(asker) = self.shared.take_asker(request_id) {
                    self.with(at, asker, |member, ctx| member.reply(request_id, reply, ctx));
                }
            }
            Output::Room(event) => self.each(at, |member, ctx| member.room_event(&event, ctx)),
            Output::Event(Event::RoomReleased { room }) => {
                self.each(at, |member, ctx| member.room_released(&room, ctx));
                return Some(Output::Event(Event::RoomReleased { room }));
            }
            other => return Some(other),
        }
        None
    }

    /// All inputs there were are handled.
    pub(crate) fn handled(&mut self, at: CallContext<'_>) {
        self.each(at, |member, ctx| member.handled(ctx));
    }

    /// When one of them wants to be called again.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.members.iter().filter_map(|member| member.poll_timeout()).min()
    }

    /// Has them do what has become due.
    pub(crate) fn handle_timeout(&mut self, at: CallContext<'_>) {
        self.each(at, |member, ctx| member.handle_timeout(ctx));
    }

    /// Tells the connections of each front end something.
    fn notify(&mut self, at: CallContext<'_>, connections: &[ConnectionId], notification: Notification) {
        let owner = |connection: &ConnectionId| self.shared.owner(*connection);
        let first = connections.first().and_then(owner);
        if connections.iter().all(|connection| owner(connection) == first) {
            if let Some(first) = first {
                self.with(at, first, |member, ctx| member.notify(connections, notification, ctx));
            }
            return;
        }
        for front_end in 0..self.members.len() {
            let own = connections.iter().copied();
            let own: Vec<_> = own
                .filter(|connection| self.shared.owner(*connection) == Some(front_end))
                .collect();
            if !own.is_empty() {
                let notification = notification.clone();
                self.with(at, front_end, |member, ctx| member.notify(&own, notification, ctx));
            }
        }
    }

    fn each(&mut self, at: CallContext<'_>, mut call: impl FnMut(&mut dyn AnyFrontEnd, &mut Context<'_>)) {
        for front_end in 0..self.members.len() {
            self.with(at, front_end, &mut call);
        }
    }

    fn with(
        &mut self,
        at: CallContext<'_>,
        front_end: FrontEndId,
        call: impl FnOnce(&mut dyn AnyFrontEnd, &mut Context<'_>),
    ) {
        let CallContext { wall, rooms } = at;
        let mut ctx = Context {
            now: wall.now,
            wall,
            rooms,
            front_end,
            shared: &mut self.shared,
        };
        if let Some(member) = self.members.get_mut(front_end) {
            call(&mut **member, &mut ctx);
        }
    }
}
