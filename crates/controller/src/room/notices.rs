//! Notices of the agent about one participant's transports.

use southbound::{ChannelEnd, CloseReason, Notice, TransportId};

use super::{Room, moving, subscribing, timeline};
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{GOODBYE_TIMEOUT, SILENCE_TIMEOUT};
use crate::negotiation::{Peer, PeerState};
use crate::participant::{Link, Participant};
use crate::room::data::RELIABLE;
use crate::room::events;
use crate::room::quality::{send_quality, take_quality};
use crate::room::roster::Roster;
use crate::{Counter, EndAction, EndReason, Event, ParticipantState};

impl Room {
    pub(crate) fn notice(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, notice: Notice) {
        self.subscribers.acts(key);
        timeline::observe_notice(ctx, &self.roster, key, &notice);
        match notice {
            Notice::Connected { transport, .. } => self.transport_connected(ctx, key, transport),
            Notice::Disconnected { transport } => transport_disconnected(ctx, &mut self.roster, key, transport),
            Notice::Closed { reason, .. } => self.transport_closed(ctx, key, reason),
            Notice::ChannelOpened { transport, label } => {
                if let Some(peer) = peer_mut(&mut self.roster, key, transport)
                    && !peer.channels.contains(&label)
                {
                    peer.channels.push(label);
                }
            }
            Notice::ChannelClosed { transport, label, why } => {
                if let Some(participant) = self.roster.get_mut(key) {
                    channel_closed(ctx, self.profile.name(), participant, transport, &label, why);
                }
            }
            Notice::Quality { transport, quality } => take_quality(ctx, &mut self.roster, key, transport, quality),
            Notice::Paused { subscription, paused } => {
                subscribing::take_pause(ctx, &mut self.roster, key, subscription, paused)
            }
            // Which tracks and encodings arrive is the agent's business, until somebody here
            // decides by it.
            Notice::TrackStarted { .. } | Notice::Encodings { .. } | Notice::SubscriptionStarted { .. } => {}
            Notice::Node(_)
            | Notice::Audio(_)
            | Notice::MessageReceived { .. }
            | Notice::Reaches { .. }
            | Notice::Missed { .. }
            | Notice::Refused { .. }
            | Notice::Observation(_)
            | Notice::Relay(_) => {}
        }
    }

    fn transport_connected(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, transport: TransportId) {
        let Some(peer) = peer_mut(&mut self.roster, key, transport) else {
            return;
        };
        peer.state = PeerState::Connected;
        moving::note_connected(self, ctx, key, transport);
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        if participant
            .media
            .peers()
            .all(|peer| peer.state != PeerState::Disconnected)
        {
            participant.media.silent_since = None;
        }
        let is_awaited = participant
            .media
            .downlink()
            .is_some_and(|peer| peer.transport == transport);
        if is_awaited && participant.profile.state != ParticipantState::Active {
            participant.signalling.deadlines.connect = None;
            participant.profile.state = ParticipantState::Active;
            self.updates.announce(ctx, &mut self.roster, key);
            self.speaking.send_speakers(ctx, &self.roster, key);
            send_quality(ctx, &self.roster, key);
            self.data.tracks.begin_subscriptions(ctx, &mut self.roster, key);
            self.emit(ctx, || events::joined(&self.roster[key]));
        }
    }

    /// A transport that is gone does not come back: a client that is still there has to join anew,
    /// one that is not is gone too.
    fn transport_closed(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, reason: CloseReason) {
        let participant_ref = self.roster.participant_ref(key);
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        match (participant.signalling.link(), reason) {
            (Link::Detached { .. }, CloseReason::Peer) => return self.remove(ctx, key, EndReason::SignalClose),
            (Link::Attached(_), CloseReason::Peer) => {
                // Clients that leave may close their transport before they say so.
                participant.signalling.deadlines.goodbye =
                    Some(ctx.wake(GOODBYE_TIMEOUT, Timer::Participant(participant_ref)));
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

fn peer_mut(roster: &mut Roster, key: ParticipantKey, transport: TransportId) -> Option<&mut Peer> {
    roster.get_mut(key)?.media.peer_mut(transport)
}

fn channel_closed(
    ctx: &mut Context<'_>,
    room: &str,
    participant: &mut Participant,
    transport: TransportId,
    label: &str,
    why: ChannelEnd,
) {
    if why == ChannelEnd::TooSlow && label == RELIABLE {
        let (room, identity) = (room.to_owned(), participant.profile.identity.clone());
        ctx.event(Event::DataTooSlow { room, identity });
    }
    if let Some(peer) = participant.media.peer_mut(transport) {
        peer.channels.retain(|open| **open != *label);
    }
}

fn transport_disconnected(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey, transport: TransportId) {
    let participant_ref = roster.participant_ref(key);
    let Some(peer) = peer_mut(roster, key, transport) else {
        return;
    };
    peer.state = PeerState::Disconnected;
    ctx.wake(SILENCE_TIMEOUT, Timer::Participant(participant_ref));
    if let Some(participant) = roster.get_mut(key) {
        participant.media.silent_since.get_or_insert(ctx.now);
    }
}
