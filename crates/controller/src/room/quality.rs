//! Telling how good connections are.

use livekit_protocol::signal_response::Message;
use livekit_protocol::{ConnectionQuality, ConnectionQualityInfo, ConnectionQualityUpdate};
use southbound::{TransportId, TransportQuality};

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;

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
        for (other, participant) in &self.participants {
            let receives = participant.subscriptions.include(key);
            if *other == key || receives {
                let update = ConnectionQualityUpdate {
                    updates: vec![info.clone()],
                };
                participant.send(ctx, Message::ConnectionQuality(update));
            }
        }
    }

    /// Tells a participant that comes in or back how everybody is connected.
    pub(super) fn send_quality(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let told = self
            .participants
            .values()
            .filter_map(|participant| Some((participant, participant.quality.told()?)));
        let updates: Vec<_> = told
            .map(|(participant, (quality, score))| info(&participant.sid, quality, score))
            .collect();
        if let (false, Some(participant)) = (updates.is_empty(), self.participants.get(&key)) {
            participant.send(ctx, Message::ConnectionQuality(ConnectionQualityUpdate { updates }));
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
