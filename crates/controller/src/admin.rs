//! Requests of administrators, and the answers.
//!
//! Source: LiveKit's `RoomService`, version 1.13 of the server.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use access::Permission;
use bytes::Bytes;

use crate::limits::{RPC_TIMEOUT, RPC_TIMEOUT_MAX};
use crate::{ParticipantInfo, ParticipantSnapshot, RoomInfo, RpcError, TrackInfo};

/// One request of an administrator.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminRequest {
    /// Lists rooms: all of them, or those with these names.
    ListRooms {
        /// The names; empty is all.
        names: Vec<String>,
    },
    /// Creates a room, or changes how long one stays and how many it takes.
    CreateRoom(CreateRoom),
    /// Ends a room; everybody in it is told.
    DeleteRoom {
        /// Its name.
        room: String,
    },
    /// Lists the participants of a room, hidden ones as well. A room that is not there has none.
    ListParticipants {
        /// The room's name.
        room: String,
    },
    /// Asks for one participant.
    GetParticipant {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
    },
    /// Puts a participant out for good.
    RemoveParticipant {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
    },
    /// Mutes or unmutes a participant's track; its client is told to.
    MuteTrack {
        /// The room's name.
        room: String,
        /// The publisher.
        identity: String,
        /// The track.
        track_sid: String,
        /// Whether nothing is sent from now on.
        muted: bool,
    },
    /// Changes what is said of a participant, and what it may do.
    UpdateParticipant(UpdateParticipant),
    /// Changes what is said of a room; everybody in it is told.
    UpdateRoomMetadata {
        /// The room's name.
        room: String,
        /// Its metadata from now on.
        metadata: String,
    },
    /// Has a participant receive tracks, or not receive them.
    UpdateSubscriptions(UpdateSubscriptions),
    /// Sends a message to participants of a room.
    SendData(SendData),
    /// Calls a method of a participant's application.
    PerformRpc(PerformRpc),
}

/// A room that is to be there. One that is there already stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateRoom {
    /// The API key that it counts for if it is new. A room that joining creates counts for the key
    /// of the token.
    pub api_key: String,
    /// Its name.
    pub name: String,
    /// How long it stays while nobody has joined; `None` as the operator has it.
    pub empty_timeout: Option<Duration>,
    /// How long it stays after the last participant left; `None` as the operator has it.
    pub departure_timeout: Option<Duration>,
    /// The most participants it takes; `None` as the operator has it, and never more than that.
    pub max_participants: Option<u32>,
    /// Its metadata.
    pub metadata: String,
    /// The agents that it starts with, if it is new.
    pub agents: Vec<AgentRequest>,
}

/// A request for agents of one name. The controller passes it on with
/// [`RoomChange::Started`](crate::RoomChange::Started).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRequest {
    /// The name that workers register under; empty is a name as well.
    pub name: String,
    /// The application's metadata, for the agent.
    pub metadata: String,
    /// The deployment that workers register under.
    pub deployment: String,
    /// The application's attributes, for the agent.
    pub attributes: BTreeMap<String, String>,
    /// A job whose agent fails is not offered again.
    pub never_restart: bool,
}

/// A change of a participant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateParticipant {
    /// The room's name.
    pub room: String,
    /// The identity.
    pub identity: String,
    /// Its name for people; empty leaves it as it is.
    pub name: String,
    /// Its metadata; empty leaves it as it is.
    pub metadata: String,
    /// Attributes that change; those with an empty value are removed.
    pub attributes: BTreeMap<String, String>,
    /// Its permission from now on; `None` leaves it as it is.
    pub permission: Option<Permission>,
}

/// Tracks that a participant is to receive, or not to receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateSubscriptions {
    /// The room's name.
    pub room: String,
    /// The receiver, by its identity.
    pub identity: String,
    /// The tracks.
    pub track_sids: Vec<String>,
    /// Whether they are sent to it.
    pub subscribe: bool,
}

/// A message to participants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendData {
    /// The room's name.
    pub room: String,
    /// Its bytes.
    pub payload: Bytes,
    /// It has to arrive, in order.
    pub reliable: bool,
    /// Receivers by identity.
    pub destinations: Vec<String>,
    /// Receivers by id. With neither it goes to everybody.
    pub destination_sids: Vec<String>,
    /// Its topic.
    pub topic: Option<String>,
    /// A number that tells messages of one content apart: 16 bytes, or none.
    pub nonce: Vec<u8>,
}

/// A call of a method of a participant's application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerformRpc {
    /// The room's name.
    pub room: String,
    /// The identity.
    pub identity: String,
    /// The method's name.
    pub method: String,
    /// Its argument.
    pub payload: String,
    /// How long the answer may take, up to [`RPC_TIMEOUT_MAX`]; `None` is [`RPC_TIMEOUT`].
    pub response_timeout: Option<Duration>,
}

impl AdminRequest {
    /// How long the answer may take beyond what the controller needs.
    pub fn takes(&self) -> Duration {
        match self {
            Self::PerformRpc(call) => call.response_timeout.unwrap_or(RPC_TIMEOUT).min(RPC_TIMEOUT_MAX),
            _ => Duration::ZERO,
        }
    }

    /// The room that it is about; `None` if it is about all.
    pub fn room(&self) -> Option<&str> {
        match self {
            Self::ListRooms { .. } => None,
            Self::CreateRoom(CreateRoom { name: room, .. })
            | Self::DeleteRoom { room }
            | Self::ListParticipants { room }
            | Self::GetParticipant { room, .. }
            | Self::RemoveParticipant { room, .. }
            | Self::MuteTrack { room, .. }
            | Self::UpdateParticipant(UpdateParticipant { room, .. })
            | Self::UpdateRoomMetadata { room, .. }
            | Self::UpdateSubscriptions(UpdateSubscriptions { room, .. })
            | Self::SendData(SendData { room, .. })
            | Self::PerformRpc(PerformRpc { room, .. }) => Some(room),
        }
    }
}

/// The answer to a request that was done.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminReply {
    /// Rooms, in the order of their names.
    Rooms(Vec<RoomInfo>),
    /// The room as it is now.
    Room(RoomInfo),
    /// Participants, in the order they joined.
    Participants(Vec<ParticipantSnapshot>),
    /// The participant as it is now.
    Participant(ParticipantInfo),
    /// The track as it is now.
    Track(TrackInfo),
    /// The answer of a participant's application.
    RpcResult(String),
    /// It is done.
    Done,
}

impl AdminReply {
    /// About how many bytes it takes to tell.
    pub fn told_len(&self) -> usize {
        match self {
            Self::Rooms(rooms) => rooms.iter().map(RoomInfo::told_len).sum(),
            Self::Room(room) => room.told_len(),
            Self::Participants(participants) => participants.iter().map(|participant| participant.told_len()).sum(),
            Self::Participant(participant) => participant.told_len(),
            Self::Track(track) => track.told_len(),
            Self::RpcResult(text) => text.len(),
            Self::Done => 0,
        }
    }
}

/// Why a request was not done. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminError {
    /// There is no room of this name.
    RoomNotFound,
    /// There is no participant of this identity in a room of this name.
    ParticipantNotFound,
    /// The participant has no track of this id.
    TrackNotFound,
    /// The server is about to end, and creates no room.
    Draining,
    /// Another controller has the room from now on.
    Moved,
    /// The room stores no more for its participants.
    StoreFull,
    /// There are as many rooms as this server takes.
    TooManyRooms,
    /// There are as many rooms as the administrator's API key may have.
    TooManyRoomsOfKey,
    /// There are as many calls to participants of the room as it takes.
    TooManyCalls,
    /// A call to a participant failed.
    Rpc(RpcError),
    /// The operator does not let administrators unmute.
    RemoteUnmuteDisabled,
    /// The request cannot be meant: what is wrong with it, for people.
    InvalidArgument(&'static str),
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rpc(error) => return error.fmt(f),
            Self::Moved => "the room moves to another controller",
            Self::TooManyCalls => "too many calls to participants of this room",
            Self::RoomNotFound => "requested room does not exist",
            Self::ParticipantNotFound => "participant does not exist",
            Self::TrackNotFound => "track is not found",
            Self::Draining => "the server is shutting down",
            Self::StoreFull => "the room stores no more for its participants",
            Self::TooManyRooms => "this server has as many rooms as it takes",
            Self::TooManyRoomsOfKey => "this API key has as many rooms as it may have",
            Self::RemoteUnmuteDisabled => "remote unmute not enabled",
            Self::InvalidArgument(what) => what,
        })
    }
}

impl std::error::Error for AdminError {}
