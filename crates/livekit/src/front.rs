//! The front end itself: between clients of the protocol and the controller.

use std::collections::HashMap;

use controller::{ConnectionId, Counter, EndCause, Event, Join, Notification, Request};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;

use crate::admission::{Admission, Offer};
use crate::bounds::{self, Extent};
use crate::frame::{Frame, Ledger, Outgoing};
use crate::inbox::{Incoming, Received, Unusable};
use crate::notifications::Pings;
use crate::requests::{Refused, Translated, add_track, sync_state, translate};
use crate::{api, notifications, traits};

/// The first version of the protocol whose clients wait for the answer to a request that was done.
const ACCEPTED_SINCE: i32 = 15;

/// One thing that happened to a client.
#[derive(Clone, Debug)]
pub enum Input {
    /// An admitted request was upgraded to a WebSocket.
    Open {
        /// The new connection.
        connection: ConnectionId,
        /// The admission of the request.
        admission: Box<Admission>,
    },
    /// A message arrived.
    Message {
        /// On which connection.
        connection: ConnectionId,
        /// The message, read by the connection's [`Inbox`](crate::Inbox).
        message: Box<Received>,
    },
    /// A connection ended, whoever ended it. Said once for every connection that was opened, also
    /// for those we closed.
    Closed {
        /// Which connection.
        connection: ConnectionId,
    },
}

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Output {
    /// Pass this to the controller.
    Input(controller::Input),
    /// Send a message.
    Send {
        /// On which connection.
        connection: ConnectionId,
        /// The message.
        frame: Frame,
    },
    /// Close a connection after what was sent before. Only code 1000 tells a client not to come
    /// back.
    Close {
        /// Which connection.
        connection: ConnectionId,
        /// WebSocket close code (RFC 6455 section 7.4).
        code: u16,
        /// For those who debug the client.
        reason: &'static str,
    },
    /// Something to count.
    Count(Counter),
    /// Something to log.
    Event(Event),
}

/// The connections of clients, and what each of them understands.
#[derive(Debug, Default)]
pub struct Front {
    sessions: HashMap<ConnectionId, Session>,
    pings: Pings,
    ledger: Ledger,
}

/// The state of one connection.
#[derive(Debug)]
struct Session {
    /// The version of the protocol that its client speaks.
    protocol: i32,
    /// Its client speaks JSON.
    json: bool,
    /// It is being closed: nothing is said on it any more.
    ended: bool,
}

impl Front {
    /// A front end without connections. Clients get these ping settings.
    pub fn new(pings: Pings) -> Self {
        Self {
            pings,
            ..Self::default()
        }
    }

    /// The count of the messages that are in memory.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Takes an input. There is at most one for the controller in `out` after it.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Output>) {
        let input = match input {
            Input::Open { connection, admission } => Some(self.open(connection, *admission)),
            Input::Message { connection, message } => self.message(connection, *message, out),
            Input::Closed { connection } => {
                self.sessions.remove(&connection);
                Some(controller::Input::Ended { connection })
            }
        };
        out.extend(input.map(Output::Input));
    }

    /// Takes an output of the controller, and gives back one that is for nobody here.
    pub fn output(&mut self, output: controller::Output, out: &mut Vec<Output>) -> Option<controller::Output> {
        match output {
            controller::Output::Notify {
                connection,
                notification,
            } => self.notify(&[connection], notification, out),
            controller::Output::NotifyMany {
                connections,
                notification,
            } => self.notify(&connections, notification, out),
            controller::Output::End { connection, cause } => self.end(connection, cause, out),
            other => return Some(other),
        }
        None
    }

    fn open(&mut self, connection: ConnectionId, admission: Admission) -> controller::Input {
        let session = Session {
            protocol: admission.client.protocol,
            json: false,
            ended: false,
        };
        self.sessions.insert(connection, session);
        let offer = admission.offer.map(Offer::read);
        if let Some(resume) = admission.resume {
            let resume = Box::new(controller::Resume {
                claims: admission.claims,
                mode: admission.mode,
                sid: resume.sid,
                sync_state: admission.sync_state.map(sync_state),
                offer,
            });
            return controller::Input::Resume { connection, resume };
        }
        // Admission has checked that it can be read.
        let set_up = api::set_up(&admission.claims).unwrap_or_default();
        let join = Box::new(Join {
            claims: admission.claims,
            mode: admission.mode,
            traits: traits::of(admission.client),
            auto_subscribe: admission.settings.auto_subscribe,
            auto_subscribe_data: admission.settings.auto_subscribe_data_track(),
            attributes: admission.attributes,
            metadata: admission.metadata,
            tracks: admission.tracks.into_iter().map(add_track).collect(),
            offer,
            room: set_up,
            region: admission.region,
        });
        controller::Input::Join { connection, join }
    }

    /// The controller's request for a client's message; `None` for a message of a newer protocol.
    fn message(
        &mut self,
        connection: ConnectionId,
        received: Received,
        out: &mut Vec<Output>,
    ) -> Option<controller::Input> {
        let Some(session) = self.sessions.get_mut(&connection).filter(|session| !session.ended) else {
            out.push(Output::Count(Counter::UnknownConnection));
            return None;
        };
        let incoming = match received.message {
            Ok(incoming) => incoming,
            Err(why) => return Some(self.hang_up(connection, why, out)),
        };
        session.json = received.json;
        let request = Box::new(match incoming? {
            Incoming::Offer(offer) => Request::Offer(offer),
            Incoming::Answer(answer) => Request::Answer(answer),
            Incoming::Said(said) => self.said(connection, *said, out),
        });
        Some(controller::Input::Request { connection, request })
    }

    /// The request in a message. One that is refused here leaves word that the client is there.
    fn said(&mut self, connection: ConnectionId, mut said: Said, out: &mut Vec<Output>) -> Request {
        let refused = match bounds::message(&mut said) {
            Ok(kept) => {
                if kept == Extent::Part {
                    out.push(Output::Count(Counter::LimitExceeded));
                }
                match translate(said) {
                    Translated::Request(request) => return request,
                    Translated::Refused(refused) => refused,
                }
            }
            Err(what) => Refused::excess(said, what),
        };
        out.push(Output::Count(refused.counter));
        if let Some(answer) = refused.answer {
            self.send(&[connection], *answer, out);
        }
        Request::Alive
    }

    /// Ends a connection whose client does not keep to the protocol. It may come back and do
    /// better: only its signalling is lost.
    fn hang_up(&mut self, connection: ConnectionId, why: Unusable, out: &mut Vec<Output>) -> controller::Input {
        let Unusable { code, counter, what } = why;
        out.push(Output::Count(counter));
        out.push(Output::Event(Event::Misbehaved { connection, what }));
        self.close(connection, code, counter.name(), out);
        controller::Input::Ended { connection }
    }

    /// Tells clients something, as far as they understand it.
    pub fn notify(&self, connections: &[ConnectionId], notification: Notification, out: &mut Vec<Output>) {
        let is_new = matches!(notification, Notification::Accepted(_));
        let understands = |connection: &ConnectionId| {
            let session = self.sessions.get(connection);
            session.is_some_and(|session| !is_new || session.protocol >= ACCEPTED_SINCE)
        };
        if !connections.iter().any(understands) {
            return;
        }
        let notification = match connections {
            [connection] if !self.sessions.get(connection).is_some_and(|session| session.json) => {
                match notifications::parts(notification, self.pings, &self.ledger) {
                    Ok(parts) => return self.send_frame(*connection, Frame::Parts(parts), out),
                    Err(notification) => notification,
                }
            }
            _ => notification,
        };
        if let Some(message) = notifications::message(notification, self.pings) {
            self.send(connections, message, out);
        }
    }

    /// Sends a message to all of these; it is encoded once for each form that somebody speaks.
    fn send(&self, connections: &[ConnectionId], message: Message, out: &mut Vec<Output>) {
        let message = Outgoing::new(message, &self.ledger);
        for connection in connections {
            if let Some(session) = self.sessions.get(connection) {
                self.send_frame(*connection, message.frame(session.json), out);
            }
        }
    }

    fn send_frame(&self, connection: ConnectionId, frame: Frame, out: &mut Vec<Output>) {
        let session = self.sessions.get(&connection);
        if session.is_some_and(|session| !session.ended) {
            out.push(Output::Send { connection, frame });
        }
    }

    /// Ends a connection after what was told on it before.
    pub fn end(&mut self, connection: ConnectionId, cause: EndCause, out: &mut Vec<Output>) {
        let (code, reason) = match cause {
            EndCause::Session(reason) => (1000, reason.name()),
            // RFC 6455 section 7.4.1: the endpoint goes away.
            EndCause::Released => (1001, "another controller goes on with the room"),
            EndCause::Replaced => (1000, "replaced by a newer connection"),
            EndCause::SimulatedFault => (1011, "as the test asked"),
        };
        self.close(connection, code, reason, out);
    }

    fn close(&mut self, connection: ConnectionId, code: u16, reason: &'static str, out: &mut Vec<Output>) {
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.ended = true;
            out.push(Output::Close {
                connection,
                code,
                reason,
            });
        }
    }
}
