//! Subscriptions: which participant receives which track.

use southbound::{Command, SubscriptionId, TrackId};

use super::deliver::release;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{REQUEST_TRACKS_MAX, SUBSCRIPTIONS_MAX};
use crate::room::Room;
use crate::subscription::{Settings, Subscription, SubscriptionState};
use crate::{Counter, Notification, SubscriptionError, TrackSettings, UpdateSubscription};

impl Room {
    /// A newcomer gets what everybody publishes, as far as it wants and may.
    pub(in crate::room) fn subscribe_to_everybody(&mut self, ctx: &mut Context<'_>, receiver: ParticipantKey) {
        let tracks: Vec<_> = self
            .participants
            .values()
            .flat_map(|publisher| publisher.tracks.keys().map(|track| (publisher.key, *track)))
            .collect();
        for (publisher, track) in tracks {
            self.reconcile(ctx, receiver, publisher, track);
        }
    }

    /// A new track goes to everybody who wants and may have it.
    pub(in crate::room) fn offer_to_everybody(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        for receiver in self.others(publisher) {
            self.reconcile(ctx, receiver, publisher, track);
        }
    }

    /// Begins or ends a subscription, whichever brings it to how it should be.
    pub(in crate::room) fn reconcile(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        self.tell_track_permission(ctx, receiver, publisher, track);
        let Some(participant) = self.participants.get(&receiver) else {
            return;
        };
        let existing = participant.subscriptions.to(track).map(|subscription| subscription.id);
        match (self.should_have(receiver, publisher, track), existing) {
            (true, None) if !self.is_held(publisher) => self.begin_subscription(ctx, receiver, publisher, track),
            (false, Some(subscription)) => self.end_subscription(ctx, receiver, subscription),
            _ => {}
        }
    }

    fn should_have(&self, receiver: ParticipantKey, publisher: ParticipantKey, track: TrackId) -> bool {
        let (Some(to), Some(from)) = (self.participants.get(&receiver), self.participants.get(&publisher)) else {
            return false;
        };
        let Some(track) = from.tracks.get(&track).filter(|track| track.media.is_some()) else {
            return false;
        };
        let wanted = to
            .subscription_overrides
            .get(track.sid())
            .copied()
            .unwrap_or(to.auto_subscribe);
        let allowed = to.permission.subscribe && from.admits(to, track.sid());
        wanted && allowed && receiver != publisher && !from.permission.hidden
    }

    fn begin_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        let found = self.participants.get(&publisher);
        let Some(kind) = found.and_then(|found| found.tracks.get(&track)).map(|track| track.kind) else {
            return;
        };
        let participant_ref = self.participant_ref(receiver);
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        if participant.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return ctx.count(Counter::LimitExceeded);
        }
        let id = ctx.core.ids.subscription();
        let settings = Settings::default();
        let subscription = Subscription {
            id,
            track,
            publisher,
            kind,
            settings,
            state: SubscriptionState::Waiting,
            paused: false,
        };
        participant.subscriptions.insert(subscription);
        self.pending.demands.insert(track);
        ctx.core.index.subscriptions.insert(id, participant_ref);
        self.pending.negotiations.insert(receiver);
    }

    pub(in crate::room) fn end_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        id: SubscriptionId,
    ) {
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.remove(id) else {
            return;
        };
        ctx.core.index.subscriptions.remove(&id);
        self.pending.demands.insert(subscription.track);
        if let SubscriptionState::Active(..) = subscription.state {
            ctx.command(participant.node, Command::Unsubscribe { subscription: id });
        }
        release(participant, id);
        self.pending.negotiations.insert(receiver);
    }

    /// The agent ends the subscriptions of a track that ends, so there is nothing to tell it.
    pub(in crate::room) fn end_subscriptions_to(&mut self, ctx: &mut Context<'_>, track: TrackId) {
        for (key, participant) in &mut self.participants {
            participant.denied.remove(&track);
            let Some(id) = participant.subscriptions.to(track).map(|subscription| subscription.id) else {
                continue;
            };
            participant.subscriptions.remove(id);
            ctx.core.index.subscriptions.remove(&id);
            release(participant, id);
            self.pending.negotiations.insert(*key);
        }
    }

    /// A client asks for tracks, or asks not to have them.
    pub(crate) fn update_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        request: UpdateSubscription,
    ) {
        for sid in request.track_sids.into_iter().take(REQUEST_TRACKS_MAX) {
            let Some((publisher, track)) = self.track_sids.get(&sid).copied() else {
                if request.subscribe
                    && let Some(participant) = self.participants.get(&receiver)
                {
                    let failed = Notification::SubscriptionFailed {
                        track_sid: sid,
                        error: SubscriptionError::TrackNotFound,
                    };
                    participant.notify(ctx, failed);
                }
                continue;
            };
            if let Some(participant) = self.participants.get_mut(&receiver) {
                participant.subscription_overrides.insert(sid, request.subscribe);
                // Clients that ask for a track take it as permitted until they are told otherwise.
                if request.subscribe {
                    participant.denied.remove(&track);
                }
            }
            self.reconcile(ctx, receiver, publisher, track);
        }
        self.forget_old_overrides(receiver);
    }

    /// Wishes about tracks that are gone are dropped, so that the list is never longer than the
    /// tracks of the room.
    fn forget_old_overrides(&mut self, receiver: ParticipantKey) {
        if let Some(participant) = self.participants.get_mut(&receiver) {
            participant
                .subscription_overrides
                .retain(|sid, _| self.track_sids.contains_key(sid));
        }
    }

    /// A client says how well it wants tracks.
    pub(in crate::room) fn update_track_settings(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        request: &TrackSettings,
    ) {
        let settings = Settings::from_request(request);
        for sid in request.track_sids.iter().take(REQUEST_TRACKS_MAX) {
            self.set_settings(ctx, receiver, sid, settings);
        }
    }

    pub(in crate::room) fn set_settings(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        sid: &str,
        settings: Settings,
    ) {
        let Some((_, track)) = self.track_sids.get(sid).copied() else {
            return;
        };
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(id) = participant.subscriptions.to(track).map(|subscription| subscription.id) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.get_mut(id) else {
            return;
        };
        if subscription.settings == settings {
            return;
        }
        subscription.settings = settings;
        self.pending.demands.insert(track);
        self.send_subscription(ctx, receiver, id);
    }
}
