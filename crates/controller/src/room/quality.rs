//! Telling how good connections are.

use southbound::{TransportId, TransportQuality};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::roster::{Roster, notify_many};
use crate::{ConnectionQuality, Notification, QualityInfo};

pub(super) fn take_quality(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    transport: TransportId,
    measured: TransportQuality,
) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some((quality, score)) = participant.quality.measure(ctx.now, transport, measured) else {
        return;
    };
    let info = info(&participant.profile.sid, quality, score);
    let participant = &roster[key];
    let publishes = !participant.publications.tracks.is_empty();
    let receivers = roster
        .all()
        .filter(|receiver| publishes && receiver.subscriptions.include(key));
    let told = std::iter::once(participant).chain(receivers);
    notify_many(ctx, told, Notification::ConnectionQuality(vec![info]));
}

/// Tells a participant that comes in or back how it is connected, and those it receives.
pub(super) fn send_quality(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
    let Some(receiver) = roster.get(key) else {
        return;
    };
    let concerns = |other: &&Participant| other.key == key || receiver.subscriptions.include(other.key);
    let told = roster
        .all()
        .filter(concerns)
        .filter_map(|participant| Some((participant, participant.quality.told()?)));
    let updates: Vec<_> = told
        .map(|(participant, (quality, score))| info(&participant.profile.sid, quality, score))
        .collect();
    if !updates.is_empty() {
        receiver.notify(ctx, Notification::ConnectionQuality(updates));
    }
}

fn info(sid: &str, quality: ConnectionQuality, score: f32) -> QualityInfo {
    QualityInfo {
        participant_sid: sid.to_owned(),
        quality,
        score,
    }
}
