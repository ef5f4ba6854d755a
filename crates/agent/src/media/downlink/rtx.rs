//! Answering receivers' requests for lost packets: from the data plane's cache, within limits. Where it has none, and nothing is encrypted, it may say
//! whom else to ask ([`wanted`](crate::media::uplink::nack_upstream)).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dataplane::Inject;
use southbound::{SubscriptionId, TransportId};
use wire::rtcp::Nack;

use crate::Counter;
use crate::context::Context;
use crate::limits::{RESENDS_PER_SECOND_MAX, RESENDS_PER_SECOND_MIN, UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX};
use crate::media::Media;
use crate::media::budget::Budget;
use crate::media::media_transport::MediaTransport;
use crate::media::rate_limit::RateLimit;
use crate::timers::Timer;

/// The same packet is not sent twice within a round trip, which is taken for this until it is known and is never less.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(20);

/// Where a packet is sent again more than once, the copies follow each other so long after: what loses packets at random often loses a few on end.
pub(in crate::media) const SPREAD: Duration = Duration::from_millis(20);

/// How long a packet that was sent again is remembered, at most.
const MEMORY: Duration = Duration::from_millis(500);

/// What a packet that is sent again takes, about. Shape: bytes.
const PACKET: u64 = 1_200;

/// While packets wait for long in the path, all that is sent to one receiver again takes no more than this part of what may be sent. It comes on top of what is granted:
/// more of it keeps a full queue full, which loses as much again. The rest waits ([`deferred_rtx`](crate::media::downlink::deferred_rtx)).
const CONGESTED_SHARE: f64 = 0.4;

/// That is looked at over so long.
const CONGESTED_WINDOW: Duration = Duration::from_millis(125);

/// What one receiver may have sent again of all its subscriptions while packets wait for long in the path.
pub(in crate::media) const fn together() -> RateLimit {
    RateLimit::new(RESENDS_PER_SECOND_MAX, CONGESTED_WINDOW)
}

/// What one receiver had sent again of one subscription, or one publisher of one stream.
#[derive(Debug)]
pub(in crate::media) struct RtxHistory {
    recent: VecDeque<(Instant, u16)>,
    rate_limit: RateLimit,
}

impl Default for RtxHistory {
    fn default() -> Self {
        RtxHistory {
            recent: VecDeque::new(),
            rate_limit: RateLimit::new(RESENDS_PER_SECOND_MAX, Duration::from_secs(1)),
        }
    }
}

/// What limits the packets that are sent again.
#[derive(Clone, Copy, Debug)]
pub(in crate::media) struct RtxBounds {
    /// None twice within this.
    pub(in crate::media) round_trip: Duration,
    /// No more than so many a second.
    pub(in crate::media) per_second: u32,
    /// Nor, with those of other subscriptions, than so many in [`CONGESTED_WINDOW`].
    pub(in crate::media) together: Option<u32>,
    /// How often each is sent.
    pub(in crate::media) copies: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Now,
    /// When packets wait for less long in the path.
    Later,
    Never,
}

impl RtxBounds {
    /// Whether the path has room for one more, of all that its receiver has sent again.
    fn has_room(&self, now: Instant, together: &mut RateLimit) -> bool {
        self.together
            .is_none_or(|most| together.admit_up_to(now, self.copies, most))
    }

    /// The same for what the publisher sends: it is asked once, and others want something of it, too.
    fn of_publisher(self) -> Self {
        RtxBounds {
            per_second: self.per_second.min(UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX),
            copies: 1,
            ..self
        }
    }

    fn of(peer: &MediaTransport, now: Instant) -> Self {
        let carried = peer.budget.as_ref().filter(|budget| budget.reports());
        let per_second = carried.map_or(RESENDS_PER_SECOND_MAX, |budget| {
            let packets = budget.estimate().sendable / (8 * PACKET);
            packets.min(u64::from(RESENDS_PER_SECOND_MAX)) as u32
        });
        let congested = carried.filter(|budget| budget.is_congested());
        // A receiver asks again after a round trip as it knows it, which may be less than we know, and is less than it takes through a queue that grows.
        let round_trip = match congested {
            Some(_) => peer.round_trip().unwrap_or_default() * 5 / 4,
            None => peer.round_trip().unwrap_or_default() * 3 / 4,
        };
        RtxBounds {
            round_trip: round_trip.clamp(ROUND_TRIP_MIN, MEMORY),
            per_second: per_second.max(RESENDS_PER_SECOND_MIN),
            together: congested.map(|budget| {
                let bits = budget.estimate().sendable as f64 * CONGESTED_SHARE * CONGESTED_WINDOW.as_secs_f64();
                ((bits / (8 * PACKET) as f64) as u32).max(1)
            }),
            // In a full queue copies would take the place of something else.
            copies: match peer.budget.as_ref().is_some_and(is_full) {
                true => 1,
                false => peer.playout.copies(now),
            },
        }
    }
}

/// How long after a packet was sent its receiver may ask for it again, at the soonest: behind all that stands in the queue, of which the smoothed round trip knows
/// late, or when that has become shorter meanwhile.
fn asks_after(peer: &MediaTransport) -> Duration {
    let queue = peer.budget.as_ref().map(|budget| budget.estimate().queue);
    let round_trip = peer.round_trip().unwrap_or_default() * 3 / 4;
    round_trip.max(queue.unwrap_or_default())
}

fn is_full(budget: &Budget) -> bool {
    budget.is_congested() || budget.is_exceeded(&budget.estimate())
}

impl RtxHistory {
    /// Whether it was sent again lately.
    fn has(&self, sequence: u16) -> bool {
        self.recent.iter().any(|(_, recent)| *recent == sequence)
    }

    /// Whether nothing more is sent again for now.
    fn is_used_up(&self, now: Instant, bounds: RtxBounds) -> bool {
        self.rate_limit.is_used_up(now, bounds.per_second)
    }

    /// How long ago it was sent again, or asked for, if that was so once: of which of several requests something is the answer nobody can tell.
    pub(in crate::media) fn since(&self, now: Instant, sequence: u16) -> Option<Duration> {
        let mut times = self.recent.iter().filter(|(_, recent)| *recent == sequence);
        let (at, _) = times.next()?;
        times.next().is_none().then(|| now.saturating_duration_since(*at))
    }

    /// When a packet may be sent again. Remembers that it was, if that is now.
    fn admit(&mut self, now: Instant, sequence: u16, bounds: RtxBounds, together: &mut RateLimit) -> Admission {
        if !self.may(now, sequence, bounds) {
            return Admission::Never;
        }
        if !bounds.has_room(now, together) {
            return Admission::Later;
        }
        self.remember(now, sequence);
        Admission::Now
    }

    /// The same where nothing is shared with other subscriptions.
    pub(in crate::media) fn admit_alone(&mut self, now: Instant, sequence: u16, bounds: RtxBounds) -> bool {
        let is_admitted = self.may(now, sequence, bounds);
        if is_admitted {
            self.remember(now, sequence);
        }
        is_admitted
    }

    fn remember(&mut self, now: Instant, sequence: u16) {
        self.recent.push_back((now, sequence));
    }

    fn may(&mut self, now: Instant, sequence: u16, bounds: RtxBounds) -> bool {
        let within = |since: Instant, limit| now.saturating_duration_since(since) < limit;
        while self.recent.front().is_some_and(|(at, _)| !within(*at, MEMORY)) {
            self.recent.pop_front();
        }
        let repeated = |(at, recent): &(Instant, u16)| *recent == sequence && within(*at, bounds.round_trip);
        !self.recent.iter().any(repeated) && self.rate_limit.admit_up_to(now, bounds.copies, bounds.per_second)
    }
}

/// What is to be sent to one receiver once more, in the order of the times.
#[derive(Debug, Default)]
pub(in crate::media) struct Copies(VecDeque<Copy>);

#[derive(Debug)]
struct Copy {
    at: Instant,
    subscription: SubscriptionId,
    sequences: Vec<u16>,
    /// How often, this time included.
    left: u32,
}

impl Copies {
    /// Takes the next that is to be sent by now.
    fn pop(&mut self, now: Instant) -> Option<Copy> {
        self.0.pop_front_if(|copy| copy.at <= now)
    }

    fn next(&self) -> Option<Instant> {
        self.0.front().map(|copy| copy.at)
    }
}

impl Media {
    /// A receiver misses packets of a subscription.
    pub(in crate::media) fn answer_nack(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        id: SubscriptionId,
        nack: &Nack<'_>,
    ) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let (mut bounds, is_clear) = (RtxBounds::of(peer, cx.now), peer.clear);
        let soonest = asks_after(peer);
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let is_kept = down_track.subscription.rtx.is_some();
        if down_track.entry.is_none() || !(is_kept || is_clear) {
            cx.count(Counter::RtcpIgnored);
            return;
        }
        if !is_kept {
            bounds = bounds.of_publisher();
        }
        if self.overload.is_seen(cx.now, cx.plane) {
            bounds.per_second = bounds.per_second.min(RESENDS_PER_SECOND_MIN);
            // Not even looked at one by one, nor for what they say of the path: it is not the path that loses.
            if down_track.rtx_history.is_used_up(cx.now, bounds) {
                let refused = nack.sequences().count() as u64;
                cx.count_many(Counter::NackReceived, refused);
                cx.count_many(Counter::NackThrottled, refused);
                return;
            }
        }
        let (mut refused, mut deferred, mut new) = (0, 0, 0);
        let mut sequences = Vec::new();
        for sequence in nack.sequences() {
            if down_track.stale_rtx.has(cx.now, sequence.0, soonest) {
                refused += 1;
                continue;
            }
            new += usize::from(!down_track.rtx_history.has(sequence.0));
            match down_track
                .rtx_history
                .admit(cx.now, sequence.0, bounds, &mut peer.rtx_limit)
            {
                Admission::Now => sequences.push(sequence.0),
                Admission::Later if peer.deferred_rtx.defer(cx.now, id, sequence.0) => deferred += 1,
                Admission::Later | Admission::Never => refused += 1,
            }
        }
        if deferred > 0 {
            cx.timer_by(Timer::Copies(transport), peer.rtx_limit.reopens(cx.now));
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
        self.missed(cx, transport, id, new);
    }

    /// Sends what is to be sent once more by now.
    pub(crate) fn send_copies(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        while let Some(copy) = self.peers.get_mut(&transport).and_then(|peer| peer.copies.pop(cx.now)) {
            self.send_copy(cx, transport, copy);
        }
        self.send_deferred_rtx(cx, transport);
        let Some(peer) = self.peers.get(&transport) else {
            return;
        };
        let deferred = (!peer.deferred_rtx.is_empty()).then(|| peer.rtx_limit.reopens(cx.now));
        if let Some(next) = peer.copies.next().into_iter().chain(deferred).min() {
            cx.timer(Timer::Copies(transport), next);
        }
    }

    /// Sends of what was put off what the path has room for now.
    fn send_deferred_rtx(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self
            .peers
            .get_mut(&transport)
            .filter(|peer| !peer.deferred_rtx.is_empty())
        else {
            return;
        };
        let bounds = RtxBounds::of(peer, cx.now);
        let (mut due, mut forgotten) = (Vec::new(), Vec::new());
        while let Some(packet) = peer.deferred_rtx.first() {
            let down_track = self.down_tracks.get_mut(&packet.subscription);
            if let Some(down_track) = down_track.filter(|down_track| !down_track.stale_rtx.began_after(packet.since)) {
                if packet.is_forgotten(cx.now) {
                    forgotten.push(packet.subscription);
                } else if bounds.has_room(cx.now, &mut peer.rtx_limit) {
                    down_track.rtx_history.remember(cx.now, packet.sequence);
                    due.push(packet);
                } else {
                    break;
                }
            }
            peer.deferred_rtx.pop();
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
            // It is not asked for again, and nothing that is built on it can be shown.
            self.picture_lost(cx, subscription);
        }
    }

    /// Sends packets of a subscription again, and sees to the copies that are left.
    fn send_copy(&mut self, cx: &mut Context<'_>, transport: TransportId, copy: Copy) {
        let down_track = self.down_tracks.get(&copy.subscription);
        if let Some(entry) = down_track.and_then(|down_track| down_track.entry) {
            let (replica, sequences) = (entry.replica, &copy.sequences[..]);
            cx.plane.inject(cx.now, Inject::Resend { replica, sequences });
        }
        let Some(peer) = self.peers.get_mut(&transport).filter(|_| copy.left > 1) else {
            return;
        };
        let at = cx.now + SPREAD;
        peer.copies.0.push_back(Copy {
            at,
            left: copy.left - 1,
            ..copy
        });
        cx.timer_by(Timer::Copies(transport), at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: RtxBounds = RtxBounds {
        round_trip: Duration::from_millis(80),
        per_second: 100,
        together: None,
        copies: 1,
    };

    fn admit(history: &mut RtxHistory, now: Instant, sequence: u16) -> bool {
        history.admit(now, sequence, BOUNDS, &mut together()) == Admission::Now
    }

    #[test]
    fn a_packet_is_sent_again_once_a_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut history = RtxHistory::default();
        assert!(admit(&mut history, at(0), 7));
        assert!(!admit(&mut history, at(79), 7));
        assert!(admit(&mut history, at(79), 8));
        assert!(admit(&mut history, at(80), 7));
    }

    #[test]
    fn one_receiver_has_a_budget() {
        let start = Instant::now();
        let mut history = RtxHistory::default();
        let admitted = (0..u16::MAX)
            .filter(|sequence| admit(&mut history, start, *sequence))
            .count();
        assert_eq!(admitted, BOUNDS.per_second as usize);
        assert!(admit(&mut history, start + Duration::from_secs(1), 1));
    }

    #[test]
    fn a_full_queue_has_little_added_whichever_subscription_it_is_of() {
        let (start, mut together) = (Instant::now(), together());
        let bounds = RtxBounds {
            together: Some(3),
            ..BOUNDS
        };
        let mut subscriptions = [RtxHistory::default(), RtxHistory::default()];
        let mut admitted = |at| {
            let asked = (0..20_u16).map(|sequence| (usize::from(sequence % 2), sequence));
            let mut admit = |(of, sequence): (usize, u16)| subscriptions[of].admit(at, sequence, bounds, &mut together);
            asked.filter(|asked| admit(*asked) == Admission::Now).count()
        };
        assert_eq!(admitted(start), 3);
        assert_eq!(admitted(start + CONGESTED_WINDOW - Duration::from_millis(1)), 0);
        assert_eq!(admitted(start + CONGESTED_WINDOW), 3);
    }
}
