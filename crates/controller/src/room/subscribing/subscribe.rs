//! Subscriptions: which participant receives which track.

use operator::Observation;
use southbound::{Command, SubscriptionId, TrackId};

use super::deliver::release;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{REQUEST_TRACKS_MAX, SUBSCRIPTIONS_MAX};
use crate::room::publishing::Publications;
use crate::room::roster::Roster;
use crate::room::subscribing::Subscribers;
use crate::room::subscribing::deliver::send_subscription;
use crate::room::timeline;
use crate::room::updates::Updates;
use crate::subscription::{Settings, Subscription, SubscriptionState};
use crate::track::Version;
use crate::{Counter, Notification, SubscriptionError, TrackSettings, UpdateSubscription};

impl Subscribers {
    /// A newcomer gets what everybody publishes, as far as it wants and may.
    pub(in crate::room) fn subscribe_to_everybody(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        receiver: ParticipantKey,
    ) {
        let tracks: Vec<_> = roster.all().flat_map(|publisher| publisher.track_keys()).collect();
        for (publisher, track) in tracks {
            self.reconcile(ctx, roster, updates, receiver, publisher, track);
        }
    }

    /// A new track goes to everybody who wants and may have it.
    pub(in crate::room) fn offer_to_everybody(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        for receiver in roster.others(publisher) {
            self.reconcile(ctx, roster, updates, receiver, publisher, track);
        }
    }

    /// Begins or ends a subscription, whichever brings it to how it should be.
    pub(in crate::room) fn reconcile(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        self.tell_track_permission(ctx, roster, updates, receiver, publisher, track);
        let Some(participant) = roster.get(receiver) else {
            return;
        };
        let existing = participant.subscriptions.to(track).map(|subscription| subscription.id);
        match (should_have(roster, receiver, publisher, track), existing) {
            (true, None) if !updates.is_held(publisher) => {
                self.begin_subscription(ctx, roster, receiver, publisher, track)
            }
            (false, Some(subscription)) => self.end_subscription(ctx, roster, receiver, subscription),
            _ => {}
        }
    }

    fn begin_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        let found = roster.get(publisher);
        let Some(kind) = found
            .and_then(|found| found.publications.tracks.get(&track))
            .map(|track| track.kind)
        else {
            return;
        };
        let participant_ref = roster.participant_ref(receiver);
        let Some(participant) = roster.get_mut(receiver) else {
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
        self.demand(track);
        ctx.core.index.subscriptions.insert(id, participant_ref);
        timeline::observe_subscription(ctx, roster, receiver, id, Observation::Subscribe);
        self.negotiate(receiver);
    }

    pub(in crate::room) fn end_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        receiver: ParticipantKey,
        id: SubscriptionId,
    ) {
        timeline::observe_subscription(ctx, roster, receiver, id, Observation::Unsubscribe);
        let Some(participant) = roster.get_mut(receiver) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.remove(id) else {
            return;
        };
        ctx.core.index.subscriptions.remove(&id);
        self.demand(subscription.track);
        if let SubscriptionState::Active(..) = subscription.state {
            ctx.command(participant.media.node, Command::Unsubscribe { subscription: id });
        }
        release(participant, id);
        self.negotiate(receiver);
    }

    /// Begins a subscription anew that cannot go on, as its receiver wants it.
    pub(in crate::room) fn restart_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        receiver: ParticipantKey,
        id: SubscriptionId,
    ) {
        let found = roster.get(receiver).and_then(|found| found.subscriptions.get(id));
        let Some(&Subscription {
            publisher,
            track,
            settings,
            ..
        }) = found
        else {
            return;
        };
        self.end_subscription(ctx, roster, receiver, id);
        self.reconcile(ctx, roster, updates, receiver, publisher, track);
        if let Some(again) = roster
            .get_mut(receiver)
            .and_then(|found| found.subscriptions.to_mut(track))
        {
            again.settings = settings;
        }
    }

    /// The second codec of a track is no longer sent. Its receivers begin anew, and wait for it if
    /// nothing else will do.
    pub(in crate::room) fn lose_backup(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        self.demand(track);
        for receiver in roster.others(publisher) {
            let subscription = roster[receiver].subscriptions.to(track);
            if let Some((id, SubscriptionState::Active(_, Version::Backup))) =
                subscription.map(|found| (found.id, found.state))
            {
                self.restart_subscription(ctx, roster, updates, receiver, id);
            }
        }
    }

    /// The agent ends the subscriptions of a track that ends, so there is nothing to tell it.
    pub(in crate::room) fn end_subscriptions_to(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, track: TrackId) {
        for participant in roster.all_mut() {
            participant.subscriptions.permit(track);
            let Some(id) = participant.subscriptions.to(track).map(|subscription| subscription.id) else {
                continue;
            };
            participant.subscriptions.remove(id);
            ctx.core.index.subscriptions.remove(&id);
            release(participant, id);
            self.negotiate(participant.key);
        }
    }

    /// A client asks for tracks, or asks not to have them.
    pub(crate) fn update_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        publications: &Publications,
        receiver: ParticipantKey,
        request: UpdateSubscription,
    ) {
        for sid in request.track_sids.into_iter().take(REQUEST_TRACKS_MAX) {
            let Some((publisher, track)) = publications.find(&sid) else {
                if request.subscribe
                    && let Some(participant) = roster.get(receiver)
                {
                    let failed = Notification::SubscriptionFailed {
                        track_sid: sid,
                        error: SubscriptionError::TrackNotFound,
                    };
                    participant.notify(ctx, failed);
                }
                continue;
            };
            if let Some(participant) = roster.get_mut(receiver) {
                participant.subscriptions.wish(sid, request.subscribe);
                // Clients that ask for a track take it as permitted until they are told otherwise.
                if request.subscribe {
                    participant.subscriptions.permit(track);
                }
            }
            self.reconcile(ctx, roster, updates, receiver, publisher, track);
        }
        forget_old_overrides(roster, publications, receiver);
    }

    /// A client says how well it wants tracks.
    pub(in crate::room) fn update_track_settings(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        publications: &Publications,
        receiver: ParticipantKey,
        request: &TrackSettings,
    ) {
        let settings = Settings::from_request(request);
        for sid in request.track_sids.iter().take(REQUEST_TRACKS_MAX) {
            self.set_settings(ctx, roster, publications, receiver, sid, settings);
        }
    }

    pub(in crate::room) fn set_settings(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        publications: &Publications,
        receiver: ParticipantKey,
        sid: &str,
        settings: Settings,
    ) {
        let Some((_, track)) = publications.find(sid) else {
            return;
        };
        let Some(participant) = roster.get_mut(receiver) else {
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
        self.demand(track);
        send_subscription(ctx, roster, receiver, id);
    }
}

fn should_have(roster: &Roster, receiver: ParticipantKey, publisher: ParticipantKey, track: TrackId) -> bool {
    let (Some(to), Some(from)) = (roster.get(receiver), roster.get(publisher)) else {
        return false;
    };
    let Some(track) = from
        .publications
        .tracks
        .get(&track)
        .filter(|track| track.media.is_some())
    else {
        return false;
    };
    let wanted = to.subscriptions.wants(track.sid());
    let allowed = to.authorization.permission.subscribe && from.admits(to, track.sid());
    wanted && allowed && receiver != publisher && !from.authorization.permission.hidden
}

/// Wishes about tracks that are gone are dropped, so that the list is never longer than the
/// tracks of the room.
fn forget_old_overrides(roster: &mut Roster, publications: &Publications, receiver: ParticipantKey) {
    if let Some(participant) = roster.get_mut(receiver) {
        let subscriptions = &mut participant.subscriptions;
        subscriptions.retain_wishes(|sid| publications.find(sid).is_some());
    }
}
