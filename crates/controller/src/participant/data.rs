//! The data that a participant sends, stores and receives.

use crate::room::data::{Blobs, DataState, OwnDataTracks};

/// The data that a participant sends, stores and receives.
pub(crate) struct OwnData {
    pub(crate) packets: DataState,
    pub(crate) blobs: Blobs,
    pub(crate) tracks: OwnDataTracks,
}

impl OwnData {
    /// `wants_all_tracks` is whether it subscribes to each data track without asking.
    pub(crate) fn new(wants_all_tracks: bool) -> Self {
        Self {
            packets: DataState::default(),
            blobs: Blobs::default(),
            tracks: OwnDataTracks::new(wants_all_tracks),
        }
    }
}
