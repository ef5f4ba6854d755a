//! Clients of LiveKit's protocol.

use ::livekit::{Admission, Frame, Front, Inbox, Input, Output, Received, Refusal};
use controller::{ConnectionId, Counter, EndCause, JoinError, Notification};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::outbox::{Ends, Outbox, SocketQueue, ToSocket, outbox};
use super::readers::Readers;
use super::{Context, FrontEnd, RequestHandler, Requests, events};
use crate::os::clock;

/// A request of a client's socket.
pub(crate) enum Request {
    /// Whether this participant could join now.
    Check(Box<Admission>, oneshot::Sender<Result<(), Refusal>>),
    /// A new connection, with the place of a description that was read.
    Open(
        Box<Admission>,
        Outbox,
        oneshot::Sender<ConnectionId>,
        Option<OwnedSemaphorePermit>,
    ),
    /// A message, with the place of a long one.
    Message(ConnectionId, Box<Received>, Option<OwnedSemaphorePermit>),
    /// A connection ended.
    Closed(ConnectionId),
}

/// The sockets' handle on the front end.
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

    /// Whether this participant could join now.
    pub(crate) async fn check_admission(&self, admission: &Admission) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let gone = || Refusal {
            status: 503,
            text: "the server is shutting down".to_owned(),
        };
        let request = Request::Check(Box::new(admission.clone()), answer);
        self.requests.send(request).await.ok_or_else(gone)?;
        answered.await.map_err(|_| gone())?
    }

    /// A new connection: its id, and the queue of its messages.
    pub(crate) async fn open(&self, mut admission: Box<Admission>) -> Option<(ConnectionId, SocketQueue, Ends)> {
        let (outbox, told, ends) = outbox();
        let (answer, answered) = oneshot::channel();
        let place = match admission.offer {
            Some(_) => {
                let place = self.readers.long_message().await?;
                let _turn = self.readers.turn().await?;
                admission.read_offer();
                Some(place)
            }
            None => None,
        };
        let request = Request::Open(admission, outbox, answer, place);
        self.requests.send(request).await?;
        Some((answered.await.ok()?, told, ends))
    }

    /// A message arrived. It is read here, on the task of its connection.
    pub(crate) async fn message(&self, connection: ConnectionId, inbox: &mut Inbox, frame: Frame) {
        let (place, turn) = self.readers.frame(frame.len()).await;
        let received = Box::new(inbox.read(clock::now(), &frame));
        drop((frame, turn));
        // `None` means that the server is shutting down, and nobody needs the message.
        let _ = self.requests.send(Request::Message(connection, received, place)).await;
    }

    /// A connection ended.
    pub(crate) async fn closed(&self, connection: ConnectionId) {
        let _ = self.requests.send(Request::Closed(connection)).await;
    }
}

/// The front end.
pub(super) struct LiveKit {
    front: Front,
}

impl LiveKit {
    pub(super) fn new(front: Front) -> Self {
        Self { front }
    }

    fn input(&mut self, input: Input, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.handle(input, &mut out);
        perform(out, ctx);
    }
}

fn perform(out: Vec<Output>, ctx: &mut Context<'_>) {
    for output in out {
        match output {
            Output::Input(input) => ctx.input(input),
            Output::Send { connection, frame } => ctx.tell(connection, ToSocket::Frame(frame)),
            Output::Close {
                connection,
                code,
                reason,
            } => ctx.tell(connection, ToSocket::Close(code, reason)),
            Output::Count(counter) => ctx.metrics().count(counter),
            Output::Event(event) => events::log(&event),
        }
    }
}

impl FrontEnd for LiveKit {
    fn notify(&mut self, connections: &[ConnectionId], notification: Notification, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.notify(connections, notification, &mut out);
        perform(out, ctx);
    }

    fn end(&mut self, connection: ConnectionId, cause: EndCause, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.end(connection, cause, &mut out);
        perform(out, ctx);
    }
}

impl RequestHandler for LiveKit {
    type Request = Request;

    fn request(&mut self, request: Request, ctx: &mut Context<'_>) {
        match request {
            Request::Check(admission, answer) => {
                let checked = admission.check(ctx.rooms, ctx.now);
                if let Err(JoinError::NoMediaNode(_)) = checked {
                    ctx.metrics().count(Counter::NoMediaNode);
                }
                // An error means that the client has disconnected, and nobody waits for the answer.
                let _ = answer.send(checked.map_err(Refusal::from));
            }
            Request::Open(admission, socket, answer, _place) => {
                let connection = ctx.connect();
                ctx.open_socket(connection, socket);
                let _ = answer.send(connection);
                self.input(Input::Open { connection, admission }, ctx);
            }
            Request::Message(connection, message, _place) => self.input(Input::Message { connection, message }, ctx),
            Request::Closed(connection) => {
                ctx.close_socket(connection);
                self.input(Input::Closed { connection }, ctx);
            }
        }
    }
}
