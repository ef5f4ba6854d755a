//! The front end itself: sessions, and the calls that open, change and end them.
//!
//! The controller answers an offer within the call that makes it. So a request is carried out and
//! answered at once, and nothing waits.

mod accepted;
mod held;

use std::collections::{BTreeMap, HashMap};
use std::slice::from_ref;
use std::time::Instant;

use controller::{
    AdminReply, AdminRequest, AdminRequestId, ClientTraits, ConnectionId, Controller, Input, Join, Notification,
    Output, ParticipantSnapshot, PeerMode, Request, RoomChange,
};

use crate::answer::{Answer, FRAGMENT, SDP};
use crate::call::{Bearer, Call, Delete, Open, Patch};
use crate::choice::{choose, publishers};
use crate::etag::quoted;
use crate::fragment;
use crate::limits::{CONNECT_MIN, SESSIONS_MAX};
use crate::offer::Offer;
use crate::route::{Protocol, Route};
use crate::session::{Session, Told, offer, request, subscription};
use crate::session_slots::SessionSlots;
use accepted::{accept, tag};
use slots::Limits;

/// The name of the front end's own questions. Other front ends count theirs from 1.
const QUESTION: AdminRequestId = AdminRequestId(u64::MAX);

/// The open sessions.
#[derive(Debug)]
pub struct Front {
    sessions: BTreeMap<ConnectionId, Session>,
    by_sid: HashMap<String, ConnectionId>,
    slots: SessionSlots,
    /// Viewers without a token, by room. Anybody may ask for one more.
    viewers: HashMap<String, SessionSlots>,
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
            slots: SessionSlots::new(limits),
            viewers: HashMap::new(),
        }
    }

    /// Takes so many sessions from now on. Open ones stay.
    pub fn set_limits(&mut self, limits: Limits) {
        self.slots.set_limits(limits);
    }

    /// Carries a call out. `connection` is the name of the session if the call opens one. The
    /// controller's outputs are appended to `out`; they have been [followed](Self::follow).
    pub fn handle(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        connection: ConnectionId,
        call: Call,
        out: &mut Vec<Output>,
    ) -> Answer {
        let answer = match call {
            Call::Open(open) => self.open(controller, now, connection, *open, out),
            Call::Patch(patch) => self.patch(controller, now, &patch, out),
            Call::Delete(delete) => self.delete(controller, now, &delete, out),
        };
        answer.unwrap_or_else(|refusal| refusal)
    }

    /// Reacts to outputs of the controller. Outputs that this makes necessary are appended to them.
    /// Outputs of every input have to pass through here, whichever front end it came from.
    pub fn follow(&mut self, controller: &mut Controller, now: Instant, outputs: &mut Vec<Output>) {
        let mut at = 0;
        while at < outputs.len() {
            let reactions = self.reactions(controller, now, &outputs[at]);
            for input in reactions {
                controller.handle(now, input, outputs);
            }
            at += 1;
        }
    }

    /// Ends a session, if it is open.
    pub fn end(&mut self, controller: &mut Controller, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        if !self.is_open(connection) {
            return;
        }
        let mut outputs = Vec::new();
        controller.handle(now, request(connection, Request::Leave), &mut outputs);
        // The controller ends the connection, which ends the session, unless it does not know it.
        self.follow(controller, now, &mut outputs);
        if self.is_open(connection) {
            self.forget(connection);
            controller.handle(now, Input::Ended { connection }, &mut outputs);
        }
        out.append(&mut outputs);
    }

    /// Whether a session is open.
    pub fn is_open(&self, connection: ConnectionId) -> bool {
        self.sessions.contains_key(&connection)
    }

    fn open(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        connection: ConnectionId,
        open: Open,
        out: &mut Vec<Output>,
    ) -> Result<Answer, Answer> {
        let (grant, identity) = (&open.claims.video, open.claims.identity());
        controller.check_claims(now, &open.claims)?;
        let (room, identity) = (grant.room.clone(), identity.to_owned());
        let slots = open.offer.slots();
        let present = match open.protocol {
            Protocol::Whip => Vec::new(),
            Protocol::Whep => participants(controller, now, &room),
        };
        let chosen = choose(&present, &open.wanted, &[], slots);
        if open.protocol == Protocol::Whep && chosen.is_empty() {
            return Err(Answer::nothing_to_play());
        }
        let viewer_of = open.token.is_none().then_some(room.as_str());
        let held = self.enter(controller, now, connection, open.address, viewer_of, out)?;
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
        };
        let mut inputs = vec![Input::Join {
            connection,
            join: Box::new(join),
        }];
        if !chosen.is_empty() {
            inputs.push(subscription(connection, chosen.clone(), true));
        }
        inputs.push(offer(connection, 1, description.clone(), left_out));
        let mut told = Told::default();
        for input in inputs {
            self.pass(controller, now, connection, input, &mut told, out);
        }
        match accept(open.protocol, &description, &mut told) {
            Ok(accepted) => {
                let session = Session {
                    protocol: open.protocol,
                    sid: accepted.sid,
                    room,
                    held,
                    identity,
                    token: open.token,
                    offer: description,
                    offers: 1,
                    tag: accepted.tag,
                    wanted: open.wanted,
                    slots,
                    publishers: publishers(&present, &chosen),
                    chosen,
                };
                let mut location = Route::of_session(session.protocol, &session.sid);
                if let Some(token) = session.token.as_ref().filter(|_| open.has_token_in_url) {
                    // A client that cannot set a header asks for this URL as it is.
                    location += &format!("?access_token={}", token.text());
                }
                let answer = Answer::of(201, SDP, accepted.sdp)
                    .with("location", location)
                    .with("etag", quoted(&session.tag))
                    .with("accept-patch", FRAGMENT)
                    .with_ice_servers(&accepted.ice_servers);
                self.remember(connection, session);
                Ok(answer)
            }
            Err(refusal) => {
                self.leave(&room, held);
                let mut outputs = Vec::new();
                if !told.is_over {
                    controller.handle(now, request(connection, Request::Leave), &mut outputs);
                }
                controller.handle(now, Input::Ended { connection }, &mut outputs);
                self.follow(controller, now, &mut outputs);
                out.append(&mut outputs);
                Err(refusal)
            }
        }
    }

    fn patch(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        patch: &Patch,
        out: &mut Vec<Output>,
    ) -> Result<Answer, Answer> {
        let connection = self.find(patch.protocol, &patch.session, patch.bearer.as_ref())?;
        let session = self.sessions.get_mut(&connection).ok_or_else(Answer::no_session)?;
        let condition = patch.if_match.as_ref();
        if condition.is_some_and(|condition| !condition.holds(&session.tag)) {
            return Err(Answer::refusal(412, "the ICE session is another one"));
        }
        // Candidates are of no use: we only answer checks, and learn addresses from them. So they
        // need no condition, which some clients leave out.
        let Some(ice) = patch.fragment.ice.as_ref().filter(|ice| session.is_restarted_by(ice)) else {
            return Ok(Answer::empty(204));
        };
        // Without one, late candidates of the ICE session before would restart it.
        if condition.is_none() {
            return Err(Answer::refusal(428, "a restart of ICE needs an If-Match header"));
        }
        let before = session.offer.clone();
        session.restart(ice);
        let input = session.offer_again(connection);
        let mut told = Told::default();
        self.pass(controller, now, connection, input, &mut told, out);
        let session = self.sessions.get_mut(&connection).ok_or_else(Answer::no_session)?;
        let sdp = told.answer.map(|answer| answer.sdp).unwrap_or_default();
        let Some(tag) = tag(&sdp) else {
            session.offer = before;
            return Err(Answer::refusal(422, "ICE cannot be restarted"));
        };
        session.tag = tag;
        Ok(Answer::of(200, FRAGMENT, fragment::of_description(&sdp)).with("etag", quoted(&session.tag)))
    }

    fn delete(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        delete: &Delete,
        out: &mut Vec<Output>,
    ) -> Result<Answer, Answer> {
        let connection = self.find(delete.protocol, &delete.session, delete.bearer.as_ref())?;
        self.end(controller, now, connection, out);
        Ok(Answer::empty(200))
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

    /// Passes an input on, and takes in what the controller tells its session.
    fn pass(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        about: ConnectionId,
        input: Input,
        told: &mut Told,
        out: &mut Vec<Output>,
    ) {
        let mut outputs = Vec::new();
        controller.handle(now, input, &mut outputs);
        outputs.iter().for_each(|output| told.take(about, output));
        self.follow(controller, now, &mut outputs);
        out.append(&mut outputs);
    }

    fn remember(&mut self, connection: ConnectionId, session: Session) {
        self.by_sid.insert(session.sid.clone(), connection);
        self.sessions.insert(connection, session);
    }

    fn forget(&mut self, connection: ConnectionId) {
        let Some(session) = self.sessions.remove(&connection) else {
            return;
        };
        self.leave(&session.room, session.held);
        self.by_sid.remove(&session.sid);
    }

    /// The inputs that an output makes necessary.
    fn reactions(&mut self, controller: &mut Controller, now: Instant, output: &Output) -> Vec<Input> {
        match output {
            Output::Notify {
                connection,
                notification,
            } => self.react(controller, now, from_ref(connection), notification),
            Output::NotifyMany {
                connections,
                notification,
            } => self.react(controller, now, connections, notification),
            Output::End { connection, .. } if self.is_open(*connection) => {
                self.forget(*connection);
                vec![Input::Ended {
                    connection: *connection,
                }]
            }
            Output::Room(event) => {
                if let RoomChange::ParticipantJoined(info) = &event.change {
                    self.settle(&info.sid);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The inputs that a notification to participants of one room makes necessary.
    fn react(
        &mut self,
        controller: &mut Controller,
        now: Instant,
        connections: &[ConnectionId],
        notification: &Notification,
    ) -> Vec<Input> {
        let (mut inputs, mut present) = (Vec::new(), None);
        for connection in connections {
            let Some(session) = self.sessions.get_mut(connection) else {
                continue;
            };
            match notification {
                // The client does not offer again, so its offer is used again.
                Notification::SectionsNeeded { .. } => inputs.push(session.offer_again(*connection)),
                Notification::Participants(news) if session.concerns(news) => {
                    // Looked up once for all players of the room.
                    let present = present.get_or_insert_with(|| participants(controller, now, &session.room));
                    inputs.append(&mut session.choose_again(*connection, present));
                }
                _ => {}
            }
        }
        inputs
    }
}

/// The participants of a room, in the order they joined; none where there is no room.
fn participants(controller: &mut Controller, now: Instant, room: &str) -> Vec<ParticipantSnapshot> {
    let request = AdminRequest::ListParticipants { room: room.to_owned() };
    let mut outputs = Vec::new();
    let question = Input::Admin {
        request_id: QUESTION,
        request,
    };
    controller.handle(now, question, &mut outputs);
    let replies = outputs.into_iter().filter_map(|output| match output {
        Output::Reply {
            request_id: QUESTION,
            reply: Ok(AdminReply::Participants(infos)),
        } => Some(infos),
        _ => None,
    });
    replies.flatten().collect()
}

#[cfg(test)]
mod tests;
