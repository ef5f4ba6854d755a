//! Data tracks that another controller served.

use std::collections::BTreeSet;

use super::{DataTrack, DataTracks};
use crate::participant::Participant;

impl DataTracks {
    /// The tracks of a participant that another controller served, by the handles it gave them.
    pub(in crate::room) fn add_published(&mut self, participant: &Participant) {
        for (handle, info) in participant.data.tracks.published.values() {
            let track = DataTrack {
                publisher: participant.key,
                sid: info.sid.clone(),
                receivers: BTreeSet::new(),
            };
            self.tracks.insert(*handle, track);
            self.sids.insert(info.sid.clone(), *handle);
            self.last = self.last.max(*handle);
        }
    }

    /// The same for the tracks that it receives, once they are known.
    pub(in crate::room) fn add_receiver(&mut self, participant: &Participant) {
        for handle in participant.data.tracks.received() {
            if let Some(track) = self.tracks.get_mut(handle) {
                track.receivers.insert(participant.key);
            }
        }
    }
}
