//! The data that a participant sends, stores and receives.

use serde::{Deserialize, Serialize};

mod author;
mod blobs;
mod packets;
mod tracks;

pub use self::author::MessageAuthor;
pub(crate) use self::author::message_rights;
pub(crate) use self::blobs::Blobs;
pub(crate) use self::packets::DataState;
pub(crate) use self::tracks::OwnDataTracks;

/// The place of a participant's endpoint among those of its room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPlace {
    /// The transport that names the endpoint.
    pub transport: u64,
    /// The number that nodes are told.
    pub number: u64,
}

/// The data that a participant sends, stores and receives.
pub(crate) struct OwnData {
    pub(crate) packets: DataState,
    pub(crate) blobs: Blobs,
    pub(crate) tracks: OwnDataTracks,
    pub(crate) endpoint: EndpointPlace,
}

impl OwnData {
    /// `wants_all_tracks` is whether it subscribes to each data track without asking.
    pub(crate) fn new(wants_all_tracks: bool) -> Self {
        Self {
            packets: DataState::default(),
            blobs: Blobs::default(),
            tracks: OwnDataTracks::new(wants_all_tracks),
            endpoint: EndpointPlace::default(),
        }
    }
}
