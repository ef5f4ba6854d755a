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
            let event = Box::new(RoomEvent {
                id: ctx.core.random.sid("EV_"),
                room: self.info(),
                at: ctx.unix(),
                change,
            });
            ctx.out.push(Output::Room(event));
        }
    }
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
