//! The bytes that a room keeps for its participants: each has a share of its own, and beyond the
//! shares there is one pool for all.
//!
//! All of it is told to each who joins, so that the pool bounds the longest greeting. Nobody is
//! refused because of the others as long as it stays within its share.

use crate::UpdateTrackPermissions;
use crate::ids::ParticipantKey;
use crate::limits::{STORE_POOL_MAX, STORE_SHARE};
use crate::participant::{Participant, TrackPermissions};
use crate::room::roster::Roster;

/// The answer to a request that would store more than the room keeps.
pub(in crate::room) const STORE_FULL: &str = "the room stores no more for its participants";

/// About the bytes of a participant besides what it chooses, such as its id.
const OVERHEAD: usize = 128;

impl Participant {
    /// Counts anew what the room keeps for it.
    pub(in crate::room) fn weigh(&mut self) {
        let tracks: usize = self
            .publications
            .tracks
            .values()
            .map(|track| track.info.told_len())
            .sum();
        let data_tracks = self.data.tracks.published.values();
        let data_tracks: usize = data_tracks.map(|(_, info)| info.told_len()).sum();
        let postponed = self.publications.postponed_permissions();
        let lists = self.publications.permissions().len() + postponed.map_or(0, list_len);
        let named = OVERHEAD + self.profile.identity.len() + self.profile.texts_len();
        self.storage
            .set(named + tracks + data_tracks + self.data.blobs.bytes() + lists);
    }
}

impl Roster {
    /// Whether a participant may store so many bytes more.
    pub(in crate::room) fn takes(&self, key: ParticipantKey, more: usize) -> bool {
        let stored = self.get(key).map_or(0, |participant| participant.storage.all());
        self.pool_takes(Some(key), stored + more)
    }

    /// Whether a newcomer may bring texts of this length.
    pub(crate) fn takes_newcomer(&self, identity: &str, texts_len: usize) -> bool {
        self.pool_takes(self.by_identity(identity), OVERHEAD + identity.len() + texts_len)
    }

    /// Counts anew what a participant stores.
    pub(in crate::room) fn weigh(&mut self, key: ParticipantKey) {
        if let Some(participant) = self.get_mut(key) {
            participant.weigh();
        }
    }

    fn pool_takes(&self, key: Option<ParticipantKey>, stored: usize) -> bool {
        let beyond = stored.saturating_sub(STORE_SHARE);
        if beyond == 0 {
            return true;
        }
        let had = key.and_then(|key| self.get(key));
        let had = had.map_or(0, |participant| participant.storage.pooled());
        let all: usize = self.all().map(|other| other.storage.pooled()).sum();
        let pooled = all - had + beyond;
        pooled <= STORE_POOL_MAX && self.account.takes(pooled, beyond.saturating_sub(had))
    }
}

impl TrackPermissions {
    fn len(&self) -> usize {
        const ENTRY: usize = 32;
        match self {
            Self::Everybody => 0,
            Self::Only(list) => {
                let tracks = list.values().flatten().flatten();
                let tracks: usize = tracks.map(|sid| sid.len() + ENTRY).sum();
                tracks + list.keys().map(|identity| identity.len() + ENTRY).sum::<usize>()
            }
        }
    }
}

/// About the bytes of a list of permissions.
pub(in crate::room) fn list_len(request: &UpdateTrackPermissions) -> usize {
    const ENTRY: usize = 32;
    let entries = request.permissions.iter();
    let lens = entries.map(|entry| {
        let tracks: usize = entry.track_sids.iter().map(|sid| sid.len() + ENTRY).sum();
        entry.participant_identity.len() + entry.participant_sid.len() + ENTRY + tracks
    });
    lens.sum()
}
