//! Coming back on a new connection, with the media still flowing.

use livekit_protocol::leave_request::Action;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{DisconnectReason, ReconnectResponse, SyncState};

use super::Room;
use super::join::{client_configuration, ice_servers, server_info};
use super::updates::update;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::livekit::Admission;
use crate::participant::{Link, Participant, Sabotage};
use crate::subscription::Settings;
use crate::{ConnectionId, Event, Output};

impl Room {
    /// The participant a client says it is, if it is still here and may be it.
    pub(crate) fn returning(&self, admission: &Admission) -> Option<ParticipantKey> {
        let sid = &admission.resume.as_ref()?.sid;
        let found = self
            .participants
            .values()
            .find(|participant| participant.identity == admission.identity())?;
        (found.sid == *sid && found.mode == admission.mode).then_some(found.key)
    }

    /// Swaps the connection and tells everything that may have been missed. Media is not touched, except that both sides restart ICE.
    pub(crate) fn resume(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        connection: ConnectionId,
        admission: Admission,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        self.actor = Some(key);
        let away_since = match participant.signal.link {
            Link::Attached(old) => {
                ctx.out.push(Output::Close {
                    connection: old,
                    code: 1000,
                    reason: "replaced by a newer connection",
                });
                ctx.now
            }
            Link::Detached { since } => since,
        };
        participant.signal.link = Link::Attached(connection);
        participant.asked = None;
        let sabotage = participant.sabotage.take();
        if sabotage == Some(Sabotage::DisconnectSilently) {
            return self.break_connection(ctx, key, connection);
        }
        ctx.event(Event::Resumed {
            room: self.name.clone(),
            identity: participant.identity.clone(),
            connection,
        });
        let reconnect = ReconnectResponse {
            ice_servers: ice_servers(ctx),
            client_configuration: Some(client_configuration(participant)),
            server_info: Some(server_info(ctx)),
            last_message_seq: participant.data.last_sequence,
        };
        participant.send(ctx, Message::Reconnect(reconnect));
        self.take_rights(ctx, key, admission.claims);
        self.tell_what_was_missed(ctx, key, away_since);
        if sabotage == Some(Sabotage::Disconnect) {
            return self.break_connection(ctx, key, connection);
        }
        self.restart_subscriber(ctx, key);
        self.touched.insert(key);
        if let Some(state) = admission.sync_state {
            self.take_sync_state(ctx, key, state);
        }
        if let Some(offer) = admission.offer {
            self.take_offer(ctx, key, offer.read());
        }
        self.refresh_token(ctx, key);
    }

    fn tell_what_was_missed(&self, ctx: &mut Context<'_>, key: ParticipantKey, away_since: std::time::Instant) {
        let visible = self
            .participants
            .values()
            .filter(|other| other.key == key || other.is_visible(ctx.core.config.visible));
        let mut infos: Vec<_> = visible.map(Participant::info).collect();
        for (_, info) in self.departed.iter().filter(|(at, _)| *at >= away_since) {
            if !infos.iter().any(|known| known.identity == info.identity) {
                infos.push(info.clone());
            }
        }
        self.participants[&key].send(ctx, update(infos));
        self.send_room(ctx, key);
        self.send_quality(ctx, key);
        self.send_pauses(ctx, key);
    }

    fn break_connection(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, connection: ConnectionId) {
        ctx.out.push(Output::Close {
            connection,
            code: 1011,
            reason: "as the test asked",
        });
        self.detach(ctx, key);
    }

    /// What a client that came back believes.
    pub(super) fn take_sync_state(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, state: SyncState) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let mut published = state
            .publish_tracks
            .iter()
            .filter_map(|published| published.track.as_ref());
        if published.any(|track| participant.track_by_sid(&track.sid).is_none()) {
            // It publishes what we know nothing of: there is no common state to go on from.
            return self.dismiss(ctx, key, DisconnectReason::StateMismatch, Action::Reconnect);
        }
        let received = state
            .datachannel_receive_states
            .into_iter()
            .take(crate::limits::PARTICIPANTS_MAX);
        participant.data.received = received.map(|state| (state.publisher_sid, state.last_seq)).collect();
        let auto_subscribe = participant.auto_subscribe;
        if let Some(mut subscription) = state.subscription {
            // The list is of exceptions: what an automatic subscriber does not want, or what another does.
            subscription.subscribe = !auto_subscribe;
            self.update_subscription(ctx, key, subscription);
        }
        for sid in state.track_sids_disabled.iter().take(crate::limits::REQUEST_TRACKS_MAX) {
            self.set_settings(ctx, key, sid, Settings::disabled());
        }
        self.replay_data(ctx, key);
    }
}
