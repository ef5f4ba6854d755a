//! Whether somebody may join.

use std::fmt;

use access::Claims;

use super::Controller;
use crate::context::Core;
use crate::limits::ROOMS_MAX;
use crate::participant::is_dependent;

/// Why nobody can join as the rooms are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// No media node has said where it is yet.
    NoMediaNode,
    /// The server is about to end, and serves only those who are here.
    Draining,
    /// There is no such room, and joining does not create it.
    NoSuchRoom,
    /// There are as many rooms as this server takes.
    TooManyRooms,
    /// The room is full.
    RoomFull,
    /// There are as many rooms as the token's API key may have.
    TooManyRoomsOfKey,
    /// There are as many participants as the token's API key may have.
    TooManyParticipantsOfKey,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMediaNode => "no media node is ready",
            Self::Draining => "the server is shutting down",
            Self::NoSuchRoom => "requested room does not exist",
            Self::TooManyRooms => "this server has as many rooms as it takes",
            Self::RoomFull => "the room is full",
            Self::TooManyRoomsOfKey => "this API key has as many rooms as it may have",
            Self::TooManyParticipantsOfKey => "this API key has as many participants as it may have",
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
        self.check(api_key, room, identity, creates, false)
    }

    /// The same for the bearer of a token, who may be an agent or a recorder: they do not count for
    /// `max_participants`.
    ///
    /// Errors: any [`JoinError`].
    pub fn check_claims(&self, claims: &Claims) -> Result<(), JoinError> {
        let (room, creates) = (&claims.video.room, claims.video.room_create);
        self.check(&claims.iss, room, claims.identity(), creates, is_dependent(claims))
    }

    fn check(
        &self,
        api_key: &str,
        room: &str,
        identity: &str,
        creates: bool,
        is_dependent: bool,
    ) -> Result<(), JoinError> {
        let Core { config, usage, .. } = &self.core;
        if self.core.node.is_none() {
            return Err(JoinError::NoMediaNode);
        }
        let found = self.by_name.get(room).and_then(|key| self.rooms.get(key));
        match found {
            // The participant is replaced.
            Some(room) if room.by_identity(identity).is_some() => return Ok(()),
            _ if self.core.is_draining => return Err(JoinError::Draining),
            Some(room) if room.is_full(config, is_dependent) => return Err(JoinError::RoomFull),
            Some(_) => {}
            None if !config.auto_create && !creates => return Err(JoinError::NoSuchRoom),
            None if self.rooms.len() >= ROOMS_MAX => return Err(JoinError::TooManyRooms),
            None if !usage.takes_room(&config.quotas, api_key) => return Err(JoinError::TooManyRoomsOfKey),
            None => {}
        }
        match usage.takes_participant(&config.quotas, api_key) {
            true => Ok(()),
            false => Err(JoinError::TooManyParticipantsOfKey),
        }
    }
}
