//! NACKs to publishers: for packets lost on the way to us, and for those that receivers lost if the
//! data plane keeps none.
//!
//! Browsers ask and answer alike: they ignore a repeated request within their round trip, so asking
//! sooner is of no use. The round trip is taken from the peer's receiver reports. A publisher that
//! receives nothing sends none, and is measured by its retransmissions. While the node itself loses
//! packets, less is asked for ([`overload`](super::overload)).
//!
//! Several receivers often lose the same packet, and each repeats its request until it arrives. So
//! a publisher is asked for a packet once in a round trip, for any number of receivers. The data
//! plane knows the receivers of the answer. This is done without encryption only: an encrypted
//! receiver accepts a repeated packet only as a retransmission made for it.
//!
//! Source: RFC 4585 section 6.2.1; Scallop section 5.3.

use std::time::Duration;

use dataplane::StreamKey;
use wire::SequenceNumber;

use super::Uplink;
use crate::context::Context;
use crate::counters::Counter;
use crate::limits::UPSTREAM_NACKS_PER_SECOND_MAX;
use crate::media::media_transport::{MediaTransport, MediaTransports};
use crate::media::rtx_history::RtxBounds;
use crate::timers::Timer;

/// Taken for the round trip until it is known, and its bounds.
const ROUND_TRIP: Duration = Duration::from_millis(100);
const ROUND_TRIP_MIN: Duration = Duration::from_millis(20);
const ROUND_TRIP_MAX: Duration = Duration::from_millis(800);

/// The least time that another node has for an answer beyond the round trip: as long as packets of
/// one frame are apart.
const DIRECT_MARGIN: Duration = Duration::from_millis(10);

impl Uplink {
    /// Sends the NACKs of one stream that are due.
    pub(in crate::media) fn send_nacks(&mut self, cx: &mut Context<'_>, transports: &MediaTransports, key: StreamKey) {
        let Some(publisher) = transports.by_leg(key.leg) else {
            return;
        };
        let Some(nack) = self.streams.get_mut(&key).and_then(|stream| stream.nack.as_mut()) else {
            return;
        };
        let room = self.overload.room(cx.now, cx.plane);
        let (asked, given_up) = nack.due(cx.now, asks_again_after(publisher), room);
        cx.count_many(Counter::LossGivenUp, given_up);
        if !asked.is_empty() {
            self.overload.asked(asked.len());
            send(cx, publisher, key, asked);
        }
        match nack.next() {
            Some(at) => cx.timer(Timer::Nack(key), at),
            None => cx.shared.timers.clear(Timer::Nack(key)),
        }
    }

    /// Receivers miss these packets of a stream, by its own numbers.
    pub(in crate::media) fn nack_upstream(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        key: StreamKey,
        sequences: &[u16],
    ) {
        let (Some(publisher), Some(stream)) = (transports.by_leg(key.leg), self.streams.get_mut(&key)) else {
            return;
        };
        let bounds = RtxBounds {
            round_trip: asks_again_after(publisher),
            per_second: UPSTREAM_NACKS_PER_SECOND_MAX,
            together: None,
            copies: 1,
        };
        let mut asked = Vec::new();
        for sequence in sequences {
            let is_missing_here = stream.nack.as_ref().is_some_and(|nack| nack.misses(*sequence));
            match !is_missing_here && stream.upstream_nacks.admit_alone(cx.now, *sequence, bounds) {
                true => asked.push(SequenceNumber(*sequence)),
                false => cx.count(Counter::NackThrottled),
            }
        }
        if !asked.is_empty() {
            send(cx, publisher, key, asked);
        }
    }
}

fn send(cx: &mut Context<'_>, publisher: &MediaTransport, key: StreamKey, asked: Vec<SequenceNumber>) {
    cx.count_many(Counter::NackSent, asked.len() as u64);
    let mut compound = Vec::new();
    publisher.compound(&mut compound, &[]).nack(key.ssrc, asked);
    cx.send_rtcp(key.leg, &compound);
}

/// How long after a request it is of use to repeat it. Another node answers every request, so it
/// gets time for an answer that is a little later than the others: an early repetition would have
/// the packet sent twice.
fn asks_again_after(publisher: &MediaTransport) -> Duration {
    let round_trip = publisher.round_trip().unwrap_or(ROUND_TRIP);
    let margin = match publisher.is_direct() {
        true => round_trip / 4 + DIRECT_MARGIN,
        false => Duration::ZERO,
    };
    (round_trip + margin).clamp(ROUND_TRIP_MIN, ROUND_TRIP_MAX)
}
