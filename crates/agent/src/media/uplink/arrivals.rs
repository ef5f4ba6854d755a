//! What arrived, and everything that follows from it.

use dataplane::{Arrival, LegId, StreamKey};

use crate::context::Context;
use crate::limits::FEEDBACK_PACKETS_MAX;
use crate::media::Media;
use crate::media::uplink::nack::Gap;
use crate::timers::Timer;

impl Media {
    /// Packets arrived on a leg.
    pub(crate) fn arrived(&mut self, cx: &mut Context<'_>, leg: LegId, arrivals: &[Arrival]) {
        let Some(transport) = self.by_leg.get(&leg).copied() else {
            return;
        };
        self.overload.arrived(arrivals.len());
        for run in arrivals.chunk_by(|one, next| one.ssrc == next.ssrc) {
            let key = StreamKey { leg, ssrc: run[0].ssrc };
            self.heard_from(cx, key);
            run.iter().for_each(|arrival| self.arrived_one(cx, key, arrival));
        }
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        if !peer.reported {
            return;
        }
        let feedback = &mut peer.feedback;
        let waited = feedback.waiting() > 0;
        for arrival in arrivals {
            if let Some(number) = arrival.transport_sequence {
                feedback.arrived(number, arrival.at, arrival.ssrc);
            }
        }
        if feedback.waiting() >= FEEDBACK_PACKETS_MAX {
            self.send_feedback(cx, transport);
        } else if let Some(first) = arrivals.first()
            && feedback.waiting() > 0
            && !waited
        {
            // Told of a while after it came, so that it might miss its round by then.
            cx.routine_timer_by(
                Timer::Feedback(transport),
                first.at + crate::media::uplink::feedback::INTERVAL,
            );
        }
    }

    fn arrived_one(&mut self, cx: &mut Context<'_>, key: StreamKey, arrival: &Arrival) {
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            return;
        };
        up_track.history.arrived(arrival.sequence, arrival.recovered);
        // Retransmissions are no part of the stream's rate: senders pad and probe with old packets that nobody missed.
        if !arrival.recovered {
            up_track.layer_bitrate.arrived(arrival);
        }
        if let Some((level, _)) = arrival.audio_level {
            self.hearing.heard(cx, up_track.track, level);
        }
        let Some(nack) = up_track.nack.as_mut() else { return };
        let gap = nack.arrived(cx.now, arrival.sequence, arrival.recovered);
        let upstream = || {
            up_track
                .upstream_nacks
                .since(cx.now, arrival.sequence)
                .filter(|_| arrival.recovered)
        };
        if let Some(round_trip) = nack.take_round_trip().or_else(upstream)
            && let Some(transport) = self.by_leg.get(&key.leg)
            && let Some(publisher) = self.peers.get_mut(transport)
        {
            publisher.measured_by_rtx(round_trip);
        }
        match gap {
            Gap::None => {}
            Gap::Later(at) => cx.timer_by(Timer::Nack(key), at),
            Gap::Now => self.send_nacks(cx, key),
            Gap::TooWide => self.picture_broken(cx, key),
        }
    }

    /// More is missing of a stream than can be repaired: who watches it needs a key frame.
    fn picture_broken(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let track = self
            .up_tracks
            .get(&key)
            .and_then(|up_track| self.tracks.get(&up_track.track));
        if track.is_some_and(|track| !track.subscribers.is_empty()) {
            self.want_key_frame(cx, key);
        }
    }
}
