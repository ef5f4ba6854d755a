//! Events of a room for those outside of it: a front end passes them to an application's server.

use std::time::Duration;

use crate::{AgentRequest, ParticipantInfo, RoomInfo, TrackInfo};

/// One event of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomEvent {
    /// Its id, by which receivers recognise one that they are told of again.
    pub id: String,
    /// The room after it.
    pub room: RoomInfo,
    /// When it happened, since 1970-01-01 UTC.
    pub at: Duration,
    /// The change.
    pub change: RoomChange,
}

/// A change in a room.
#[derive(Clone, Debug, PartialEq)]
pub enum RoomChange {
    /// The room was created. The request that created it asked for these agents.
    Started(Vec<AgentRequest>),
    /// The room was removed.
    Finished,
    /// The media of a participant connected for the first time.
    ParticipantJoined(ParticipantInfo),
    /// A participant whose media had connected is gone.
    ParticipantLeft(ParticipantInfo),
    /// A participant is gone whose media never connected.
    ParticipantAborted(ParticipantInfo),
    /// A track arrived for the first time, or had arrived when its publisher joined.
    TrackPublished(Publisher, Box<TrackInfo>),
    /// A track that had arrived is over.
    TrackUnpublished(Publisher, Box<TrackInfo>),
}

/// The publisher of a track, by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The id of its stay.
    pub sid: String,
    /// Its identity.
    pub identity: String,
}
