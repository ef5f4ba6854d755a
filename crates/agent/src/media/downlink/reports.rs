//! Sender reports for receivers, and their receiver reports.
//!
//! Source: RFC 3550 section 6.4.

use std::time::Instant;

use dataplane::{ReplicaId, ReplicaStatistics, StreamKey};
use southbound::{Notice, Observation, SubscriptionId, TransportId};
use wire::Ssrc;
use wire::rtcp::{ReportBlocks, SenderInfo};

use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;

impl Downlink {
    /// The data plane answered about a replica.
    pub(in crate::media) fn replica_statistics(&mut self, replica: ReplicaId, statistics: ReplicaStatistics) {
        let known = self.by_replica.get(&replica).and_then(|id| self.tracks.get(id));
        let transport = known.map(|known| known.subscription.transport);
        if let Some(receiver) = transport.and_then(|transport| self.receivers.get_mut(&transport)) {
            receiver.pending.push((replica, statistics));
        }
    }

    /// Makes this round's sender report for each replica in use: its present timestamp by our
    /// clock. Counts the sent packets.
    pub(in crate::media) fn sender_reports(
        &mut self,
        cx: &Context<'_>,
        env: &Env<'_>,
        transport: TransportId,
    ) -> Vec<(Ssrc, String, SenderInfo)> {
        let Some(receiver) = self.receivers.get_mut(&transport) else {
            return Vec::new();
        };
        let pending = std::mem::take(&mut receiver.pending);
        let reports = pending
            .iter()
            .filter_map(|(replica, statistics)| self.sender_report(cx, env, *replica, statistics));
        let reports = reports.collect();
        self.count_sent(env, transport, &pending);
        if env.transports.is_clear(transport) {
            self.measure_sent(cx.now, &pending);
        }
        reports
    }

    fn sender_report(
        &self,
        cx: &Context<'_>,
        env: &Env<'_>,
        replica: ReplicaId,
        statistics: &ReplicaStatistics,
    ) -> Option<(Ssrc, String, SenderInfo)> {
        let now = cx.shared.clock.ntp(cx.now);
        let known = self.tracks.get(self.by_replica.get(&replica)?)?;
        let source = statistics.source.filter(|_| statistics.packets > 0)?;
        let publisher = env.transports.by_leg(source.leg)?;
        let timestamp = env.uplink.timestamp_at(env.transports, now, source)?;
        let info = SenderInfo {
            ntp: now,
            rtp: timestamp.wrapping_add(statistics.timestamp_offset),
            packets: statistics.packets as u32,
            octets: statistics.octets as u32,
        };
        Some((known.subscription.ssrc, publisher.cname().to_owned(), info))
    }

    /// Takes account of how fast each copy was sent.
    fn measure_sent(&mut self, now: Instant, replicas: &[(ReplicaId, ReplicaStatistics)]) {
        for (replica, statistics) in replicas {
            let known = self.by_replica.get(replica).and_then(|id| self.tracks.get_mut(id));
            if let Some(known) = known {
                known.sent.follow(now, statistics.octets);
            }
        }
    }

    /// A receiver's report blocks. Blocks about retransmissions are honest, but of no use.
    pub(in crate::media) fn report_blocks(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        at: Instant,
        transport: TransportId,
        blocks: ReportBlocks<'_>,
    ) {
        let now = cx.shared.clock.ntp(at);
        let (Some(receiver), Some(measured)) = (self.receivers.get(&transport), env.transports.get_mut(transport))
        else {
            return;
        };
        for block in blocks.iter() {
            let Some(known) = receiver.by_ssrc.get(&block.ssrc).and_then(|id| self.tracks.get_mut(id)) else {
                continue;
            };
            if let Some(round_trip) = block.round_trip(now) {
                measured.measured(round_trip);
            }
            let formats = &known.subscription.formats;
            let clock_rate = formats.first().map_or(90_000, |(_, format)| format.codec.clock_rate());
            measured
                .quality()
                .measured_downlink(&mut known.reported, &block, clock_rate);
        }
    }

    /// A receiver's decoder needs a key frame.
    pub(in crate::media) fn picture_lost(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, id: SubscriptionId) {
        if let Some(key) = self.admit_key_frame(cx, id) {
            cx.notice(Notice::Observation(Observation::KeyFrameRequest { subscription: id }));
            env.uplink.request_key_frame(cx, env.transports, key);
        }
    }

    /// The stream of which a subscription is sent packets, if another key frame may be requested
    /// for it.
    pub(super) fn admit_key_frame(&mut self, cx: &mut Context<'_>, id: SubscriptionId) -> Option<StreamKey> {
        let known = self.tracks.get_mut(&id)?;
        // All others pay for each of them.
        if !known.key_frames.admit(cx.now, 1) {
            cx.count(Counter::KeyFrameThrottled);
            return None;
        }
        let current = known.current.map(|current| current.source);
        current.or(known.source).filter(|_| known.is_sent())
    }

    /// A receiver asks for a key frame with a number, of which a repetition is none (RFC 5104
    /// section 4.3.1).
    pub(in crate::media) fn intra_request(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        id: SubscriptionId,
        sequence: u8,
    ) {
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        if known.intra_request.replace(sequence) != Some(sequence) {
            self.picture_lost(cx, env, id);
        }
    }
}
