//! Arrivals of packets and everything that follows from them.

use dataplane::{Arrival, LegId, StreamKey};
use southbound::TransportId;

use super::nack_tracker::Gap;
use super::{StreamChange, Uplink, feedback};
use crate::context::Context;
use crate::limits::FEEDBACK_PACKETS_MAX;
use crate::media::media_transport::MediaTransports;
use crate::timers::Timer;

impl Uplink {
    /// Packets arrived on a leg.
    pub(in crate::media) fn arrived(
        &mut self,
        cx: &mut Context<'_>,
        transports: &mut MediaTransports,
        leg: LegId,
        arrivals: &[Arrival],
    ) {
        let Some(transport) = transports.with_leg(leg) else {
            return;
        };
        self.overload.arrived(arrivals.len());
        for run in arrivals.chunk_by(|one, next| one.ssrc == next.ssrc) {
            let key = StreamKey { leg, ssrc: run[0].ssrc };
            self.heard_from(cx, key);
            run.iter()
                .for_each(|arrival| self.arrived_one(cx, transports, key, arrival));
        }
        self.collect_feedback(cx, transports, transport, arrivals);
    }

    /// Notes when packets arrived for the next report on it.
    fn collect_feedback(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        transport: TransportId,
        arrivals: &[Arrival],
    ) {
        let Some(publisher) = self.publishers.get_mut(&transport).filter(|known| known.is_reported) else {
            return;
        };
        let feedback = &mut publisher.feedback;
        let waited = feedback.waiting() > 0;
        for arrival in arrivals {
            if let Some(number) = arrival.transport_sequence {
                feedback.arrived(number, arrival.at, arrival.ssrc);
            }
        }
        if feedback.waiting() >= FEEDBACK_PACKETS_MAX {
            self.send_feedback(cx, transports, transport);
        } else if let Some(first) = arrivals.first()
            && feedback.waiting() > 0
            && !waited
        {
            // The event is delivered a while after the arrival, so it might otherwise miss its
            // round.
            cx.routine_timer_by(Timer::Feedback(transport), first.at + feedback::INTERVAL);
        }
    }

    /// Reports the arrivals on a transport.
    pub(in crate::media) fn send_feedback(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        transport: TransportId,
    ) {
        let (Some(publisher), Some(known)) = (self.publishers.get_mut(&transport), transports.get(transport)) else {
            return;
        };
        if let Some(leg) = known.leg() {
            for compound in publisher.feedback.compounds(cx.now, cx.shared.clock.origin, known) {
                cx.send_rtcp(leg, &compound);
            }
        }
    }

    fn arrived_one(
        &mut self,
        cx: &mut Context<'_>,
        transports: &mut MediaTransports,
        key: StreamKey,
        arrival: &Arrival,
    ) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        stream.history.arrived(arrival.sequence, arrival.recovered);
        // Retransmissions are no part of the stream's rate: senders pad and probe with old packets
        // that nobody missed.
        if !arrival.recovered {
            stream.layer_bitrate.arrived(arrival);
        }
        if let Some((level, _)) = arrival.audio_level {
            self.hearing.heard(cx, stream.track, level);
        }
        let Some(nack) = stream.nack.as_mut() else { return };
        let gap = nack.arrived(cx.now, arrival.sequence, arrival.recovered);
        let upstream = || {
            stream
                .upstream_nacks
                .since(cx.now, arrival.sequence)
                .filter(|_| arrival.recovered)
        };
        if let Some(round_trip) = nack.take_round_trip().or_else(upstream)
            && let Some(transport) = transports.with_leg(key.leg)
            && let Some(publisher) = transports.get_mut(transport)
        {
            publisher.measured_by_rtx(round_trip);
        }
        match gap {
            Gap::None => {}
            Gap::Later(at) => cx.timer_by(Timer::Nack(key), at),
            Gap::Now => self.send_nacks(cx, transports, key),
            Gap::TooWide => self.changes.push(StreamChange::Broken(stream.track, key)),
        }
    }
}
