//! Divides a downlink among the subscriptions of its receiver.

use std::time::Duration;

use southbound::{SubscriptionId, TransportId};

use super::Media;
use super::budget::{Budget, Path, Share};
use crate::context::Context;
use crate::timers::Timer;

/// Interval of divisions without another cause, since rates change.
const INTERVAL: Duration = Duration::from_millis(250);

/// The same for a receiver that has everything it wants and room to spare. A lower estimate or a
/// changed request is followed at once in either case.
const INTERVAL_AT_EASE: Duration = Duration::from_secs(1);

impl Media {
    /// Begins to estimate if that is possible and useful: for video, which has several sizes.
    pub(super) fn begin_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        if self.budgets.may_begin(cx, transport) && self.downlink.gets_pictures(&self.uplink, transport) {
            self.budgets.begin(cx, transport);
            self.follow_estimate(cx, transport);
            self.budgets.allocate_by(cx, transport, cx.now);
        }
    }

    /// Begins the estimate of a transport's downlink anew, if there is one.
    pub(super) fn restart_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        if self.budgets.get(transport).is_some() {
            self.budgets.begin(cx, transport);
            self.follow_estimate(cx, transport);
            self.budgets.allocate_by(cx, transport, cx.now);
        }
    }

    /// A transport's subscriptions get at most this rate together.
    pub(crate) fn set_downlink_limit(&mut self, cx: &mut Context<'_>, transport: TransportId, limit: Option<u64>) {
        self.budgets.set_limit(transport, limit);
        self.budgets.allocate_by(cx, transport, cx.now);
    }

    /// A timer of the estimator has expired.
    pub(crate) fn estimate_timeout(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        if self.budgets.timeout(cx, transport, self.transports.leg(transport)) {
            self.follow_estimate(cx, transport);
        }
    }

    /// Applies the newest estimate.
    pub(super) fn follow_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(leg) = self.transports.leg(transport) else {
            return;
        };
        let belief = self.budgets.follow(cx, transport, leg);
        if belief.is_exceeded {
            self.budgets.allocate_by(cx, transport, cx.now);
        }
        if belief.has_drained {
            // Key frames that waited for the queue to be gone.
            let (downlink, mut env) = self.downlink();
            downlink.request_awaited_key_frames(cx, &mut env, transport);
        }
    }

    /// Divides a receiver's downlink.
    pub(crate) fn allocate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(budget) = self.budgets.get(transport) else {
            return;
        };
        let estimate = budget.estimate();
        let (is_short, mut path) = (budget.is_exceeded(&estimate), budget.path(&estimate));
        let is_deaf = budget.is_deaf(cx.now);
        let subscriptions = self.downlink.subscriptions_of(transport);
        let shares = match is_deaf {
            true => subscriptions.iter().map(|id| (*id, None)).collect(),
            false => self.divide(cx, transport, &subscriptions),
        };
        let mut any = false;
        for (id, share) in shares {
            let (downlink, mut env) = self.downlink();
            if downlink.is_picture(env.uplink, id) {
                any = true;
                downlink.set_fallback(id, share, is_short);
                if downlink.grant(cx, &mut env, id, share.map(|share| share.grant), path) {
                    // Its key frame is sent now, so the key frames of the others should wait.
                    path = Path::Full;
                }
            }
        }
        if any {
            let interval = match self.budgets.get(transport).is_some_and(Budget::is_at_ease) {
                true => INTERVAL_AT_EASE,
                false => INTERVAL,
            };
            cx.routine_timer(Timer::Allocate(transport), cx.now + interval);
        }
    }

    /// The share of each subscription.
    fn divide(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        subscriptions: &[SubscriptionId],
    ) -> Vec<(SubscriptionId, Option<Share>)> {
        self.downlink.refresh_offers(cx, &mut self.uplink, transport);
        let Some(budget) = self.budgets.get_mut(transport) else {
            return Vec::new();
        };
        let may_pause = budget.is_trusted(cx.now);
        let requests = subscriptions.iter();
        let requests = requests.filter_map(|id| self.downlink.request(&self.uplink, *id, may_pause, cx.now));
        let requests: Vec<_> = requests.collect();
        let shares = budget.allocate(cx.now, &requests);
        let granted = requests.iter().zip(shares);
        granted
            .map(|(request, share)| (SubscriptionId(request.key.0), Some(share)))
            .collect()
    }

    /// Chooses the videos a receiver is shown at all, where the operator set a number.
    pub(super) fn choose_shown(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let last_n = cx.shared.config.last_n;
        if last_n == 0 {
            return;
        }
        let slots = self.downlink.video_slots(cx, &self.uplink, transport);
        let shown = self.budgets.choose_shown(transport, last_n, &slots);
        for slot in slots {
            let left_out = shown.binary_search(&slot.key).is_err();
            let (downlink, mut env) = self.downlink();
            downlink.set_left_out(cx, &mut env, SubscriptionId(slot.key.0), left_out);
        }
    }
}
