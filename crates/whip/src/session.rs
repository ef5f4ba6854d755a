//! One session: a participant whose client speaks by single requests.

use std::net::IpAddr;

use access::Claims;
use controller::{
    ConnectionId, Description, Input, LocalDescription, Notification, ParticipantInfo, ParticipantSnapshot, Request,
    UpdateSubscription,
};
use wire::sdp::{IceCredentials, LeftOut, SessionDescription};

use crate::bearer::Bearer;
use crate::choice::{Slots, Wanted, choose, publishers};
use crate::route::Protocol;
use crate::session_slots::Held;
use crate::token::Token;

/// An open session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) protocol: Protocol,
    /// The id of its participant.
    pub(crate) sid: String,
    pub(crate) room: String,
    pub(crate) held: Held,
    /// The address of its client, which has a share of the sessions.
    pub(crate) address: Option<IpAddr>,
    pub(crate) identity: String,
    /// The token that opened it; `None` for a viewer without one, whose session's path is known to
    /// nobody else.
    pub(crate) token: Option<Token>,
    /// The client's offer. It is offered again where the controller needs another, since clients
    /// offer once.
    pub(crate) offer: SessionDescription,
    /// The number of the last offer.
    pub(crate) offers: u32,
    /// The entity tag of the ICE session: our user fragment, which no other has.
    pub(crate) tag: String,
    /// The tracks that a player asks for.
    pub(crate) wanted: Wanted,
    pub(crate) slots: Slots,
    /// The tracks that a player gets, by their ids.
    pub(crate) chosen: Vec<String>,
    /// Their publishers, by the ids of the participants.
    pub(crate) publishers: Vec<String>,
}

impl Session {
    /// Whether a request with this token may act on the session.
    pub(crate) fn admits(&self, bearer: Option<&Bearer>) -> bool {
        let Some(token) = &self.token else { return true };
        let is_of = |claims: &Claims| claims.video.room == self.room && claims.identity() == self.identity;
        bearer.is_some_and(|bearer| bearer.token.is(token) || bearer.claims.as_deref().is_some_and(is_of))
    }

    /// Offers once more.
    pub(crate) fn offer_again(&mut self, connection: ConnectionId) -> Input {
        self.offers += 1;
        offer(connection, self.offers, self.offer.clone(), LeftOut::default())
    }

    /// Whether the client has restarted ICE by these credentials.
    pub(crate) fn is_restarted_by(&self, ice: &IceCredentials) -> bool {
        let mut known = self.offer.sections.iter().filter_map(|section| section.ice.as_ref());
        known.any(|known| known != ice)
    }

    /// Takes over the client's credentials of a new ICE session.
    pub(crate) fn restart(&mut self, ice: &IceCredentials) {
        for section in &mut self.offer.sections {
            if section.ice.is_some() {
                section.ice = Some(ice.clone());
            }
        }
    }

    /// Whether news of these participants may change what a player gets.
    pub(crate) fn concerns(&self, news: &[ParticipantSnapshot]) -> bool {
        let has_free = self.chosen.len() < self.slots.audios + self.slots.videos;
        let is_new = |info: &ParticipantInfo| {
            let mut tracks = info.tracks.iter();
            has_free && self.wanted.is_of(info) && tracks.any(|track| !self.chosen.contains(&track.sid))
        };
        let may = |info: &ParticipantInfo| self.publishers.contains(&info.sid) || is_new(info);
        self.protocol == Protocol::Whep && news.iter().any(|info| may(info))
    }

    /// Chooses again among the tracks of a room.
    pub(crate) fn choose_again(&mut self, connection: ConnectionId, room: &[ParticipantSnapshot]) -> Vec<Input> {
        let chosen = choose(room, &self.wanted, &self.chosen, self.slots);
        let before = std::mem::replace(&mut self.chosen, chosen);
        self.publishers = publishers(room, &self.chosen);
        let is_there = |sid: &String| room.iter().flat_map(|info| &info.tracks).any(|track| track.sid == *sid);
        let ended = before.iter().filter(|sid| !self.chosen.contains(*sid) && is_there(sid));
        let begun = self.chosen.iter().filter(|sid| !before.contains(*sid));
        let changes = [
            (ended.cloned().collect::<Vec<_>>(), false),
            (begun.cloned().collect(), true),
        ];
        let changes = changes.into_iter().filter(|(sids, _)| !sids.is_empty());
        changes
            .map(|(sids, subscribe)| subscription(connection, sids, subscribe))
            .collect()
    }
}

/// An offer of a session's client.
pub(crate) fn offer(connection: ConnectionId, id: u32, description: SessionDescription, left_out: LeftOut) -> Input {
    let read = Ok((description, left_out));
    request(connection, Request::Offer(Description { id, read }))
}

/// A player asks for tracks, or no longer.
pub(crate) fn subscription(connection: ConnectionId, track_sids: Vec<String>, subscribe: bool) -> Input {
    request(
        connection,
        Request::UpdateSubscription(UpdateSubscription { track_sids, subscribe }),
    )
}

pub(crate) fn request(connection: ConnectionId, request: Request) -> Input {
    Input::Request {
        connection,
        request: Box::new(request),
    }
}

/// The controller's words to one session while a request of it is carried out.
#[derive(Debug, Default)]
pub(crate) struct SessionUpdates {
    /// The id of its participant, and the STUN and TURN servers.
    pub(crate) joined: Option<(String, Vec<controller::IceServer>)>,
    /// The answer to its offer.
    pub(crate) answer: Option<LocalDescription>,
    /// One of its tracks may not be published.
    pub(crate) is_refused: bool,
    /// A track cannot be decoded.
    pub(crate) is_undecodable: bool,
    /// The session is over.
    pub(crate) is_over: bool,
}

impl SessionUpdates {
    /// Takes in what the session is told.
    pub(crate) fn take(&mut self, notification: &Notification) {
        match notification {
            Notification::Joined(joined) => {
                self.joined = Some((joined.participant.sid.clone(), joined.server.ice_servers.clone()));
            }
            Notification::Answer(answer) => self.answer = Some(answer.clone()),
            Notification::Refused { .. } => self.is_refused = true,
            Notification::SubscriptionFailed { .. } => self.is_undecodable = true,
            Notification::Ended { .. } => self.is_over = true,
            _ => {}
        }
    }
}
