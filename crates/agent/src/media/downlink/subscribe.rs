//! Adds, changes and removes subscriptions.

use dataplane::Update;
use southbound::{Notice, Subscription, SubscriptionId, TrackId};

use super::down_track::{Choice, DownTrack};
use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;
use crate::limits::{SUBSCRIPTIONS_PER_TRANSPORT_MAX, SUBSCRIPTIONS_PER_TRUNK_MAX};
use crate::media::media_transport::MediaTransport;
use crate::timers::Timer;

impl Downlink {
    /// Whether a known subscription cannot become this one without new sequence numbers.
    pub(in crate::media) fn is_replaced_by(&self, new: &Subscription) -> bool {
        let fixed = |known: &Subscription| (known.transport, known.track, known.ssrc, known.rtx);
        let known = self.tracks.get(&new.subscription);
        known.is_some_and(|known| fixed(&known.subscription) != fixed(new))
    }

    /// A receiver gets a track, or differently than before. Returns whether the subscription is
    /// taken.
    pub(in crate::media) fn subscribe(&mut self, cx: &mut Context<'_>, env: &Env<'_>, new: Subscription) -> bool {
        let (id, transport) = (new.subscription, new.transport);
        let Some(receiver) = self.receivers.get_mut(&transport) else {
            cx.count(Counter::MediaDangling);
            return false;
        };
        let most = match env.transports.get(transport).is_some_and(MediaTransport::is_direct) {
            true => SUBSCRIPTIONS_PER_TRUNK_MAX,
            false => SUBSCRIPTIONS_PER_TRANSPORT_MAX,
        };
        if !receiver.subscriptions.contains(&id) && receiver.subscriptions.len() >= most {
            cx.count(Counter::MediaFull);
            cx.notice(Notice::Refused {
                transport,
                why: "a transport has too many subscriptions".into(),
            });
            return false;
        }
        match self.tracks.get_mut(&id) {
            Some(known) => {
                if known.subscription.settings != new.settings {
                    known.switches.request(cx.now);
                }
                known.subscription = new;
            }
            None => {
                receiver.subscriptions.insert(id);
                receiver.by_ssrc.insert(new.ssrc, id);
                self.by_track.entry(new.track).or_default().insert(id);
                if env.uplink.track(new.track).is_none() {
                    cx.count(Counter::MediaDangling);
                }
                self.tracks.insert(id, Box::new(DownTrack::new(new)));
            }
        }
        true
    }

    /// Applies the state of a track to a new subscription.
    pub(in crate::media) fn adopt(&mut self, env: &Env<'_>, id: SubscriptionId) {
        let is_picture = self.is_picture(env.uplink, id);
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        if let Some(track) = env.uplink.track(known.subscription.track) {
            known.held = track.is_held();
        }
        let is_estimated = env.budgets.get(known.subscription.transport).is_some();
        if is_picture && is_estimated && known.choice == Choice::Free {
            known.choice = Choice::Undecided;
        }
    }

    /// A track is forwarded to nobody, or to everybody again.
    pub(in crate::media) fn set_held(&mut self, track: TrackId, is_held: bool) {
        for id in self.by_track.get(&track).into_iter().flatten() {
            if let Some(known) = self.tracks.get_mut(id) {
                known.held = is_held;
            }
        }
    }

    /// A receiver no longer gets a track.
    pub(in crate::media) fn unsubscribe(&mut self, cx: &mut Context<'_>, env: &Env<'_>, id: SubscriptionId) {
        let Some(gone) = self.tracks.remove(&id) else { return };
        cx.shared.timers.clear(Timer::Fill(id));
        let subscription = gone.subscription;
        if let Some(subscribers) = self.by_track.get_mut(&subscription.track) {
            subscribers.remove(&id);
            if subscribers.is_empty() {
                self.by_track.remove(&subscription.track);
            }
        }
        if let Some(receiver) = self.receivers.get_mut(&subscription.transport) {
            receiver.subscriptions.remove(&id);
            receiver.by_ssrc.remove(&subscription.ssrc);
        }
        if let Some(transport) = env.transports.get(subscription.transport)
            && let (Some(leg), true) = (transport.leg(), gone.delivered)
        {
            let mut compound = Vec::new();
            transport.compound(&mut compound, &[]).bye(&[subscription.ssrc]);
            cx.send_rtcp(leg, &compound);
        }
        if let Some(entry) = gone.entry {
            cx.write(Update::RemoveReplica(entry.replica));
            self.by_replica.remove(&entry.replica);
            self.replica_ids.release(entry.replica.0);
        }
    }
}
