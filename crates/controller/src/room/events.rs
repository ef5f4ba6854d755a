//! Events of the room for those outside of it.

use southbound::TrackId;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::Room;
use crate::track::Track;
use crate::{EndReason, Output, ParticipantState, Publisher, RoomChange, RoomEvent, TrackInfo};

impl Room {
    /// Outputs an event, if those outside want any.
    pub(crate) fn emit(&self, ctx: &mut Context<'_>, change: impl FnOnce() -> RoomChange) {
        if !ctx.core.config.room_events {
            return;
        }
        let event = Box::new(RoomEvent {
            id: ctx.core.random.sid("EV_"),
            room: self.info(),
            at: ctx.unix(),
            change: change(),
        });
        ctx.out.push(Output::Room(event));
    }

    /// The media of this participant connected for the first time.
    pub(in crate::room) fn emit_joined(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        self.emit(ctx, || RoomChange::ParticipantJoined(participant.info()));
        let arrived = participant.tracks.values().filter(|track| track.media.is_some());
        for track in arrived {
            self.emit_track(ctx, participant, track, RoomChange::TrackPublished);
        }
    }

    /// This participant is gone.
    pub(in crate::room) fn emit_departure(
        &self,
        ctx: &mut Context<'_>,
        participant: &Participant,
        had_joined: bool,
        reason: EndReason,
    ) {
        self.emit(ctx, || {
            let mut info = participant.info();
            info.disconnect_reason = Some(reason);
            match had_joined {
                true => RoomChange::ParticipantLeft(info),
                false => RoomChange::ParticipantAborted(info),
            }
        });
    }

    /// A track of this participant arrived for the first time. If its publisher has not joined for
    /// those outside yet, [`emit_joined`](Self::emit_joined) outputs that later.
    pub(in crate::room) fn emit_published(&self, ctx: &mut Context<'_>, key: ParticipantKey, id: TrackId) {
        let publisher = self.participants.get(&key);
        let track = publisher.and_then(|publisher| Some((publisher, publisher.tracks.get(&id)?)));
        if let Some((publisher, track)) = track {
            self.emit_track(ctx, publisher, track, RoomChange::TrackPublished);
        }
    }

    /// A track of this participant, which had arrived, is over.
    pub(in crate::room) fn emit_unpublished(&self, ctx: &mut Context<'_>, publisher: &Participant, track: &Track) {
        self.emit_track(ctx, publisher, track, RoomChange::TrackUnpublished);
    }

    fn emit_track(
        &self,
        ctx: &mut Context<'_>,
        publisher: &Participant,
        track: &Track,
        change: fn(Publisher, Box<TrackInfo>) -> RoomChange,
    ) {
        if publisher.state == ParticipantState::Active {
            self.emit(ctx, || change(names(publisher), Box::new(track.info.clone())));
        }
    }
}

fn names(publisher: &Participant) -> Publisher {
    Publisher {
        sid: publisher.sid.clone(),
        identity: publisher.identity.clone(),
    }
}
