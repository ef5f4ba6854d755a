//! Coming back on a new connection, with the media still flowing.

use access::Permission;
use operator::Observation;

use super::join::server_info;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::{Link, SimulatedFault};
use crate::room::membership::metadata::refresh_token;
use crate::room::negotiating::restart_subscriber;
use crate::room::quality::send_quality;
use crate::room::{Room, moving, subscribing, timeline};
use crate::subscription::Settings;
use crate::{
    ConnectionId, EndAction, EndCause, EndReason, Event, Notification, Output, Resume, Resumed, SyncState,
    UpdateSubscription,
};

impl Room {
    /// Swaps the connection and tells everything that may have been missed. Media is not touched,
    /// except that both sides restart ICE.
    pub(crate) fn resume(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        connection: ConnectionId,
        resume: Resume,
    ) {
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        self.subscribers.acts(key);
        let away_since = match participant.signalling.attach(connection) {
            Link::Attached(old) => {
                ctx.out.push(Output::End {
                    connection: old,
                    cause: EndCause::Replaced,
                });
                ctx.now
            }
            Link::Detached { since } => since,
        };
        participant.media.requested = None;
        let simulated_fault = participant.signalling.simulated_fault.take();
        if simulated_fault == Some(SimulatedFault::DisconnectSilently) {
            break_connection(ctx, connection);
            return self.detach(ctx, key);
        }
        timeline::observe(ctx, participant, Observation::Reconnect);
        ctx.event(Event::Resumed {
            room: self.profile.name().to_owned(),
            identity: participant.profile.identity.clone(),
            connection,
        });
        let resumed = Resumed {
            disabled_codecs: participant.client.traits.disabled_codecs,
            server: server_info(ctx, participant),
            last_sequence: participant.data.packets.last_sequence,
        };
        participant.notify(ctx, Notification::Resumed(resumed));
        self.subscribers.set_returning(Some(key));
        self.updates
            .charge_greeting(ctx, &self.roster, resume.claims.identity());
        let permission = Permission::of(&resume.claims);
        if let Some(participant) = self.roster.get_mut(key) {
            participant.take_claims(resume.claims);
        }
        self.set_permission(ctx, key, permission);
        self.updates.tell_missed(ctx, &self.roster, key, away_since);
        self.subscribers.set_returning(None);
        self.subscribers
            .tell_track_permissions_again(ctx, &mut self.roster, key);
        self.roster.notify(ctx, key, Notification::Room(self.info()));
        send_quality(ctx, &self.roster, key);
        subscribing::send_pauses(ctx, &self.roster, key);
        if simulated_fault == Some(SimulatedFault::Disconnect) {
            break_connection(ctx, connection);
            return self.detach(ctx, key);
        }
        // Of one that moves, media flows at the node before until its client restarts ICE.
        if !moving::returned(self, ctx, key) {
            restart_subscriber(ctx, &mut self.roster, key);
            self.subscribers.negotiate(key);
        }
        if let Some(state) = resume.sync_state {
            self.take_sync_state(ctx, key, state);
        }
        if let Some(offer) = resume.offer {
            self.take_offer(ctx, key, offer);
        }
        self.data.tracks.tell_handles_again(ctx, &self.roster, key);
        refresh_token(ctx, &self.roster, key);
    }

    /// The view that a client has of its session when it comes back.
    pub(in crate::room) fn take_sync_state(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, state: SyncState) {
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        let mut published = state.published_sids.iter();
        let data_tracks = &participant.data.tracks.published;
        let has_data_track = |sid: &String| data_tracks.values().any(|(_, info)| info.sid == *sid);
        if published.any(|sid| participant.publications.by_sid(sid).is_none())
            || !state.published_data_sids.iter().all(has_data_track)
        {
            // It publishes what we know nothing of: there is no common state to go on from.
            return self.dismiss(ctx, key, EndReason::StateMismatch, EndAction::Reconnect);
        }
        moving::note_channels(&mut self.roster, key, &state.channels);
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        let received = state.received.into_iter().take(crate::limits::PARTICIPANTS_MAX);
        participant.data.packets.received = received.collect();
        let auto_subscribe = participant.subscriptions.are_automatic();
        if let Some(track_sids) = state.exceptions {
            let subscribe = !auto_subscribe;
            self.update_subscription(ctx, key, UpdateSubscription { track_sids, subscribe });
        }
        for sid in state.disabled_sids.iter().take(crate::limits::REQUEST_TRACKS_MAX) {
            self.subscribers.set_settings(
                ctx,
                &mut self.roster,
                &self.publications,
                key,
                sid,
                Settings::disabled(),
            );
        }
        self.data.replay(ctx, &mut self.roster, key);
    }
}

/// Ends a connection as a test asked for.
pub(super) fn break_connection(ctx: &mut Context<'_>, connection: ConnectionId) {
    ctx.out.push(Output::End {
        connection,
        cause: EndCause::SimulatedFault,
    });
}
