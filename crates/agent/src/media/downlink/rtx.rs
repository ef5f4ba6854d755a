//! Answers receivers' NACKs from the data plane's cache, within limits. If the data plane has no
//! cache and nothing is encrypted, it may name the publisher to ask
//! ([`nack_upstream`](crate::media::uplink::Uplink::nack_upstream)).

use std::time::{Duration, Instant};

use dataplane::Inject;
use southbound::{SubscriptionId, TransportId};
use wire::rtcp::Nack;

use super::copies::{Copy, SPREAD};
use super::receiver::Receiver;
use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;
use crate::limits::{RESENDS_PER_SECOND_MAX, RESENDS_PER_SECOND_MIN};
use crate::media::budget::Budget;
use crate::media::rtx_history::{Admission, CONGESTED_WINDOW, MEMORY, RtxBounds};
use crate::timers::Timer;

/// The same packet is not sent twice within a round trip, which is taken for this until it is known
/// and is never less.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(20);

/// Approximate size of a retransmission. Shape: bytes.
const PACKET: u64 = 1_200;

/// Share of the sendable rate that retransmissions to one receiver may use while its path is
/// congested. They are sent on top of the grants: more of them would keep the queue full, which
/// loses as many again. The rest waits ([`deferred_rtx`](super::deferred_rtx)).
const CONGESTED_SHARE: f64 = 0.4;

impl Downlink {
    /// A receiver misses packets of a subscription.
    pub(in crate::media) fn answer_nack(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        transport: TransportId,
        id: SubscriptionId,
        nack: &Nack<'_>,
    ) {
        let (Some(receiver), Some(known)) = (self.receivers.get_mut(&transport), self.tracks.get_mut(&id)) else {
            return;
        };
        let mut bounds = bounds(env, receiver, transport, cx.now);
        let soonest = asks_after(env, transport);
        let is_kept = known.subscription.rtx.is_some();
        if known.entry.is_none() || !(is_kept || env.transports.is_clear(transport)) {
            cx.count(Counter::RtcpIgnored);
            return;
        }
        if !is_kept {
            bounds = bounds.of_publisher();
        }
        if env.uplink.is_overloaded(cx.now, cx.plane) {
            bounds.per_second = bounds.per_second.min(RESENDS_PER_SECOND_MIN);
            // These NACKs are not looked at one by one, nor as a sign of the path: the loss is
            // ours.
            if known.rtx_history.is_used_up(cx.now, bounds) {
                let refused = nack.sequences().count() as u64;
                cx.count_many(Counter::NackReceived, refused);
                cx.count_many(Counter::NackThrottled, refused);
                return;
            }
        }
        let (mut refused, mut deferred, mut new) = (0, 0, 0);
        let mut sequences = Vec::new();
        for sequence in nack.sequences() {
            if known.stale_rtx.has(cx.now, sequence.0, soonest) {
                refused += 1;
                continue;
            }
            new += usize::from(!known.rtx_history.has(sequence.0));
            match known
                .rtx_history
                .admit(cx.now, sequence.0, bounds, &mut receiver.rtx_limit)
            {
                Admission::Now => sequences.push(sequence.0),
                Admission::Later if receiver.deferred_rtx.defer(cx.now, id, sequence.0) => deferred += 1,
                Admission::Later | Admission::Never => refused += 1,
            }
        }
        if deferred > 0 {
            cx.timer_by(Timer::Copies(transport), receiver.rtx_limit.reopens(cx.now));
        }
        cx.count_many(Counter::NackReceived, refused + deferred + sequences.len() as u64);
        cx.count_many(Counter::NackThrottled, refused);
        if !sequences.is_empty() {
            let copy = Copy {
                at: cx.now,
                subscription: id,
                sequences,
                left: bounds.copies,
            };
            self.send_copy(cx, transport, copy);
        }
        self.missed(cx, env, transport, id, new);
    }

    /// Sends the repeated packets that are due.
    pub(in crate::media) fn send_copies(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, transport: TransportId) {
        let now = cx.now;
        let next = |receiver: &mut Receiver| receiver.copies.pop(now);
        while let Some(copy) = self.receivers.get_mut(&transport).map(Box::as_mut).and_then(next) {
            self.send_copy(cx, transport, copy);
        }
        self.send_deferred_rtx(cx, env, transport);
        let Some(receiver) = self.receivers.get(&transport) else {
            return;
        };
        let deferred = (!receiver.deferred_rtx.is_empty()).then(|| receiver.rtx_limit.reopens(cx.now));
        if let Some(next) = receiver.copies.next().into_iter().chain(deferred).min() {
            cx.timer(Timer::Copies(transport), next);
        }
    }

    /// Sends the deferred packets for which the path has room now.
    fn send_deferred_rtx(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, transport: TransportId) {
        let Some(receiver) = self.receivers.get_mut(&transport) else {
            return;
        };
        if receiver.deferred_rtx.is_empty() {
            return;
        }
        let bounds = bounds(env, receiver, transport, cx.now);
        let (mut due, mut forgotten) = (Vec::new(), Vec::new());
        while let Some(packet) = receiver.deferred_rtx.first() {
            let known = self.tracks.get_mut(&packet.subscription);
            if let Some(known) = known.filter(|known| !known.stale_rtx.began_after(packet.since)) {
                if packet.is_forgotten(cx.now) {
                    forgotten.push(packet.subscription);
                } else if bounds.has_room(cx.now, &mut receiver.rtx_limit) {
                    known.rtx_history.remember(cx.now, packet.sequence);
                    due.push(packet);
                } else {
                    break;
                }
            }
            receiver.deferred_rtx.pop();
        }
        for packets in due.chunk_by(|one, next| one.subscription == next.subscription) {
            let copy = Copy {
                at: cx.now,
                subscription: packets[0].subscription,
                sequences: packets.iter().map(|packet| packet.sequence).collect(),
                left: bounds.copies,
            };
            self.send_copy(cx, transport, copy);
        }
        cx.count_many(Counter::NackThrottled, forgotten.len() as u64);
        forgotten.dedup();
        for subscription in forgotten {
            // The receiver does not ask for it again, and frames that depend on it cannot be shown.
            self.picture_lost(cx, env, subscription);
        }
    }

    /// Sends packets of a subscription again, and sees to the copies that are left.
    fn send_copy(&mut self, cx: &mut Context<'_>, transport: TransportId, copy: Copy) {
        let known = self.tracks.get(&copy.subscription);
        if let Some(entry) = known.and_then(|known| known.entry) {
            let (replica, sequences) = (entry.replica, &copy.sequences[..]);
            cx.plane.inject(cx.now, Inject::Resend { replica, sequences });
        }
        let Some(receiver) = self.receivers.get_mut(&transport).filter(|_| copy.left > 1) else {
            return;
        };
        let at = cx.now + SPREAD;
        receiver.copies.push(Copy {
            at,
            left: copy.left - 1,
            ..copy
        });
        cx.timer_by(Timer::Copies(transport), at);
    }
}

/// The limits on retransmissions to a receiver.
fn bounds(env: &Env<'_>, receiver: &Receiver, transport: TransportId, now: Instant) -> RtxBounds {
    let budget = env.budgets.get(transport);
    let carried = budget.filter(|budget| budget.reports());
    let per_second = carried.map_or(RESENDS_PER_SECOND_MAX, |budget| {
        let packets = budget.estimate().sendable / (8 * PACKET);
        packets.min(u64::from(RESENDS_PER_SECOND_MAX)) as u32
    });
    let congested = carried.filter(|budget| budget.is_congested());
    // A receiver asks again after its own estimate of the round trip. That may be less than ours,
    // and is less than the time through a queue that grows.
    let round_trip = match congested {
        Some(_) => round_trip(env, transport) * 5 / 4,
        None => round_trip(env, transport) * 3 / 4,
    };
    RtxBounds {
        round_trip: round_trip.clamp(ROUND_TRIP_MIN, MEMORY),
        per_second: per_second.max(RESENDS_PER_SECOND_MIN),
        together: congested.map(|budget| {
            let bits = budget.estimate().sendable as f64 * CONGESTED_SHARE * CONGESTED_WINDOW.as_secs_f64();
            ((bits / (8 * PACKET) as f64) as u32).max(1)
        }),
        // In a full queue copies would take the place of something else.
        copies: match budget.is_some_and(is_full) {
            true => 1,
            false => receiver.playout.copies(now),
        },
    }
}

/// The earliest time after sending at which a receiver may ask for a packet again. The smoothed
/// round trip follows a longer queue late, so the queue counts too; the round trip may also have
/// become shorter.
fn asks_after(env: &Env<'_>, transport: TransportId) -> Duration {
    let queue = env.budgets.get(transport).map(|budget| budget.estimate().queue);
    let round_trip = round_trip(env, transport) * 3 / 4;
    round_trip.max(queue.unwrap_or_default())
}

fn round_trip(env: &Env<'_>, transport: TransportId) -> Duration {
    let known = env.transports.get(transport);
    known.and_then(|known| known.round_trip()).unwrap_or_default()
}

fn is_full(budget: &Budget) -> bool {
    budget.is_congested() || budget.is_exceeded(&budget.estimate())
}
