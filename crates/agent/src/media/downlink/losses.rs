//! Tells receivers with losses a longer playout delay.

use std::collections::BTreeMap;
use std::time::Duration;

use dataplane::{ReplicaId, ReplicaStatistics};
use southbound::{SubscriptionId, TransportId};
use wire::extension::PlayoutDelay;

use super::down_track::DownTrack;
use super::playout::{INTERVAL, INTERVAL_MAX};
use super::receiver::Receiver;
use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;
use crate::media::uplink::Uplink;

impl Downlink {
    /// A receiver asks for packets of a subscription for the first time.
    pub(super) fn missed(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        transport: TransportId,
        id: SubscriptionId,
        count: usize,
    ) {
        if count == 0 || !self.is_picture(env.uplink, id) {
            return;
        }
        let Some(receiver) = self.receivers.get_mut(&transport) else {
            return;
        };
        // Losses in a full queue are reduced by a lower bit rate, not by a longer playout delay.
        if !env.budgets.is_congested(transport) {
            receiver.playout.missed(cx.now, count);
            self.follow_losses(cx, env, transport);
        }
    }

    /// Counts the packets sent to a receiver in this round of reports.
    pub(super) fn count_sent(
        &mut self,
        env: &Env<'_>,
        transport: TransportId,
        replicas: &[(ReplicaId, ReplicaStatistics)],
    ) {
        let mut rate = 0;
        for (replica, statistics) in replicas {
            let id = self.by_replica.get(replica).copied();
            let Some(id) = id.filter(|id| self.is_picture(env.uplink, *id)) else {
                continue;
            };
            if let Some(known) = self.tracks.get_mut(&id) {
                rate += statistics.packets.saturating_sub(known.counted);
                known.counted = statistics.packets;
            }
        }
        if let Some(receiver) = self.receivers.get_mut(&transport) {
            receiver.playout.sent(rate);
        }
    }

    /// Tells a receiver its playout delay, if that changed.
    pub(in crate::media) fn follow_losses(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, transport: TransportId) {
        let Some(receiver) = self.receivers.get_mut(&transport) else {
            return;
        };
        let interval = picture_interval(env.uplink, receiver, &self.tracks);
        let round_trip = env.transports.get(transport).and_then(|known| known.least_round_trip());
        let Some(round_trip) = round_trip else { return };
        let max = cx.shared.config.playout_delay_max;
        if receiver.playout.follow(cx.now, interval + round_trip, max) {
            cx.count(Counter::PlayoutDelayChanged);
            self.write_replicas(cx, env, transport);
        }
    }

    /// The playout delay that the packets of a subscription carry.
    pub(super) fn playout_delay(&self, env: &Env<'_>, id: SubscriptionId) -> Option<PlayoutDelay> {
        let known = self.tracks.get(&id).filter(|_| self.is_picture(env.uplink, id))?;
        self.receivers.get(&known.subscription.transport)?.playout.word()
    }
}

/// The longest interval between two frames of a receiver's videos.
fn picture_interval(
    uplink: &Uplink,
    receiver: &Receiver,
    tracks: &BTreeMap<SubscriptionId, Box<DownTrack>>,
) -> Duration {
    let intervals = receiver.subscriptions.iter().filter_map(|id| {
        let fps = frames_per_second(uplink, tracks.get(id)?)?;
        Some(Duration::from_secs(1).checked_div(fps)?.min(INTERVAL_MAX))
    });
    intervals.max().unwrap_or(INTERVAL)
}

fn frames_per_second(uplink: &Uplink, known: &DownTrack) -> Option<u32> {
    let current = known.current.filter(|_| known.is_sent())?;
    let encoding = uplink.encoding_of(current.source)? as u8;
    let layer = |offer: &allocation::Offer| offer.target.layer;
    let offers = uplink.track(known.subscription.track)?.offers().iter();
    let theirs = offers.filter(|offer| {
        let is_within =
            layer(offer).spatial <= current.layer.spatial && layer(offer).temporal <= current.layer.temporal;
        offer.target.encoding == encoding && is_within
    });
    theirs.map(|offer| u32::from(offer.fps)).max()
}
