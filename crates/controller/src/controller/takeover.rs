//! Participants that one controller saves and another goes on with.

use std::collections::BTreeMap;
use std::time::Instant;

use southbound::TrackId;

use super::Controller;
use crate::Output;
use crate::limits::{PARTICIPANTS_MAX, ROOMS_MAX};
use crate::participant::Participant;
use crate::saved::{RestoreError, SavedParticipant};

impl Controller {
    /// The participants of a room, in a form that another controller can go on with.
    pub fn save(&self, room: &str) -> Vec<SavedParticipant> {
        let room = self.by_name.get(room).and_then(|key| self.rooms.get(key));
        let participants = room.into_iter().flat_map(|room| room.roster().all());
        participants.map(Participant::save).collect()
    }

    /// Goes on with the participants of a room that another controller saved: all of them, or none.
    /// Media flows meanwhile, and their clients come back as after a broken connection. The room
    /// itself is as the operator has it.
    ///
    /// Errors: any [`RestoreError`].
    pub fn restore(
        &mut self,
        now: Instant,
        api_key: &str,
        room: &str,
        saved: Vec<SavedParticipant>,
        out: &mut Vec<Output>,
    ) -> Result<(), RestoreError> {
        if self.by_name.contains_key(room) {
            return Err(RestoreError::RoomExists);
        }
        if self.rooms.len() >= ROOMS_MAX {
            return Err(RestoreError::TooManyRooms);
        }
        if saved.len() > self.core.config.participants_max.max(PARTICIPANTS_MAX) {
            return Err(RestoreError::TooLong);
        }
        let mut publishers = BTreeMap::new();
        let mut keyed = Vec::with_capacity(saved.len());
        for participant in saved {
            let key = self.core.ids.participant();
            publishers.extend(participant.tracks.iter().map(|track| (TrackId(track.id), key)));
            keyed.push((key, participant));
        }
        let restore =
            |(key, participant)| Participant::restore(now, key, participant, |track| publishers.get(&track).copied());
        let participants = keyed.into_iter().map(restore).collect::<Result<Vec<_>, _>>()?;
        let key = self.room_named(now, api_key, room, out);
        self.in_room(now, key, out, |room, ctx| room.restore(ctx, participants));
        Ok(())
    }
}
