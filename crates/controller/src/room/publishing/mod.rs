//! Tracks on their way in: announced, found in an offer, and how much of them is wanted.

pub(in crate::room) mod backup;
mod demand;
pub(in crate::room) mod matching;
mod publish;
mod track_permissions;

use std::collections::BTreeMap;

use southbound::TrackId;

pub(in crate::room) use self::backup::lose_backup;
pub(in crate::room) use self::demand::{falling_demands, tell_demand};
pub(in crate::room) use self::publish::{arrive, claim, mute, update_audio, update_layers, update_video};
use crate::ids::ParticipantKey;

/// The tracks of a room and their publishers, by the ids that clients know.
#[derive(Debug, Default)]
pub(in crate::room) struct Publications(BTreeMap<String, (ParticipantKey, TrackId)>);

/// An announcement that was taken.
pub(in crate::room) struct Addition {
    /// Others are to hear of it.
    pub(in crate::room) is_news: bool,
}

impl Publications {
    pub(in crate::room) fn find(&self, sid: &str) -> Option<(ParticipantKey, TrackId)> {
        self.0.get(sid).copied()
    }

    pub(in crate::room) fn insert(&mut self, sid: &str, publisher: ParticipantKey, track: TrackId) {
        self.0.insert(sid.to_owned(), (publisher, track));
    }

    pub(in crate::room) fn remove(&mut self, sid: &str) {
        self.0.remove(sid);
    }
}
