//! Participants in a form that another process can go on with.
//!
//! A controller that takes over a call needs to know what the one before it knew. Its clients are
//! without a signalling connection then and come back, as after any other break. So everything that
//! only matters between two messages is left out: deadlines, offers without an answer, budgets,
//! measurements, and the packets that are kept for others. A participant as others are told of it
//! is another idea: [`ParticipantInfo`](crate::ParticipantInfo).

mod restore;
mod save;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use access::{Claims, Permission};
use serde::{Deserialize, Serialize};

use crate::negotiation::SavedPeer;
use crate::own_data::{EndpointPlace, OwnDataTracks};
use crate::participant::TrackPermissions;
use crate::subscription::{Settings, SubscriptionState};
use crate::track::demand::Demand;
use crate::{BlobKey, ClientTraits, IceProtocol, ParticipantState, PeerMode, TrackInfo, UpdateTrackPermissions};

/// A participant in a form that another process can go on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedParticipant {
    /// The id of its stay.
    pub sid: String,
    /// The identity in its token.
    pub identity: String,
    /// Its name for people.
    pub name: String,
    /// The metadata that the application gave it.
    pub metadata: String,
    /// The application's attributes of it, by name.
    pub attributes: BTreeMap<String, String>,
    /// How far it has come.
    pub state: ParticipantState,
    /// When it joined, since 1970-01-01 UTC.
    pub joined: Duration,
    /// Rises with each change that others are told of.
    pub version: u32,
    /// The claims of its last token, without its texts.
    pub claims: Claims,
    /// Its permission, which administrators may have changed since.
    pub permission: Permission,
    /// The API key that it counts for.
    pub api_key: String,
    /// Special needs of its client.
    pub traits: ClientTraits,
    /// The protocol its client reaches media by.
    pub protocol: IceProtocol,
    /// Which of the node's UDP ports its client uses, modulo the number of ports.
    pub port_index: usize,
    /// The media node of its transports.
    pub node: u64,
    /// How many peer connections its client uses.
    pub mode: PeerMode,
    /// The peer connection it publishes on.
    pub publisher: Option<SavedPeer>,
    /// The peer connection it receives on, if that is another one.
    pub subscriber: Option<SavedPeer>,
    /// The tracks it publishes, in the order they were announced.
    pub tracks: Vec<SavedTrack>,
    /// It publishes, or has since joining.
    pub has_published: bool,
    /// The receivers that its tracks are for.
    pub(crate) track_permissions: TrackPermissions,
    /// It has stated once which receivers its tracks are for.
    pub track_permissions_stated: bool,
    /// The permissions that wait until others may hear of it again.
    pub postponed_track_permissions: Option<UpdateTrackPermissions>,
    /// It wants each track without asking.
    pub auto_subscribe: bool,
    /// Tracks it asked for, or asked not to have, by the track's id.
    pub wishes: BTreeMap<String, bool>,
    /// Tracks of others that it was told it may not have, as the node knows them.
    pub denied: BTreeSet<u64>,
    /// The tracks of others that it receives or waits for.
    pub subscriptions: Vec<SavedSubscription>,
    /// The data tracks it publishes and receives.
    pub(crate) data_tracks: OwnDataTracks,
    /// The data blobs it stores.
    pub blobs: Vec<(BlobKey, Vec<u8>)>,
    /// The number of its last reliable packet.
    pub last_sequence: u32,
    /// The place of its endpoint among those that nodes have.
    #[serde(default)]
    pub endpoint: EndpointPlace,
}

/// A published track in a form that another process can go on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTrack {
    /// The track as the node knows it.
    pub id: u64,
    /// The track as clients are told of it.
    pub info: TrackInfo,
    /// The client's name for it.
    pub cid: String,
    /// It has arrived, on a media section of the peer connection it is published on.
    pub has_arrived: bool,
    /// Its second codec, if it was announced with one.
    pub backup: Option<SavedBackup>,
    /// Its publisher has been told that somebody receives it.
    pub subscribed: bool,
    pub(crate) demand: Demand,
}

/// The second codec of a track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedBackup {
    /// The track in this codec, as the node knows it.
    pub id: u64,
    /// The codec that receivers get.
    #[serde(with = "crate::forms::codec")]
    pub codec: wire::Codec,
    /// The client's name for it; `None` until it is announced.
    pub cid: Option<String>,
    /// It has arrived in this codec.
    pub has_arrived: bool,
}

/// A subscription in a form that another process can go on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedSubscription {
    /// The subscription as the node knows it.
    pub id: u64,
    /// The track as the node knows it.
    pub track: u64,
    /// Whether the track is audio or video.
    #[serde(with = "crate::forms::media_kind")]
    pub kind: wire::MediaKind,
    pub(crate) settings: Settings,
    pub(crate) state: SubscriptionState,
    /// The receiver's downlink does not carry it.
    pub paused: bool,
}

/// Why a controller cannot go on with the participants of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// It has a room of this name.
    RoomExists,
    /// It has as many rooms as it takes.
    TooManyRooms,
    /// A session description cannot be read.
    Description,
    /// A track has arrived, and no media section carries it.
    NoSection {
        /// The track by the id that clients know.
        track_sid: String,
    },
    /// There are more participants than a room may have, or longer lists than a participant may
    /// have.
    TooLong,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoomExists => f.write_str("there is a room of this name"),
            Self::TooManyRooms => f.write_str("this server has as many rooms as it takes"),
            Self::Description => f.write_str("a session description cannot be read"),
            Self::NoSection { track_sid } => write!(f, "no media section carries track {track_sid}"),
            Self::TooLong => f.write_str("more participants or longer lists than there may be"),
        }
    }
}

impl std::error::Error for RestoreError {}
