//! Participants that one controller saves and another goes on with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use southbound::{NodeId, TrackId};

use super::{Connection, Controller};
use crate::ids::ParticipantRef;
use crate::limits::{PARTICIPANTS_MAX, ROOMS_MAX};
use crate::participant::Participant;
use crate::room::roster::ParticipantChanges;
use crate::room::takeover::{self, SavedRoom};
use crate::saved::{RestoreError, SavedParticipant};
use crate::{ConnectionId, EndCause, EndReason, Event, Output};

/// The rooms of a controller in a form that another one can go on with.
pub struct Takeover<'a>(&'a mut Controller);

impl Controller {
    /// The rooms in a form that another controller can go on with.
    pub fn takeover(&mut self) -> Takeover<'_> {
        Takeover(self)
    }
}

impl Takeover<'_> {
    /// Notes from now on which rooms change in what [`room`](Self::room) and
    /// [`participants`](Self::participants) return, for [`take_unsaved`](Self::take_unsaved).
    pub fn note_unsaved(&mut self) {
        self.0.unsaved.get_or_insert_default();
    }

    /// The rooms that may have changed since this was last called. Those that are over are not
    /// among them.
    pub fn take_unsaved(&mut self) -> Vec<Arc<str>> {
        let keys = self.0.unsaved.as_mut().map(std::mem::take).unwrap_or_default();
        let rooms = keys.into_iter().filter_map(|key| self.0.rooms.get(&key));
        rooms.map(|room| room.profile().shared_name()).collect()
    }

    /// Whether [`take_unsaved`](Self::take_unsaved) has something.
    pub fn has_unsaved(&self) -> bool {
        self.0.unsaved.as_ref().is_some_and(|rooms| !rooms.is_empty())
    }

    /// The names of all rooms.
    pub fn rooms(&self) -> Vec<Arc<str>> {
        let rooms = self.0.rooms.values();
        rooms.map(|room| room.profile().shared_name()).collect()
    }

    /// A room without its participants, in a form that another controller can go on with.
    pub fn room(&self, room: &str) -> Option<SavedRoom> {
        self.0.named(room).map(takeover::save)
    }

    /// The participants of a room that may have changed since this was last called, or all of them,
    /// in that form.
    pub fn take_changes(&mut self, room: &str, is_everybody: bool) -> ParticipantChanges {
        let room = self.0.by_name.get(room).and_then(|key| self.0.rooms.get_mut(key));
        room.map_or_else(ParticipantChanges::of_nobody, |room| {
            room.roster_mut().take_changes(is_everybody)
        })
    }

    /// The media nodes of a room.
    pub fn nodes(&self, room: &str) -> BTreeSet<NodeId> {
        self.0.named(room).map(|room| room.roster().nodes()).unwrap_or_default()
    }

    /// The participants of a room, in a form that another controller can go on with.
    pub fn participants(&self, room: &str) -> Vec<SavedParticipant> {
        let room = self.0.named(room);
        let participants = room.into_iter().flat_map(|room| room.roster().all());
        participants.map(Participant::save).collect()
    }

    /// Goes on with a room that another controller saved, with all of its participants or none.
    /// Media flows meanwhile, and their clients come back as after a broken connection. A
    /// subscription to a track that nobody of them publishes ends.
    ///
    /// Errors: any [`RestoreError`].
    pub fn restore(
        &mut self,
        now: Instant,
        room: &str,
        saved: SavedRoom,
        participants: Vec<SavedParticipant>,
        out: &mut Vec<Output>,
    ) -> Result<(), RestoreError> {
        if self.0.by_name.contains_key(room) {
            return Err(RestoreError::RoomExists);
        }
        if self.0.rooms.len() >= ROOMS_MAX {
            return Err(RestoreError::TooManyRooms);
        }
        if participants.len() > self.0.core.config.participants_max.max(PARTICIPANTS_MAX) {
            return Err(RestoreError::TooLong);
        }
        let nobody = self.0.core.ids.participant();
        let mut publishers = BTreeMap::new();
        let mut keyed = Vec::with_capacity(participants.len());
        for participant in participants {
            let key = self.0.core.ids.participant();
            publishers.extend(participant.tracks.iter().map(|track| (TrackId(track.id), key)));
            keyed.push((key, participant));
        }
        let publisher_of = |track| publishers.get(&track).copied().unwrap_or(nobody);
        let described = &mut self.0.described;
        let restore = |(key, participant)| Participant::restore(now, key, participant, publisher_of, described);
        let participants = keyed.into_iter().map(restore).collect::<Result<Vec<_>, _>>()?;
        let key = self.0.room_named(now, &saved.api_key, room, out);
        self.0.in_room(now, key, out, |room, ctx| {
            takeover::restore(room, ctx, saved, participants);
        });
        Ok(())
    }

    /// Lets go of a room that another controller goes on with. Nothing is said to its nodes, nobody
    /// hears that its participants leave, and their clients come back as after a broken connection.
    pub fn release(&mut self, now: Instant, room: &str, out: &mut Vec<Output>) {
        let Some(key) = self.0.by_name.get(room).copied() else {
            return;
        };
        let mut end = Vec::new();
        let connections = self.0.in_room(now, key, &mut end, |room, ctx| {
            let everybody = room.roster().all();
            let connections: Vec<_> = everybody.filter_map(Participant::connection).collect();
            room.close(ctx, EndReason::ServerShutdown);
            connections
        });
        if let Some(room) = self.0.rooms.remove(&key) {
            self.0.by_name.remove(room.profile().name());
            self.0.core.usage.room_removed(room.profile().api_key());
        }
        // Administrators who wait are answered.
        out.extend(end.into_iter().filter(|output| matches!(output, Output::Reply { .. })));
        let connections = connections.into_iter().flatten();
        out.extend(connections.map(|connection| Output::End {
            connection,
            cause: EndCause::Released,
        }));
        let room = room.to_owned();
        out.push(Output::Event(Event::RoomReleased { room }));
    }

    /// Gives a restored participant the connection of its front end.
    pub(super) fn attach(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        room: &str,
        sid: &str,
        out: &mut Vec<Output>,
    ) {
        let key = self.0.by_name.get(room).copied();
        let found = key.and_then(|key| Some((key, self.0.rooms.get(&key)?.roster().with_sid(sid)?)));
        let Some((key, participant)) = found else {
            let cause = EndCause::Session(EndReason::StateMismatch);
            return out.push(Output::End { connection, cause });
        };
        let participant_ref = ParticipantRef { room: key, participant };
        self.0.connections.insert(connection, Connection { participant_ref });
        self.0.in_room(now, key, out, |room, ctx| {
            takeover::attach(room, ctx, participant, connection);
        });
    }

    /// Tells a node everything of a room again that it should have of it.
    pub fn repeat(&mut self, now: Instant, room: &str, node: NodeId, out: &mut Vec<Output>) {
        if let Some(key) = self.0.by_name.get(room).copied() {
            self.0
                .with_room(now, key, out, |room, ctx| takeover::repeat(room, ctx, node));
        }
    }
}
