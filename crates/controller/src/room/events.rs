//! Events of the room for those outside of it.

use crate::context::Context;
use crate::participant::Participant;
use crate::room::Room;
use crate::track::Track;
use crate::{EndReason, Output, ParticipantState, Publisher, RoomChange, RoomEvent, TrackInfo};

impl Room {
    /// Outputs events, if those outside want any.
    pub(crate) fn emit<C: IntoIterator<Item = RoomChange>>(&self, ctx: &mut Context<'_>, changes: impl FnOnce() -> C) {
        if !ctx.core.config.room_events {
            return;
        }
        for change in changes() {
            let room = self.info();
            let event = Box::new(RoomEvent {
                id: id_of(&room.sid, &change),
                room,
                at: ctx.unix(),
                change,
            });
            ctx.out.push(Output::Room(event));
        }
    }
}

/// The id of an event. A room, a participant and a track have one of each kind, so a controller
/// that goes on with a room gives an event the id that it had before.
fn id_of(room_sid: &str, change: &RoomChange) -> String {
    let (kind, sid) = match change {
        RoomChange::Started(_) => ("started", ""),
        RoomChange::Finished => ("finished", ""),
        RoomChange::ParticipantJoined(info) => ("joined", info.sid.as_str()),
        RoomChange::ParticipantLeft(info) => ("left", info.sid.as_str()),
        RoomChange::ParticipantAborted(info) => ("aborted", info.sid.as_str()),
        RoomChange::TrackPublished(_, info) => ("published", info.sid.as_str()),
        RoomChange::TrackUnpublished(_, info) => ("unpublished", info.sid.as_str()),
    };
    environment::sid_of("EV_", &[kind, room_sid, sid])
}

/// The media of a participant connected for the first time: it joined, and its tracks are there.
pub(in crate::room) fn joined(participant: &Participant) -> impl Iterator<Item = RoomChange> {
    let arrived = participant.publications.arrived();
    let published = arrived.filter_map(|track| track_change(participant, track, RoomChange::TrackPublished));
    std::iter::once(RoomChange::ParticipantJoined(participant.info())).chain(published)
}

/// A participant is gone.
pub(in crate::room) fn departed(participant: &Participant, had_joined: bool, reason: EndReason) -> RoomChange {
    let mut info = participant.info();
    info.disconnect_reason = Some(reason);
    match had_joined {
        true => RoomChange::ParticipantLeft(info),
        false => RoomChange::ParticipantAborted(info),
    }
}

/// A track arrived for the first time or, having arrived, is over. Of a publisher that has not
/// joined for those outside yet there is nothing to say: [`joined`] says it later.
pub(in crate::room) fn track_change(
    publisher: &Participant,
    track: &Track,
    change: fn(Publisher, Box<TrackInfo>) -> RoomChange,
) -> Option<RoomChange> {
    let is_known = publisher.profile.state == ParticipantState::Active;
    is_known.then(|| change(names(publisher), Box::new(track.info.clone())))
}

fn names(publisher: &Participant) -> Publisher {
    Publisher {
        sid: publisher.profile.sid.clone(),
        identity: publisher.profile.identity.clone(),
    }
}
