//! A participant, as others are told of it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

use access::{KindDetail, ParticipantKind, Permission};

use super::{DataTrackInfo, EndReason, TrackInfo, text_len};

/// A participant.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticipantInfo {
    /// The id of its stay: one that joins again has another.
    pub sid: String,
    /// Its identity.
    pub identity: String,
    /// How far it has come.
    pub state: ParticipantState,
    /// The tracks that others may have.
    pub tracks: Vec<TrackInfo>,
    /// The data tracks that others may subscribe to.
    pub data_tracks: Vec<DataTrackInfo>,
    /// The application's metadata.
    pub metadata: String,
    /// When it joined, since 1970-01-01 UTC.
    pub joined: Duration,
    /// Its name for people.
    pub name: String,
    /// Rises with each change, so that what is told out of order can be put in order.
    pub version: u32,
    /// Its permission.
    pub permission: Permission,
    /// It publishes, or has since joining.
    pub is_publisher: bool,
    /// Its kind.
    pub kind: ParticipantKind,
    /// Details of its kind.
    pub kind_details: Vec<KindDetail>,
    /// The application's attributes of it, by name.
    pub attributes: BTreeMap<String, String>,
    /// The version of its client's protocol between clients. Passed through.
    pub client_protocol: i32,
    /// Its client's capabilities. Passed through.
    pub capabilities: Vec<ClientCapability>,
    /// Why it left, once it has.
    pub disconnect_reason: Option<EndReason>,
}

/// How far a participant has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParticipantState {
    /// It is being let in.
    Joining,
    /// It is in, and its media is not connected yet.
    Joined,
    /// Its media is connected.
    Active,
    /// It has left.
    Disconnected,
}

/// A capability of a client that others may want to know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientCapability {
    /// Nothing: the value that stands for none.
    Unused,
    /// It reads what is behind the payload of packets.
    PacketTrailer,
    /// It reads compressed data streams.
    CompressionDeflateRaw,
}

/// How good a connection is, in the words that clients show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionQuality {
    /// Speech is hard to understand.
    Poor,
    /// Something is missing now and then.
    Good,
    /// Nothing is missing.
    Excellent,
}

impl ParticipantInfo {
    /// About how many bytes it takes to tell of the participant. Budgets of updates count in these.
    pub(crate) fn told_len(&self) -> usize {
        const NUMBERS: usize = 56;
        let texts = [&self.sid, &self.identity, &self.metadata, &self.name];
        let texts: usize = texts.into_iter().map(|text| text_len(text)).sum();
        let attributes = self.attributes.iter();
        let attributes: usize = attributes
            .map(|(name, value)| 4 + text_len(name) + text_len(value))
            .sum();
        let tracks: usize = self.tracks.iter().map(TrackInfo::told_len).sum();
        let data_tracks: usize = self.data_tracks.iter().map(DataTrackInfo::told_len).sum();
        NUMBERS + texts + attributes + tracks + data_tracks
    }
}
