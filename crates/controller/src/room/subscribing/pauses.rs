//! Telling receivers that a picture is paused because their downlink does not carry it.

use southbound::SubscriptionId;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::roster::Roster;
use crate::subscription::Subscription;
use crate::{Notification, StreamState};

pub(in crate::room) fn take_pause(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    receiver: ParticipantKey,
    id: SubscriptionId,
    paused: bool,
) {
    let Some(participant) = roster.get_mut(receiver) else {
        return;
    };
    let Some(subscription) = participant.subscriptions.get_mut(id) else {
        return;
    };
    if std::mem::replace(&mut subscription.paused, paused) == paused {
        return;
    }
    let found = roster[receiver].subscriptions.get(id);
    let states = found
        .and_then(|subscription| stream_state(roster, subscription))
        .into_iter()
        .collect();
    send_stream_states(ctx, roster, receiver, states);
}

/// Tells a participant that comes back what is paused: it may have missed it.
pub(in crate::room) fn send_pauses(ctx: &mut Context<'_>, roster: &Roster, receiver: ParticipantKey) {
    let Some(participant) = roster.get(receiver) else {
        return;
    };
    let paused = participant
        .subscriptions
        .iter()
        .filter(|subscription| subscription.paused);
    let states = paused
        .filter_map(|subscription| stream_state(roster, subscription))
        .collect();
    send_stream_states(ctx, roster, receiver, states);
}

fn stream_state(roster: &Roster, subscription: &Subscription) -> Option<StreamState> {
    let publisher = roster.get(subscription.publisher)?;
    Some(StreamState {
        participant_sid: publisher.profile.sid.clone(),
        track_sid: publisher.publications.tracks.get(&subscription.track)?.sid().to_owned(),
        paused: subscription.paused,
    })
}

fn send_stream_states(ctx: &mut Context<'_>, roster: &Roster, receiver: ParticipantKey, states: Vec<StreamState>) {
    if let (false, Some(participant)) = (states.is_empty(), roster.get(receiver)) {
        participant.notify(ctx, Notification::StreamStates(states));
    }
}
