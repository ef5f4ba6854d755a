//! Notices of the agent about one participant's transports.

use southbound::{ChannelEnd, CloseReason, Notice, TransportId};

use super::Room;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{GOODBYE_TIMEOUT, SILENCE_TIMEOUT};
use crate::negotiation::{Peer, PeerState};
use crate::participant::Link;
use crate::room::data::RELIABLE;
use crate::{Counter, EndAction, EndReason, Event, ParticipantState};

impl Room {
    pub(crate) fn notice(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, notice: Notice) {
        self.acts(key);
        match notice {
            Notice::Connected { transport, .. } => self.transport_connected(ctx, key, transport),
            Notice::Disconnected { transport } => self.transport_disconnected(ctx, key, transport),
            Notice::Closed { reason, .. } => self.transport_closed(ctx, key, reason),
            Notice::ChannelOpened { transport, label } => {
                if let Some(peer) = self.peer_mut(key, transport)
                    && !peer.channels.contains(&label)
                {
                    peer.channels.push(label);
                }
            }
            Notice::ChannelClosed { transport, label, why } => self.channel_closed(ctx, key, transport, &label, why),
            Notice::Quality { transport, quality } => self.take_quality(ctx, key, transport, quality),
            Notice::Paused { subscription, paused } => self.take_pause(ctx, key, subscription, paused),
            // Which tracks and encodings arrive is the agent's business, until somebody here
            // decides by it.
            Notice::TrackStarted { .. } | Notice::Encodings { .. } | Notice::SubscriptionStarted { .. } => {}
            Notice::Node(_)
            | Notice::Audio(_)
            | Notice::MessageReceived { .. }
            | Notice::Refused { .. }
            | Notice::Observation(_)
            | Notice::Relay(_) => {}
        }
    }

    fn channel_closed(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        transport: TransportId,
        label: &str,
        why: ChannelEnd,
    ) {
        let room = self.name.clone();
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if why == ChannelEnd::TooSlow && label == RELIABLE {
            let identity = participant.identity.clone();
            ctx.event(Event::DataTooSlow { room, identity });
        }
        if let Some(peer) = participant.peers_mut().find(|peer| peer.transport == transport) {
            peer.channels.retain(|open| **open != *label);
        }
    }

    fn peer_mut(&mut self, key: ParticipantKey, transport: TransportId) -> Option<&mut Peer> {
        self.participants
            .get_mut(&key)?
            .peers_mut()
            .find(|peer| peer.transport == transport)
    }

    fn transport_connected(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, transport: TransportId) {
        let Some(peer) = self.peer_mut(key, transport) else {
            return;
        };
        peer.state = PeerState::Connected;
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if participant.peers().all(|peer| peer.state != PeerState::Disconnected) {
            participant.silent_since = None;
        }
        let is_awaited = participant.downlink().is_some_and(|peer| peer.transport == transport);
        if is_awaited && participant.state != ParticipantState::Active {
            participant.deadlines.connect = None;
            participant.state = ParticipantState::Active;
            self.announce(ctx, key);
            self.send_speakers(ctx, key);
            self.send_quality(ctx, key);
            self.begin_data_subscriptions(ctx, key);
            self.emit_joined(ctx, key);
        }
    }

    fn transport_disconnected(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, transport: TransportId) {
        let participant_ref = self.participant_ref(key);
        let Some(peer) = self.peer_mut(key, transport) else {
            return;
        };
        peer.state = PeerState::Disconnected;
        ctx.wake(SILENCE_TIMEOUT, Timer::Participant(participant_ref));
        if let Some(participant) = self.participants.get_mut(&key) {
            participant.silent_since.get_or_insert(ctx.now);
        }
    }

    /// A transport that is gone does not come back: a client that is still there has to join anew,
    /// one that is not is gone too.
    fn transport_closed(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: CloseReason) {
        let participant_ref = self.participant_ref(key);
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        match (participant.link, reason) {
            (Link::Detached { .. }, CloseReason::Peer) => return self.remove(ctx, key, EndReason::SignalClose),
            (Link::Attached(_), CloseReason::Peer) => {
                // Clients that leave may close their transport before they say so.
                participant.deadlines.goodbye = Some(ctx.wake(GOODBYE_TIMEOUT, Timer::Participant(participant_ref)));
                return;
            }
            _ => {}
        }
        let why = match reason {
            CloseReason::NeverConnected => {
                ctx.count(Counter::NeverConnected);
                EndReason::ConnectionTimeout
            }
            CloseReason::ConsentExpired | CloseReason::Peer => EndReason::ConnectionTimeout,
            CloseReason::Handshake | CloseReason::Fingerprint => EndReason::MediaFailure,
        };
        self.dismiss(ctx, key, why, EndAction::Reconnect);
    }
}
