//! The front end itself: sessions, and the calls that open, change and end them.
//!
//! A call leads to inputs for the controller. It is answered once everything that came of them was
//! taken in.

mod accepted;
mod held;
mod pending;
mod succession;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use controller::{
    ClientTraits, ConnectionId, Controller, Counter, Input, Join, JoinError, Notification, PeerMode, Request,
    RoomChange, RoomEvent,
};

use crate::answer::Answer;
use crate::bearer::Bearer;
use crate::call::{Call, Delete, Open, Patch};
use crate::choice::{choose, publishers};
use crate::limits::{CONNECT_MIN, SESSIONS_MAX};
use crate::offer::Offer;
use crate::route::Protocol;
use crate::session::{Session, offer, request, subscription};
use crate::session_slots::SessionSlots;
use pending::{Pending, Task};
use slots::Limits;
use succession::Unsaved;

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Output {
    /// Pass this to the controller.
    Input(Input),
    /// Answer a call.
    Answer {
        /// Which call.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// Add one to a counter of the controller.
    Count(Counter),
    /// Another controller that goes on with the room needs this of a session.
    Keep {
        /// The name of the room.
        room: String,
        /// The id of its participant.
        sid: String,
        /// A secret; `None` if the session is over.
        content: Option<Vec<u8>>,
    },
}

/// The name of a call, until it is answered. Front ends' programs count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// The open sessions.
#[derive(Debug)]
pub struct Front {
    sessions: BTreeMap<ConnectionId, Session>,
    by_sid: HashMap<String, ConnectionId>,
    /// Calls that are not answered yet, by the connections of their sessions.
    pending: BTreeMap<ConnectionId, Pending>,
    slots: SessionSlots,
    /// Viewers without a token, by room. Anybody may ask for one more.
    viewers: HashMap<String, SessionSlots>,
    unsaved: Unsaved,
}

impl Default for Front {
    fn default() -> Self {
        Self::new(Limits::shared(SESSIONS_MAX, CONNECT_MIN))
    }
}

impl Front {
    /// Without sessions, and for so many.
    pub fn new(limits: Limits) -> Self {
        Self {
            sessions: BTreeMap::new(),
            by_sid: HashMap::new(),
            pending: BTreeMap::new(),
            slots: SessionSlots::new(limits),
            viewers: HashMap::new(),
            unsaved: Unsaved::default(),
        }
    }

    /// Takes so many sessions from now on. Open ones stay.
    pub fn set_limits(&mut self, limits: Limits) {
        self.slots.set_limits(limits);
    }

    /// Carries a call out. `connection` is the name of the session if the call opens one; it is
    /// unused after a call that opens none. Rooms are only looked at.
    pub fn handle(
        &mut self,
        rooms: &Controller,
        now: Instant,
        call_id: CallId,
        connection: ConnectionId,
        call: Call,
        out: &mut Vec<Output>,
    ) {
        let refused = match call {
            Call::Open(open) => self.open(rooms, now, call_id, connection, *open, out),
            Call::Patch(patch) => self.patch(call_id, &patch, out),
            Call::Delete(delete) => self.delete(call_id, &delete, out),
        };
        if let Err(answer) = refused {
            out.push(Output::Answer { call: call_id, answer });
        }
    }

    /// Takes in what the controller tells sessions.
    pub fn notify(
        &mut self,
        rooms: &Controller,
        connections: &[ConnectionId],
        notification: &Notification,
        out: &mut Vec<Output>,
    ) {
        let mut present = None;
        for connection in connections {
            if let Some(pending) = self.pending.get_mut(connection) {
                pending.told.take(notification);
            }
            let Some(session) = self.sessions.get_mut(connection) else {
                continue;
            };
            match notification {
                // The client does not offer again, so its offer is used again.
                Notification::SectionsNeeded { .. } => out.push(Output::Input(session.offer_again(*connection))),
                Notification::Participants(news) if session.concerns(news) => {
                    // Looked up once for all players of the room.
                    let present = present.get_or_insert_with(|| rooms.participants(&session.room));
                    let inputs = session.choose_again(*connection, present);
                    out.extend(inputs.into_iter().map(Output::Input));
                    self.unsaved.changed(*connection);
                }
                _ => {}
            }
        }
    }

    /// The controller has ended a session.
    pub fn ended(&mut self, connection: ConnectionId, out: &mut Vec<Output>) {
        if let Some(pending) = self.pending.get_mut(&connection) {
            pending.told.is_over = true;
        }
        if self.is_open(connection) {
            self.forget(connection);
            out.push(Output::Input(Input::Ended { connection }));
        }
    }

    /// Takes an event of a room.
    pub fn room_event(&mut self, event: &RoomEvent) {
        if let RoomChange::ParticipantJoined(info) = &event.change {
            self.settle(&info.sid);
        }
    }

    /// Answers the calls whose inputs the controller has handled: every output that came of them
    /// was taken in.
    pub fn handled(&mut self, out: &mut Vec<Output>) {
        while let Some((connection, pending)) = self.pending.pop_first() {
            let (call, answer) = (pending.call, self.conclude(connection, pending, out));
            let answer = answer.unwrap_or_else(|refusal| refusal);
            out.push(Output::Answer { call, answer });
        }
        self.save(out);
    }

    /// Ends a session, if it is open.
    pub fn end(&mut self, connection: ConnectionId, out: &mut Vec<Output>) {
        if self.is_open(connection) {
            self.forget(connection);
            out.push(Output::Input(request(connection, Request::Leave)));
            out.push(Output::Input(Input::Ended { connection }));
        }
    }

    /// Whether a session is open.
    pub fn is_open(&self, connection: ConnectionId) -> bool {
        self.sessions.contains_key(&connection)
    }

    fn open(
        &mut self,
        rooms: &Controller,
        now: Instant,
        call: CallId,
        connection: ConnectionId,
        open: Open,
        out: &mut Vec<Output>,
    ) -> Result<(), Answer> {
        let (grant, identity) = (&open.claims.video, open.claims.identity());
        rooms.check_claims(now, &open.claims).inspect_err(|error| {
            if let JoinError::NoMediaNode(_) = error {
                out.push(Output::Count(Counter::NoMediaNode));
            }
        })?;
        let (room, identity) = (grant.room.clone(), identity.to_owned());
        let slots = open.offer.slots();
        let present = match open.protocol {
            Protocol::Whip => Vec::new(),
            Protocol::Whep => rooms.participants(&room),
        };
        let chosen = choose(&present, &open.wanted, &[], slots);
        if open.protocol == Protocol::Whep && chosen.is_empty() {
            return Err(Answer::nothing_to_play());
        }
        let viewer_of = open.token.is_none().then_some(room.as_str());
        let held = self.enter(now, connection, open.address, viewer_of, out)?;
        let tracks = match open.protocol {
            Protocol::Whip => open.offer.tracks(open.source),
            Protocol::Whep => Vec::new(),
        };
        let Offer { description, left_out } = open.offer;
        let join = Join {
            attributes: open.claims.attributes.clone(),
            metadata: open.claims.metadata.clone(),
            claims: open.claims,
            mode: PeerMode::Single,
            traits: ClientTraits {
                // One stream of a publisher's camera and microphone.
                plays_streams_in_step: true,
                ..ClientTraits::default()
            },
            auto_subscribe: false,
            auto_subscribe_data: false,
            tracks,
            offer: None,
            room: open.room,
            region: open.region,
        };
        out.push(Output::Input(Input::Join {
            connection,
            join: Box::new(join),
        }));
        if !chosen.is_empty() {
            out.push(Output::Input(subscription(connection, chosen.clone(), true)));
        }
        out.push(Output::Input(offer(connection, 1, description.clone(), left_out)));
        let session = Session {
            protocol: open.protocol,
            // The controller gives both.
            sid: String::new(),
            tag: String::new(),
            room,
            held,
            address: open.address,
            identity,
            token: open.token,
            offer: description,
            offers: 1,
            wanted: open.wanted,
            slots,
            publishers: publishers(&present, &chosen),
            chosen,
        };
        let task = Task::Open {
            session: Box::new(session),
            has_token_in_url: open.has_token_in_url,
        };
        self.pending.insert(connection, Pending::new(call, task));
        Ok(())
    }

    fn patch(&mut self, call: CallId, patch: &Patch, out: &mut Vec<Output>) -> Result<(), Answer> {
        let connection = self.find(patch.protocol, &patch.session, patch.bearer.as_ref())?;
        let session = self.sessions.get_mut(&connection).ok_or_else(Answer::no_session)?;
        let condition = patch.if_match.as_ref();
        if condition.is_some_and(|condition| !condition.holds(&session.tag)) {
            return Err(Answer::refusal(412, "the ICE session is another one"));
        }
        // Candidates are of no use: we only answer checks, and learn addresses from them. So they
        // need no condition, which some clients leave out.
        let Some(ice) = patch.fragment.ice.as_ref().filter(|ice| session.is_restarted_by(ice)) else {
            return Err(Answer::empty(204));
        };
        // Without one, late candidates of the ICE session before would restart it.
        if condition.is_none() {
            return Err(Answer::refusal(428, "a restart of ICE needs an If-Match header"));
        }
        let before = Box::new(session.offer.clone());
        session.restart(ice);
        out.push(Output::Input(session.offer_again(connection)));
        self.pending
            .insert(connection, Pending::new(call, Task::Restart { before }));
        Ok(())
    }

    fn delete(&mut self, call: CallId, delete: &Delete, out: &mut Vec<Output>) -> Result<(), Answer> {
        let connection = self.find(delete.protocol, &delete.session, delete.bearer.as_ref())?;
        self.end(connection, out);
        let answer = Answer::empty(200);
        out.push(Output::Answer { call, answer });
        Ok(())
    }

    fn find(&self, protocol: Protocol, sid: &str, bearer: Option<&Bearer>) -> Result<ConnectionId, Answer> {
        let connection = self.by_sid.get(sid).ok_or_else(Answer::no_session)?;
        let session = self
            .sessions
            .get(connection)
            .filter(|session| session.protocol == protocol);
        match session.ok_or_else(Answer::no_session)?.admits(bearer) {
            true => Ok(*connection),
            false => Err(Answer::unauthorized("the token is not the session's")),
        }
    }

    fn remember(&mut self, connection: ConnectionId, session: Session) {
        self.by_sid.insert(session.sid.clone(), connection);
        self.unsaved.changed(connection);
        self.sessions.insert(connection, session);
    }

    fn forget(&mut self, connection: ConnectionId) {
        let Some(session) = self.sessions.remove(&connection) else {
            return;
        };
        self.leave(&session.room, session.held);
        self.by_sid.remove(&session.sid);
        self.unsaved.over(connection, session.room, session.sid);
    }
}

#[cfg(test)]
mod tests;
