//! The tracks that a participant publishes, and the receivers that they are for.

use std::collections::BTreeMap;

use southbound::TrackId;

use super::track_permissions::TrackPermissions;
use crate::UpdateTrackPermissions;
use crate::track::Track;

/// The tracks that a participant publishes, and the receivers that they are for.
#[derive(Default)]
pub(crate) struct OwnPublications {
    pub(crate) tracks: BTreeMap<TrackId, Track>,
    /// A track of its own has arrived since it joined.
    pub(crate) has_published: bool,
    /// The receivers that its tracks are for.
    permissions: TrackPermissions,
    /// It has stated once which receivers its tracks are for.
    permissions_stated: bool,
    /// The participants that may receive them once it is announced.
    postponed_permissions: Option<UpdateTrackPermissions>,
}

impl OwnPublications {
    /// No tracks, of one that has said this of its receivers.
    pub(crate) fn with_permissions(
        permissions: TrackPermissions,
        permissions_stated: bool,
        postponed_permissions: Option<UpdateTrackPermissions>,
    ) -> Self {
        Self {
            permissions,
            permissions_stated,
            postponed_permissions,
            ..Self::default()
        }
    }

    pub(crate) fn by_sid(&self, sid: &str) -> Option<&Track> {
        self.tracks.values().find(|track| track.sid() == sid)
    }

    pub(crate) fn by_sid_mut(&mut self, sid: &str) -> Option<&mut Track> {
        self.tracks.values_mut().find(|track| track.info.sid == sid)
    }

    /// Those that others may have.
    pub(crate) fn arrived(&self) -> impl Iterator<Item = &Track> {
        self.tracks.values().filter(|track| track.media.is_some())
    }

    /// How many are announced and have not arrived.
    pub(crate) fn announced(&self) -> usize {
        self.tracks.values().filter(|track| track.media.is_none()).count()
    }

    pub(crate) fn permissions(&self) -> &TrackPermissions {
        &self.permissions
    }

    /// Whether it has stated once which receivers its tracks are for.
    pub(crate) fn are_permissions_stated(&self) -> bool {
        self.permissions_stated
    }

    /// Sets the receivers that the tracks are for. Returns those that they were for before.
    pub(crate) fn set_permissions(&mut self, permissions: TrackPermissions) -> TrackPermissions {
        self.permissions_stated |= permissions != TrackPermissions::Everybody;
        std::mem::replace(&mut self.permissions, permissions)
    }

    /// The permissions that wait until others may hear of it again.
    pub(crate) fn postponed_permissions(&self) -> Option<&UpdateTrackPermissions> {
        self.postponed_permissions.as_ref()
    }

    /// Keeps permissions until others may hear of it again, in place of those that wait.
    pub(crate) fn postpone_permissions(&mut self, request: UpdateTrackPermissions) {
        self.postponed_permissions = Some(request);
    }

    /// The permissions that waited, which wait no longer.
    pub(crate) fn take_postponed_permissions(&mut self) -> Option<UpdateTrackPermissions> {
        self.postponed_permissions.take()
    }
}
