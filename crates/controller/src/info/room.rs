//! A room, as those in it are told of it.

use std::time::Duration;

use super::IceServer;

/// A room.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomInfo {
    /// Its id: a room of the same name that comes later has another.
    pub sid: String,
    /// Its name.
    pub name: String,
    /// How long it stays while nobody has joined.
    pub empty_timeout: Duration,
    /// How long it stays after the last participant left.
    pub departure_timeout: Duration,
    /// The most participants it takes.
    pub max_participants: u32,
    /// When it was created, since 1970-01-01 UTC.
    pub created: Duration,
    /// The application's metadata.
    pub metadata: String,
    /// Participants, hidden ones too, agents and recorders apart.
    pub num_participants: u32,
    /// Participants that publish, or have since joining.
    pub num_publishers: u32,
    /// Somebody records it.
    pub active_recording: bool,
}

impl RoomInfo {
    /// About how many bytes it takes to tell of the room.
    pub(crate) fn told_len(&self) -> usize {
        const NUMBERS: usize = 256;
        NUMBERS + self.name.len() + self.metadata.len()
    }
}

/// The server, as a client is told of it when it joins or resumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// STUN and TURN servers for the client.
    pub ice_servers: Vec<IceServer>,
    /// Whether the client is to reach media by TURN servers only.
    pub relay_only: bool,
    /// The region of the server.
    pub region: String,
    /// The name of the server among others.
    pub node_id: String,
}
