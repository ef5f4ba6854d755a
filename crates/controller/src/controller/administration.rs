//! What an operator may do to rooms, and what there is to see of them.

use std::time::Instant;

use livekit_protocol::DisconnectReason;
use livekit_protocol::leave_request::Action;

use super::Controller;
use crate::Output;
use crate::context::Place;

impl Controller {
    /// Ends a room; everybody in it is told. False when there is none of this name.
    pub fn delete_room(&mut self, now: Instant, name: &str, out: &mut Vec<Output>) -> bool {
        let Some(key) = self.by_name.get(name).copied() else {
            return false;
        };
        self.in_room(now, key, out, |room, ctx| {
            room.close(ctx, DisconnectReason::RoomDeleted)
        });
        self.forget_room(key, out);
        true
    }

    /// Puts a participant out for good. False when there is none of this identity in a room of this name.
    pub fn remove_participant(&mut self, now: Instant, room: &str, identity: &str, out: &mut Vec<Output>) -> bool {
        let Some(place) = self.find(room, identity) else {
            return false;
        };
        self.in_room(now, place.room, out, |room, ctx| {
            room.dismiss(
                ctx,
                place.participant,
                DisconnectReason::ParticipantRemoved,
                Action::Disconnect,
            );
        });
        true
    }

    /// Mutes a participant's track: its client is told to. False when there is no such track.
    pub fn mute_track(
        &mut self,
        now: Instant,
        room: &str,
        identity: &str,
        sid: &str,
        muted: bool,
        out: &mut Vec<Output>,
    ) -> bool {
        let Some(place) = self.find(room, identity) else {
            return false;
        };
        let done = self.in_room(now, place.room, out, |room, ctx| {
            room.mute_by_server(ctx, place.participant, sid, muted)
        });
        done.unwrap_or(false)
    }

    /// Tells everybody that the server goes away: clients come back to whichever takes its place.
    pub fn shut_down(&mut self, now: Instant, out: &mut Vec<Output>) {
        let rooms: Vec<_> = self.rooms.keys().copied().collect();
        for key in rooms {
            self.in_room(now, key, out, |room, ctx| {
                let everybody: Vec<_> = room.participants.keys().copied().collect();
                for participant in everybody {
                    room.dismiss(ctx, participant, DisconnectReason::ServerShutdown, Action::Reconnect);
                }
            });
            self.forget_room(key, out);
        }
    }

    pub(super) fn find(&self, room: &str, identity: &str) -> Option<Place> {
        let key = *self.by_name.get(room)?;
        let participant = self
            .rooms
            .get(&key)?
            .participants
            .values()
            .find(|participant| participant.identity == identity)?;
        Some(Place {
            room: key,
            participant: participant.key,
        })
    }
}
