//! Coming back on a new connection, with the media still flowing.

use super::join::server_info;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::{Link, Participant, SimulatedFault};
use crate::room::Room;
use crate::subscription::Settings;
use crate::{
    ConnectionId, EndAction, EndCause, EndReason, Event, Notification, Output, Resume, Resumed, SyncState,
    UpdateSubscription,
};

impl Room {
    /// The participant a client says it is, if it is still here and may be it.
    pub(crate) fn returning(&self, resume: &Resume) -> Option<ParticipantKey> {
        let found = self
            .participants
            .values()
            .find(|participant| participant.identity == resume.claims.identity())?;
        (found.sid == resume.sid && found.mode == resume.mode).then_some(found.key)
    }

    /// Swaps the connection and tells everything that may have been missed. Media is not touched,
    /// except that both sides restart ICE.
    pub(crate) fn resume(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        connection: ConnectionId,
        resume: Resume,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        self.pending.actor = Some(key);
        let away_since = match participant.link {
            Link::Attached(old) => {
                ctx.out.push(Output::End {
                    connection: old,
                    cause: EndCause::Replaced,
                });
                ctx.now
            }
            Link::Detached { since } => since,
        };
        participant.link = Link::Attached(connection);
        participant.asked = None;
        let simulated_fault = participant.simulated_fault.take();
        if simulated_fault == Some(SimulatedFault::DisconnectSilently) {
            return self.break_connection(ctx, key, connection);
        }
        ctx.event(Event::Resumed {
            room: self.name.clone(),
            identity: participant.identity.clone(),
            connection,
        });
        let resumed = Resumed {
            disabled_codecs: participant.traits.disabled_codecs,
            server: server_info(ctx, participant),
            last_sequence: participant.data.last_sequence,
        };
        participant.notify(ctx, Notification::Resumed(resumed));
        self.pending.returning = Some(key);
        self.charge_greeting(ctx, resume.claims.identity());
        self.take_rights(ctx, key, resume.claims);
        self.tell_what_was_missed(ctx, key, away_since);
        if simulated_fault == Some(SimulatedFault::Disconnect) {
            return self.break_connection(ctx, key, connection);
        }
        self.restart_subscriber(ctx, key);
        self.pending.negotiations.insert(key);
        if let Some(state) = resume.sync_state {
            self.take_sync_state(ctx, key, state);
        }
        if let Some(offer) = resume.offer {
            self.take_offer(ctx, key, offer);
        }
        self.tell_data_handles_again(ctx, key);
        self.refresh_token(ctx, key);
    }

    fn tell_what_was_missed(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, away_since: std::time::Instant) {
        let visible = self
            .participants
            .values()
            .filter(|other| other.key == key || other.is_visible(ctx.core.config.visible));
        let mut infos: Vec<_> = visible.map(Participant::snapshot).collect();
        for (_, info) in self.membership.departed.iter().filter(|(at, _)| *at >= away_since) {
            if !infos.iter().any(|known| known.identity == info.identity) {
                infos.push(info.clone().into());
            }
        }
        self.participants[&key].notify(ctx, Notification::Participants(infos));
        self.pending.returning = None;
        self.tell_track_permissions_again(ctx, key);
        self.send_room(ctx, key);
        self.send_quality(ctx, key);
        self.send_pauses(ctx, key);
    }

    fn break_connection(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, connection: ConnectionId) {
        ctx.out.push(Output::End {
            connection,
            cause: EndCause::SimulatedFault,
        });
        self.detach(ctx, key);
    }

    /// The view that a client has of its session when it comes back.
    pub(in crate::room) fn take_sync_state(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, state: SyncState) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let mut published = state.published_sids.iter();
        let data_tracks = &participant.data_tracks.published;
        let has_data_track = |sid: &String| data_tracks.values().any(|(_, info)| info.sid == *sid);
        if published.any(|sid| participant.track_by_sid(sid).is_none())
            || !state.published_data_sids.iter().all(has_data_track)
        {
            // It publishes what we know nothing of: there is no common state to go on from.
            return self.dismiss(ctx, key, EndReason::StateMismatch, EndAction::Reconnect);
        }
        let received = state.received.into_iter().take(crate::limits::PARTICIPANTS_MAX);
        participant.data.received = received.collect();
        let auto_subscribe = participant.auto_subscribe;
        if let Some(track_sids) = state.exceptions {
            let subscribe = !auto_subscribe;
            self.update_subscription(ctx, key, UpdateSubscription { track_sids, subscribe });
        }
        for sid in state.disabled_sids.iter().take(crate::limits::REQUEST_TRACKS_MAX) {
            self.set_settings(ctx, key, sid, Settings::disabled());
        }
        self.replay_data(ctx, key);
    }
}
