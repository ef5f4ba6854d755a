//! Telling receivers that a picture is paused because their downlink does not carry it.

use southbound::SubscriptionId;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::Room;
use crate::subscription::Subscription;
use crate::{Notification, StreamState};

impl Room {
    pub(in crate::room) fn take_pause(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        id: SubscriptionId,
        paused: bool,
    ) {
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.get_mut(id) else {
            return;
        };
        if std::mem::replace(&mut subscription.paused, paused) == paused {
            return;
        }
        let found = self.participants[&receiver].subscriptions.get(id);
        let states = found
            .and_then(|subscription| self.stream_state(subscription))
            .into_iter()
            .collect();
        self.send_stream_states(ctx, receiver, states);
    }

    /// Tells a participant that comes back what is paused: it may have missed it.
    pub(in crate::room) fn send_pauses(&self, ctx: &mut Context<'_>, receiver: ParticipantKey) {
        let Some(participant) = self.participants.get(&receiver) else {
            return;
        };
        let paused = participant
            .subscriptions
            .iter()
            .filter(|subscription| subscription.paused);
        let states = paused
            .filter_map(|subscription| self.stream_state(subscription))
            .collect();
        self.send_stream_states(ctx, receiver, states);
    }

    fn stream_state(&self, subscription: &Subscription) -> Option<StreamState> {
        let publisher = self.participants.get(&subscription.publisher)?;
        Some(StreamState {
            participant_sid: publisher.sid.clone(),
            track_sid: publisher.tracks.get(&subscription.track)?.sid().to_owned(),
            paused: subscription.paused,
        })
    }

    fn send_stream_states(&self, ctx: &mut Context<'_>, receiver: ParticipantKey, states: Vec<StreamState>) {
        if let (false, Some(participant)) = (states.is_empty(), self.participants.get(&receiver)) {
            participant.notify(ctx, Notification::StreamStates(states));
        }
    }
}
