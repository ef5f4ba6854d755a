//! Telling how good connections are.

use livekit_protocol::signal_response::Message;
use livekit_protocol::{ConnectionQuality, ConnectionQualityInfo, ConnectionQualityUpdate};
use southbound::{TransportId, TransportQuality};

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::livekit::frame::Outgoing;
use crate::participant::Participant;

impl Room {
    pub(super) fn take_quality(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        transport: TransportId,
        measured: TransportQuality,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some((quality, score)) = participant.quality.measure(ctx.now, transport, measured) else {
            return;
        };
        let info = info(&participant.sid, quality, score);
        let update = ConnectionQualityUpdate { updates: vec![info] };
        let message = Outgoing::new(Message::ConnectionQuality(update));
        participant.send_outgoing(ctx, &message);
        if participant.tracks.is_empty() {
            return;
        }
        for receiver in self
            .participants
            .values()
            .filter(|receiver| receiver.subscriptions.include(key))
        {
            receiver.send_outgoing(ctx, &message);
        }
    }

    /// Tells a participant that comes in or back how it is connected, and those it receives.
    pub(super) fn send_quality(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(receiver) = self.participants.get(&key) else {
            return;
        };
        let concerns = |other: &&Participant| other.key == key || receiver.subscriptions.include(other.key);
        let told = self
            .participants
            .values()
            .filter(concerns)
            .filter_map(|participant| Some((participant, participant.quality.told()?)));
        let updates: Vec<_> = told
            .map(|(participant, (quality, score))| info(&participant.sid, quality, score))
            .collect();
        if !updates.is_empty() {
            receiver.send(ctx, Message::ConnectionQuality(ConnectionQualityUpdate { updates }));
        }
    }
}

fn info(sid: &str, quality: ConnectionQuality, score: f32) -> ConnectionQualityInfo {
    ConnectionQualityInfo {
        participant_sid: sid.to_owned(),
        quality: quality.into(),
        score,
    }
}
