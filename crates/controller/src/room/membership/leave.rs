//! Going out.

use southbound::Command;
use wire::MediaKind;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::leavers::Leaver;
use crate::own_data::DataState;
use crate::participant::Participant;
use crate::room::events::{self, track_change};
use crate::room::roster::Roster;
use crate::room::{Room, moving, timeline};
use crate::{EndAction, EndCause, EndReason, Event, Notification, Output, ParticipantState, RoomChange};

impl Room {
    /// Puts a participant out and tells it why and what to do now.
    pub(crate) fn dismiss(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: EndReason, action: EndAction) {
        let Some(participant) = self.roster.get(key) else {
            return;
        };
        participant.notify(ctx, Notification::Ended { reason, action });
        self.remove(ctx, key, reason);
    }

    /// Removes a participant with everything it published and received.
    pub(crate) fn remove(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: EndReason) {
        let Some(mut participant) = self.roster.remove(key) else {
            return;
        };
        ctx.core.usage.participant_left(&participant.authorization.api_key);
        ctx.core.nodes.participant_left(participant.media.node);
        self.subscribers.forget(key);
        self.data.calls.end_to(ctx, key);
        self.data.tracks.forget(ctx, &mut self.roster, &participant);
        if let Some(connection) = participant.connection() {
            ctx.out.push(Output::End {
                connection,
                cause: EndCause::Session(reason),
            });
        }
        for peer in participant.media.peers() {
            ctx.core.index.transports.remove(&peer.transport);
            let transport = peer.transport;
            ctx.command(participant.media.node, Command::Close { transport });
        }
        if let Some(relocation) = &participant.media.relocation {
            moving::close(ctx, relocation.left());
        }
        for subscription in participant.subscriptions.iter() {
            ctx.core.index.subscriptions.remove(&subscription.id);
            self.subscribers.demand(subscription.track);
        }
        for (id, track) in &participant.publications.tracks {
            for id in track.ids() {
                ctx.core.index.tracks.remove(&id);
                self.subscribers.trunking.end(ctx, id);
            }
            self.publications.remove(track.sid());
            self.subscribers.end_subscriptions_to(ctx, &mut self.roster, *id);
        }
        self.updates.population_changed(ctx, &self.roster);
        if participant.authorization.permission.recorder && !self.roster.is_recorded() {
            self.updates.tell_population(ctx, &self.roster, self.info());
        }
        self.speaking.forget(key);
        if participant
            .publications
            .tracks
            .values()
            .any(|track| track.kind == MediaKind::Audio)
        {
            self.speaking.choose_voices(ctx, &self.roster);
        }
        for track in participant.publications.arrived() {
            self.emit(ctx, || track_change(&participant, track, RoomChange::TrackUnpublished));
        }
        let had_joined = participant.profile.state == ParticipantState::Active;
        self.updates.tell_departure(ctx, &self.roster, &mut participant, reason);
        self.emit(ctx, || Some(events::departed(&participant, had_joined, reason)));
        if reason == EndReason::ClientInitiated {
            remember_sender(ctx, &self.roster, &participant);
        }
        timeline::observe(ctx, &participant, timeline::leave(reason));
        let identity = std::mem::take(&mut participant.profile.identity);
        ctx.event(Event::Left {
            room: self.profile.name().to_owned(),
            identity,
            reason: reason.name(),
        });
        let is_deserted = self.roster.is_deserted();
        self.lifetime.review(ctx, self.roster.timer(), is_deserted);
    }

    /// Puts everybody out: the room is over.
    pub(crate) fn close(&mut self, ctx: &mut Context<'_>, reason: EndReason) {
        let everybody: Vec<_> = self.roster.keys().collect();
        for key in everybody {
            self.dismiss(ctx, key, reason, EndAction::Disconnect);
        }
    }
}

/// Its last messages are passed on in its name.
fn remember_sender(ctx: &mut Context<'_>, roster: &Roster, participant: &Participant) {
    let Some(peer) = &participant.media.publisher else {
        return;
    };
    let leaver = Leaver {
        participant_ref: roster.participant_ref(participant.key),
        sid: participant.profile.sid.clone(),
        identity: participant.profile.identity.clone(),
        permission: participant.authorization.permission.clone(),
        data: DataState::numbered_from(participant.data.packets.last_sequence),
        since: ctx.now,
    };
    ctx.core.index.leavers.add(peer.transport, leaver);
}
