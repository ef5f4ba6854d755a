//! Going out.

use std::collections::BTreeMap;

use southbound::Command;
use wire::MediaKind;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::Room;
use crate::room::data::{DataState, Leaver, OwnDataTracks};
use crate::{EndAction, EndCause, EndReason, Event, Notification, Output, ParticipantInfo, ParticipantState};

/// Departures kept for those who are away.
const DEPARTED_MAX: usize = 256;

impl Room {
    /// Puts a participant out and tells it why and what to do now.
    pub(crate) fn dismiss(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: EndReason, action: EndAction) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        participant.notify(ctx, Notification::Ended { reason, action });
        self.remove(ctx, key, reason);
    }

    /// Removes a participant with everything it published and received.
    pub(crate) fn remove(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: EndReason) {
        let Some(mut participant) = self.participants.remove(&key) else {
            return;
        };
        ctx.core.usage.participant_left(&participant.api_key);
        ctx.core.nodes.participant_left(participant.node);
        self.pending.negotiations.remove(&key);
        self.end_calls_to(ctx, key);
        self.forget_data_tracks(ctx, &participant);
        if let Some(connection) = participant.connection() {
            ctx.out.push(Output::End {
                connection,
                cause: EndCause::Session(reason),
            });
        }
        for peer in participant.peers() {
            ctx.core.index.transports.remove(&peer.transport);
            let transport = peer.transport;
            ctx.command(participant.node, Command::Close { transport });
        }
        for subscription in participant.subscriptions.iter() {
            ctx.core.index.subscriptions.remove(&subscription.id);
            self.pending.demands.insert(subscription.track);
        }
        for (id, track) in &participant.tracks {
            for id in track.ids() {
                ctx.core.index.tracks.remove(&id);
            }
            self.track_sids.remove(track.sid());
            self.end_subscriptions_to(ctx, *id);
        }
        self.population_changed(ctx);
        if participant.permission.recorder && !self.is_recorded() {
            self.tell_population(ctx);
        }
        self.speaking.forget(key);
        if participant.tracks.values().any(|track| track.kind == MediaKind::Audio) {
            self.choose_voices(ctx);
        }
        for track in participant.tracks.values().filter(|track| track.media.is_some()) {
            self.emit_unpublished(ctx, &participant, track);
        }
        let had_joined = participant.state == ParticipantState::Active;
        self.tell_departure(ctx, &mut participant, reason);
        self.emit_departure(ctx, &participant, had_joined, reason);
        if reason == EndReason::ClientInitiated {
            self.remember_sender(ctx, &participant);
        }
        let identity = std::mem::take(&mut participant.identity);
        ctx.event(Event::Left {
            room: self.name.clone(),
            identity,
            reason: reason.name(),
        });
        self.review_emptiness(ctx);
    }

    /// Its last messages are passed on in its name.
    fn remember_sender(&self, ctx: &mut Context<'_>, participant: &Participant) {
        let Some(peer) = &participant.publisher else {
            return;
        };
        let leaver = Leaver {
            participant_ref: self.participant_ref(participant.key),
            sid: participant.sid.clone(),
            identity: participant.identity.clone(),
            permission: participant.permission.clone(),
            data: DataState::numbered_from(participant.data.last_sequence),
            since: ctx.now,
        };
        ctx.core.index.leavers.add(peer.transport, leaver);
    }

    fn tell_departure(&mut self, ctx: &mut Context<'_>, participant: &mut Participant, reason: EndReason) {
        participant.state = ParticipantState::Disconnected;
        participant.version += 1;
        participant.tracks.clear();
        participant.data_tracks = OwnDataTracks::default();
        if participant.is_visible(ctx.core.config.visible) {
            let mut info = participant.info();
            info.disconnect_reason = Some(reason);
            self.tell_gone(ctx, participant.key, info);
        }
    }

    /// To the others, one that they no longer see has left.
    pub(in crate::room) fn tell_disappearance(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        if let Some(participant) = self.participants.get_mut(&key) {
            participant.version += 1;
            let mut info = participant.info();
            info.tracks.clear();
            info.data_tracks.clear();
            info.state = ParticipantState::Disconnected;
            self.forget_denials(key);
            self.tell_gone(ctx, key, info);
        }
    }

    fn tell_gone(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, info: ParticipantInfo) {
        if self.is_told_later(ctx, &info.identity) {
            self.tell_departure_later(ctx, key, info.clone());
        } else {
            self.charge_news(ctx, &info.identity, info.told_len());
            self.broadcast_update(ctx, vec![info.clone().into()], Some(key));
        }
        if self.membership.departed.len() == DEPARTED_MAX {
            self.membership.departed.pop_front();
        }
        // Participants that were away need to know who is gone, and not its last metadata.
        let gone = ParticipantInfo {
            metadata: String::new(),
            attributes: BTreeMap::new(),
            ..info
        };
        self.membership.departed.push_back((ctx.now, gone));
    }

    /// Puts everybody out: the room is over.
    pub(crate) fn close(&mut self, ctx: &mut Context<'_>, reason: EndReason) {
        let everybody: Vec<_> = self.participants.keys().copied().collect();
        for key in everybody {
            self.dismiss(ctx, key, reason, EndAction::Disconnect);
        }
    }
}
