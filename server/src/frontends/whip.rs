//! WHIP and WHEP: requests of HTTP, and the sessions that they open.

use std::collections::HashMap;
use std::net::IpAddr;

use ::whip::{AllowedRequest, Answer, Call, CallId, Front, Output};
use controller::{ConnectionId, EndCause, Notification, RoomEvent};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::readers::Readers;
use super::{Context, FrontEnd, Keepsake, RequestHandler, Requests, Restored};

/// The first letters of the parts of sessions. The rest is the id of the participant.
const PART: &str = "whip ";

/// A request for the front end.
pub(crate) enum Request {
    /// A call that was read, with the place of its description.
    Call(Box<Call>, oneshot::Sender<Answer>, OwnedSemaphorePermit),
    /// So many sessions from now on.
    SetLimits(slots::Limits),
}

/// The client that makes a request.
pub(crate) struct Origin {
    /// The address of the client.
    pub address: IpAddr,
    /// The region that the client is in, if it is known.
    pub region: Option<String>,
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

    /// The answer to a request with this body, which is read here; `None` if the server is shutting
    /// down. A session that it opens counts for the address of its origin.
    pub(crate) async fn call(&self, judged: AllowedRequest, body: &[u8], origin: Origin) -> Option<Answer> {
        let place = self.readers.long_message().await?;
        let call = {
            let _turn = self.readers.turn().await?;
            judged.read(body)
        };
        let mut call = match call {
            Ok(call) => Box::new(call),
            Err(answer) => return Some(answer),
        };
        if let Call::Open(open) = &mut *call {
            match ::livekit::api::set_up(open.claims()) {
                Ok(room) => open.room = room,
                Err(why) => return Some(Answer::refusal(401, format!("invalid token: {why}"))),
            }
            (open.address, open.region) = (Some(origin.address), origin.region);
        }
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Call(call, answer, place)).await?;
        answered.await.ok()
    }

    /// Takes so many sessions from now on.
    pub(crate) async fn set_limits(&self, limits: slots::Limits) {
        let _ = self.requests.send(Request::SetLimits(limits)).await;
    }
}

/// A call that is not answered yet.
struct Waiting {
    answer: oneshot::Sender<Answer>,
    /// The name of the session that it opens, if it does.
    connection: ConnectionId,
}

/// The front end.
pub(super) struct Whip {
    front: Front,
    waiting: HashMap<CallId, Waiting>,
    calls: u64,
}

impl Whip {
    pub(super) fn new(limits: slots::Limits) -> Self {
        Self {
            front: Front::new(limits),
            waiting: HashMap::new(),
            calls: 0,
        }
    }

    fn perform(&mut self, out: Vec<Output>, ctx: &mut Context<'_>) {
        for output in out {
            match output {
                Output::Input(input) => ctx.input(input),
                Output::Answer { call, answer } => self.answer(call, answer, ctx),
                Output::Count(counter) => ctx.metrics().count(counter),
                Output::Keep { room, sid, content } => {
                    let part = format!("{PART}{sid}");
                    ctx.keep(Keepsake { room, part, content });
                }
            }
        }
    }

    fn answer(&mut self, call: CallId, answer: Answer, ctx: &mut Context<'_>) {
        let Some(Waiting {
            answer: waiting,
            connection,
        }) = self.waiting.remove(&call)
        else {
            return;
        };
        if waiting.send(answer).is_err() {
            // The client has gone before the answer, and knows of no session.
            let mut out = Vec::new();
            self.front.end(connection, &mut out);
            self.perform(out, ctx);
        }
        if !self.front.is_open(connection) {
            ctx.disconnect(connection);
        }
    }
}

impl FrontEnd for Whip {
    fn notify(&mut self, connections: &[ConnectionId], notification: Notification, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.notify(ctx.rooms, connections, &notification, &mut out);
        self.perform(out, ctx);
    }

    fn end(&mut self, connection: ConnectionId, _: EndCause, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.ended(connection, &mut out);
        self.perform(out, ctx);
    }

    fn room_event(&mut self, event: &RoomEvent, _: &mut Context<'_>) {
        self.front.room_event(event);
    }

    fn restored(&mut self, keepsake: &Restored, ctx: &mut Context<'_>) {
        if !keepsake.part.starts_with(PART) {
            return;
        }
        let (connection, mut out) = (ctx.connect(), Vec::new());
        self.front.restore(
            ctx.rooms,
            ctx.now,
            connection,
            &keepsake.room,
            &keepsake.content,
            &mut out,
        );
        self.perform(out, ctx);
        if !self.front.is_open(connection) {
            ctx.disconnect(connection);
        }
    }

    fn handled(&mut self, ctx: &mut Context<'_>) {
        let mut out = Vec::new();
        self.front.handled(&mut out);
        self.perform(out, ctx);
    }
}

impl RequestHandler for Whip {
    type Request = Request;

    fn request(&mut self, request: Request, ctx: &mut Context<'_>) {
        match request {
            Request::Call(call, answer, _place) => {
                self.calls += 1;
                let (call_id, connection) = (CallId(self.calls), ctx.connect());
                self.waiting.insert(call_id, Waiting { answer, connection });
                let mut out = Vec::new();
                self.front
                    .handle(ctx.rooms, ctx.now, call_id, connection, *call, &mut out);
                self.perform(out, ctx);
            }
            Request::SetLimits(limits) => self.front.set_limits(limits),
        }
    }
}
