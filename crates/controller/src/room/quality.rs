//! Telling how good connections are.

use southbound::{TransportId, TransportQuality};

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::{ConnectionQuality, Notification, QualityInfo};

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
        let participant = &self.participants[&key];
        let publishes = !participant.tracks.is_empty();
        let receivers = self
            .participants
            .values()
            .filter(|receiver| publishes && receiver.subscriptions.include(key));
        let told = std::iter::once(participant).chain(receivers);
        self.notify_many(ctx, told, Notification::ConnectionQuality(vec![info]));
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
            receiver.notify(ctx, Notification::ConnectionQuality(updates));
        }
    }
}

fn info(sid: &str, quality: ConnectionQuality, score: f32) -> QualityInfo {
    QualityInfo {
        participant_sid: sid.to_owned(),
        quality,
        score,
    }
}
