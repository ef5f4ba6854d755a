//! Events of the data plane about media, and timers.

use std::time::Duration;

use dataplane::{Arrival, Departure, LegId, ReplicaId, ReplicaStatistics, StreamKey, StreamStatistics};
use southbound::{SubscriptionId, TrackId, TransportId};

use super::uplink::StreamChange;
use super::{Current, Media, UnmappedStream};
use crate::context::Context;
use crate::receivers::Receiver;

/// Encodings of a track rarely begin alone, so the consequences of one wait a little for the
/// others.
const SETTLE: Duration = Duration::from_millis(30);

impl Media {
    /// A stream arrives that is not in the table.
    pub(crate) fn unknown_stream(&mut self, cx: &mut Context<'_>, leg: LegId, stream: UnmappedStream) {
        self.uplink.unknown_stream(cx, &self.transports, leg, stream);
        self.follow_streams(cx);
    }

    /// Packets arrived on a leg.
    pub(crate) fn arrived(&mut self, cx: &mut Context<'_>, leg: LegId, arrivals: &[Arrival]) {
        self.uplink.arrived(cx, &mut self.transports, leg, arrivals);
        self.follow_streams(cx);
    }

    /// Packets left on a leg.
    pub(crate) fn departed(&mut self, cx: &mut Context<'_>, leg: LegId, departures: &[Departure]) {
        if let Some(transport) = self.transports.with_leg(leg)
            && self.budgets.departed(cx, transport, leg, departures)
        {
            self.follow_estimate(cx, transport);
        }
    }

    /// A replica forwards something else than before.
    pub(crate) fn selected(&mut self, cx: &mut Context<'_>, replica: ReplicaId, current: Current) {
        let (downlink, mut env) = self.downlink();
        downlink.selected(cx, &mut env, replica, current);
    }

    /// Receivers miss these packets of a stream, by its own numbers.
    pub(crate) fn nack_upstream(&mut self, cx: &mut Context<'_>, key: StreamKey, sequences: &[u16]) {
        self.uplink.nack_upstream(cx, &self.transports, key, sequences);
    }

    /// The data plane answered about a stream.
    pub(crate) fn stream_statistics(&mut self, key: StreamKey, statistics: StreamStatistics) {
        self.uplink.stream_statistics(&self.transports, key, statistics);
    }

    /// The data plane answered about a replica.
    pub(crate) fn replica_statistics(&mut self, replica: ReplicaId, statistics: ReplicaStatistics) {
        self.downlink.replica_statistics(replica, statistics);
    }

    /// Packets of a stream may have to be asked for.
    pub(crate) fn send_nacks(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        self.uplink.send_nacks(cx, &self.transports, key);
    }

    /// Feedback to a publisher is due.
    pub(crate) fn send_feedback(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.uplink.send_feedback(cx, &self.transports, transport);
    }

    /// Packets are to be sent to a receiver once more.
    pub(crate) fn send_copies(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let (downlink, mut env) = self.downlink();
        downlink.send_copies(cx, &mut env, transport);
    }

    /// A track has had no media for a while.
    pub(crate) fn fill(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let (downlink, env) = self.downlink();
        downlink.fill(cx, &env, id);
    }

    /// A request for a key frame is repeated while a receiver waits.
    pub(crate) fn repeat_key_frame(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let (downlink, env) = self.downlink();
        let track = env.uplink.track_of(key);
        let is_awaited = track.is_some_and(|track| downlink.is_awaited(&env, track, key));
        self.uplink.repeat_key_frame(cx, &self.transports, key, is_awaited);
    }

    /// Encodings of a track may have stopped.
    pub(crate) fn check_activity(&mut self, cx: &mut Context<'_>, track: TrackId) {
        self.uplink.check_activity(cx, &self.transports, track);
        self.follow_streams(cx);
    }

    /// Reports audio levels to the controller.
    pub(crate) fn report_audio(&mut self, cx: &mut Context<'_>) {
        self.uplink.report_audio(cx);
    }

    /// Every transport after `after` that is subscribed to something, by id.
    pub(crate) fn receivers_after(&self, after: Option<TransportId>) -> impl Iterator<Item = Receiver> {
        let transports = self.downlink.transports_after(after);
        transports.filter_map(|transport| self.receiver(transport))
    }

    /// One transport, if it is subscribed to something.
    pub(crate) fn receiver(&self, transport: TransportId) -> Option<Receiver> {
        self.downlink.observe(&self.uplink, &self.budgets, transport)
    }

    /// Applies changes of streams to their receivers.
    pub(super) fn follow_streams(&mut self, cx: &mut Context<'_>) {
        for change in self.uplink.take_changes() {
            match change {
                StreamChange::Gone(track, key) => self.downlink.stream_gone(track, key),
                StreamChange::Changed(track) => self.reselect(cx, track),
                StreamChange::Broken(track, key) => {
                    if self.downlink.is_received(track, key) {
                        self.uplink.request_key_frame(cx, &self.transports, key);
                    }
                }
                // Receivers that wait for it asked while it did not arrive: asks again, now that it
                // does.
                StreamChange::Arrives(track, key) => {
                    let (downlink, env) = self.downlink();
                    if downlink.is_awaited(&env, track, key) {
                        self.uplink.request_key_frame(cx, &self.transports, key);
                    }
                }
            }
        }
    }

    /// Selects a source again for every subscription to a track.
    pub(super) fn reselect(&mut self, cx: &mut Context<'_>, track: TrackId) {
        let (downlink, mut env) = self.downlink();
        downlink.reselect(cx, &mut env, track);
        for id in self.downlink.subscribers_of(track) {
            if let Some(transport) = self.downlink.transport_of(id) {
                self.budgets.allocate_by(cx, transport, cx.now + SETTLE);
            }
        }
    }
}
