//! Whether somebody may join.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use access::{Claims, ParticipantKind};

use super::{Controller, placement};
use crate::context::Core;
use crate::ids::{ParticipantKey, RoomKey};
use crate::limits::ROOMS_MAX;
use crate::participant::{is_dependent, texts_len};
use crate::room::Room;
use crate::{Counter, EndAction, EndReason, NoNode, Output};

/// Why nobody can join as the rooms are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// No media node takes the participant.
    NoMediaNode(NoNode),
    /// The server is about to end, and serves only those who are here.
    Draining,
    /// There is no such room, and joining does not create it.
    NoSuchRoom,
    /// There are as many rooms as this server takes.
    TooManyRooms,
    /// The room is full.
    RoomFull,
    /// The token is an agent's, and its identity that of somebody in the room who is none.
    IdentityTaken,
    /// There are as many rooms as the token's API key may have.
    TooManyRoomsOfKey,
    /// There are as many participants as the token's API key may have.
    TooManyParticipantsOfKey,
    /// The room stores no more for its participants, and this one brings more than its share.
    StoreFull,
    /// The identity comes in more often than a room of this size permits.
    TooOften,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMediaNode(why) => return why.fmt(f),
            Self::Draining => "the server is shutting down",
            Self::NoSuchRoom => "requested room does not exist",
            Self::TooManyRooms => "this server has as many rooms as it takes",
            Self::RoomFull => "the room is full",
            Self::IdentityTaken => "somebody in the room has this identity",
            Self::TooManyRoomsOfKey => "this API key has as many rooms as it may have",
            Self::TooManyParticipantsOfKey => "this API key has as many participants as it may have",
            Self::StoreFull => "the room stores no more for its participants",
            Self::TooOften => "this identity joins too often",
        })
    }
}

impl std::error::Error for JoinError {}

impl Controller {
    /// Whether somebody of this identity could join a room as the rooms are now, with a token of
    /// this API key. A front end asks before it takes a connection, while it can still refuse one
    /// with an answer that says why.
    ///
    /// Errors: any [`JoinError`].
    pub fn check_admission(&self, api_key: &str, room: &str, identity: &str, creates: bool) -> Result<(), JoinError> {
        self.check(api_key, room, identity, creates, None)
    }

    /// Whether a room that is there takes a newcomer with these texts.
    ///
    /// Errors: [`JoinError::StoreFull`] and [`JoinError::TooOften`].
    fn check_size(&self, now: Instant, room: &str, identity: &str, texts_len: usize) -> Result<(), JoinError> {
        let found = self.named(room);
        match found {
            Some(room) if room.is_greeted_too_often(now, identity) => Err(JoinError::TooOften),
            Some(room) if !room.roster().takes_newcomer(identity, texts_len) => Err(JoinError::StoreFull),
            _ => Ok(()),
        }
    }

    /// The same for the bearer of a token, who may be an agent or a recorder: they do not count for
    /// `max_participants`. In a full room somebody may join for whom another can be removed.
    ///
    /// Errors: any [`JoinError`].
    pub fn check_claims(&self, now: Instant, claims: &Claims) -> Result<(), JoinError> {
        self.check_texts(now, claims, &claims.metadata, &claims.attributes)
    }

    /// The same for one that brings other texts than its token has.
    ///
    /// Errors: any [`JoinError`].
    pub fn check_texts(
        &self,
        now: Instant,
        claims: &Claims,
        metadata: &str,
        attributes: &BTreeMap<String, String>,
    ) -> Result<(), JoinError> {
        let (room, creates) = (&claims.video.room, claims.video.room_create);
        self.check(&claims.iss, room, claims.identity(), creates, Some((now, claims)))?;
        let texts_len = texts_len(&claims.name, metadata, attributes);
        self.check_size(now, room, claims.identity(), texts_len)
    }

    /// The kind of the participant of a room that has an identity.
    pub fn kind_of(&self, room: &str, identity: &str) -> Option<ParticipantKind> {
        let found = self.find(room, identity)?;
        let participant = self.rooms.get(&found.room)?.roster().get(found.participant)?;
        Some(participant.authorization.claims.participant_kind())
    }

    /// Removes participants who have not connected, where there would be no place for somebody who
    /// joins.
    pub(super) fn make_room(&mut self, now: Instant, claims: &Claims, out: &mut Vec<Output>) {
        let key = self.by_name.get(&claims.video.room).copied();
        let room = key.and_then(|key| self.rooms.get(&key));
        // A participant of the same identity is replaced.
        if room.is_some_and(|room| room.roster().by_identity(claims.identity()).is_some()) {
            return;
        }
        let idle = room.and_then(|room| {
            let is_full = room.roster().is_full(&self.core.config, is_dependent(claims));
            is_full
                .then(|| room.roster().unconnected(now, is_dependent(claims)))
                .flatten()
        });
        if let (Some(key), Some(idle)) = (key, idle) {
            self.turn_out(now, key, idle, out);
        }
        let Core { config, usage, .. } = &self.core;
        if !usage.takes_participant(&config.quotas, &claims.iss)
            && let Some((key, idle)) = self.unconnected_of_key(now, &claims.iss)
        {
            self.turn_out(now, key, idle, out);
        }
    }

    fn turn_out(&mut self, now: Instant, key: RoomKey, participant: ParticipantKey, out: &mut Vec<Output>) {
        self.in_room(now, key, out, |room, ctx| {
            ctx.count(Counter::NeverConnected);
            room.dismiss(ctx, participant, EndReason::JoinFailure, EndAction::Reconnect);
        });
    }

    /// The oldest participant of an API key whose media should have connected.
    fn unconnected_of_key(&self, now: Instant, api_key: &str) -> Option<(RoomKey, ParticipantKey)> {
        let everybody = self.rooms.iter().flat_map(|(key, room)| {
            let participants = room.roster().all();
            participants.map(|participant| (*key, participant))
        });
        let of_key = everybody.filter(|(_, participant)| participant.authorization.api_key == api_key);
        let idle = of_key.filter_map(|(key, participant)| Some((participant.idle_since(now)?, key, participant.key)));
        idle.min().map(|(_, key, participant)| (key, participant))
    }

    fn check(
        &self,
        api_key: &str,
        room: &str,
        identity: &str,
        creates: bool,
        joining: Option<(Instant, &Claims)>,
    ) -> Result<(), JoinError> {
        let Core { config, usage, .. } = &self.core;
        let is_dependent = joining.is_some_and(|(_, claims)| is_dependent(claims));
        let gives_way =
            |room: &Room| joining.is_some_and(|(now, _)| room.roster().unconnected(now, is_dependent).is_some());
        let found = self.named(room);
        match found {
            Some(room) if joining.is_some_and(|(_, claims)| room.roster().is_taken(claims)) => {
                return Err(JoinError::IdentityTaken);
            }
            // The participant comes back, or is replaced.
            Some(room) if room.roster().by_identity(identity).is_some() => return Ok(()),
            _ => placement::check(self, room, identity).map_err(JoinError::NoMediaNode)?,
        }
        match found {
            _ if self.core.is_draining => return Err(JoinError::Draining),
            Some(room) if room.roster().is_full(config, is_dependent) && !gives_way(room) => {
                return Err(JoinError::RoomFull);
            }
            Some(_) => {}
            None if !config.auto_create && !creates => return Err(JoinError::NoSuchRoom),
            None if self.rooms.len() >= ROOMS_MAX => return Err(JoinError::TooManyRooms),
            None if !usage.takes_room(&config.quotas, api_key)
                || !usage.leaves_rooms(self.rooms.len(), config.keys.len(), api_key) =>
            {
                return Err(JoinError::TooManyRoomsOfKey);
            }
            None => {}
        }
        let of_key = || joining.and_then(|(now, _)| self.unconnected_of_key(now, api_key));
        match usage.takes_participant(&config.quotas, api_key) || of_key().is_some() {
            true => Ok(()),
            false => Err(JoinError::TooManyParticipantsOfKey),
        }
    }
}
