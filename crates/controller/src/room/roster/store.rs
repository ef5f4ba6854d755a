//! The bytes that a room keeps for its participants: each has a share of its own, and beyond the
//! shares there is one pool for all.
//!
//! All of it is told to each who joins, so that the pool bounds the longest greeting. Nobody is
//! refused because of the others as long as it stays within its share.

use std::collections::BTreeMap;

use crate::UpdateTrackPermissions;
use crate::ids::ParticipantKey;
use crate::limits::{STORE_POOL_MAX, STORE_SHARE};
use crate::participant::{Participant, TrackPermissions};
use crate::room::roster::Roster;

/// The answer to a request that would store more than the room keeps.
pub(in crate::room) const STORE_FULL: &str = "the room stores no more for its participants";

/// About the bytes of a participant besides what it chooses, such as its id.
const OVERHEAD: usize = 128;

/// The bytes of an attribute besides its name and its value.
pub(in crate::room) const ATTRIBUTE_OVERHEAD: usize = 8;

/// The bytes of a name, metadata and attributes.
pub(crate) fn texts_len(name: &str, metadata: &str, attributes: &BTreeMap<String, String>) -> usize {
    let attributes = attributes.iter();
    let attributes = attributes.map(|(name, value)| name.len() + value.len() + ATTRIBUTE_OVERHEAD);
    name.len() + metadata.len() + attributes.sum::<usize>()
}

impl Participant {
    /// Counts anew what the room keeps for it.
    pub(in crate::room) fn weigh(&mut self) {
        let texts = texts_len(&self.name, &self.metadata, &self.attributes);
        let tracks: usize = self.tracks.values().map(|track| track.info.told_len()).sum();
        let data_tracks = self.data_tracks.published.values();
        let data_tracks: usize = data_tracks.map(|(_, info)| info.told_len()).sum();
        let lists = self.track_permissions.len() + self.track_permissions_asked.as_ref().map_or(0, list_len);
        self.stored = OVERHEAD + self.identity.len() + texts + tracks + data_tracks + self.blobs.bytes() + lists;
        self.pooled.set(self.stored.saturating_sub(STORE_SHARE));
    }
}

impl Roster {
    /// Whether a participant may store so many bytes more.
    pub(in crate::room) fn takes(&self, key: ParticipantKey, more: usize) -> bool {
        let stored = self.get(key).map_or(0, |participant| participant.stored);
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
        let had = had.map_or(0, |participant| participant.pooled.bytes());
        let all: usize = self.all().map(|other| other.pooled.bytes()).sum();
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
