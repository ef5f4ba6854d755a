//! RTCP from a peer: reports on its streams and ours, and what it asks for.
//!
//! Whatever is about a stream that is not its sender's to talk about is counted and ignored: a peer can ask only for what it is sent.

use std::time::Instant;

use dataplane::{LegId, StreamKey, Update};
use southbound::{SubscriptionId, TransportId};
use wire::Ssrc;
use wire::rtcp::{ReportBlocks, RtcpPacket, SenderReport};

use crate::Counter;
use crate::context::Context;
use crate::media::Media;

/// What reading one packet counts for, beside what it lists.
const PACKET_COST: u32 = 8;

/// What is to be done for one packet.
fn cost(packet: &RtcpPacket<'_>) -> u32 {
    let listed = match packet {
        RtcpPacket::TransportFeedback(feedback) => u32::from(feedback.status_count),
        RtcpPacket::Nack(nack) => nack.sequences().count() as u32,
        RtcpPacket::Remb(remb) => remb.sources().len() as u32,
        _ => 0,
    };
    PACKET_COST + listed
}

impl Media {
    /// A compound arrived on a leg, authenticated, at this time: what it measures is measured up to then.
    pub(crate) fn rtcp(&mut self, cx: &mut Context<'_>, at: Instant, leg: LegId, compound: &[u8]) {
        let Some(transport) = self.by_leg.get(&leg).copied() else {
            return;
        };
        // Read one after the other: what is beyond the limit is not even parsed.
        for packet in RtcpPacket::compound(compound) {
            let Some(peer) = self.peers.get_mut(&transport) else {
                return;
            };
            if !peer.rtcp.admit(cx.now, packet.as_ref().map_or(PACKET_COST, cost)) {
                cx.count(Counter::RtcpFlood);
                return;
            }
            match packet {
                Ok(packet) => self.rtcp_packet(cx, at, transport, leg, packet),
                Err(_) => cx.count(Counter::RtcpMalformed),
            }
        }
    }

    fn rtcp_packet(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        transport: TransportId,
        leg: LegId,
        packet: RtcpPacket<'_>,
    ) {
        match packet {
            RtcpPacket::SenderReport(report) => {
                self.sender_report(cx, at, transport, leg, &report);
                self.report_blocks(cx, at, transport, report.blocks);
            }
            RtcpPacket::ReceiverReport(report) => self.report_blocks(cx, at, transport, report.blocks),
            RtcpPacket::Nack(nack) => match self.subscription_of(transport, nack.media) {
                Some(id) => self.answer_nack(cx, transport, id, &nack),
                None => cx.count(Counter::RtcpNotTheirs),
            },
            RtcpPacket::Pli(pli) => match self.subscription_of(transport, pli.media) {
                Some(id) => self.picture_lost(cx, id),
                None => cx.count(Counter::RtcpNotTheirs),
            },
            RtcpPacket::Fir(fir) => {
                for entry in fir.entries() {
                    match self.subscription_of(transport, entry.media) {
                        Some(id) => self.intra_request(cx, id, entry.sequence),
                        None => cx.count(Counter::RtcpNotTheirs),
                    }
                }
            }
            RtcpPacket::Remb(remb) => self.receiver_estimate(cx, transport, &remb),
            RtcpPacket::TransportFeedback(feedback) => self.transport_feedback(cx, at, transport, &feedback),
            // A name is not needed, and a source that ends is noticed by its silence.
            RtcpPacket::SourceDescription(_) | RtcpPacket::Bye(_) => {}
            RtcpPacket::Unknown(_) => cx.count(Counter::RtcpIgnored),
        }
    }

    fn subscription_of(&self, transport: TransportId, ssrc: Ssrc) -> Option<SubscriptionId> {
        self.peers.get(&transport)?.by_ssrc.get(&ssrc).copied()
    }

    /// One instant in both of a publisher's clocks: receivers need it to play sound and picture together, and the data plane to switch
    /// between encodings.
    fn sender_report(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        transport: TransportId,
        leg: LegId,
        report: &SenderReport<'_>,
    ) {
        let key = StreamKey {
            leg,
            ssrc: report.sender,
        };
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            cx.count(Counter::RtcpNotTheirs);
            return;
        };
        // A sender without a wall clock says zero (RFC 3550 section 6.4.1).
        if report.info.ntp.0 == 0 {
            return;
        }
        up_track.reference = Some((report.info.ntp, report.info.rtp, at));
        let (track, encoding) = (up_track.track, up_track.encoding);
        if let Some(peer) = self.peers.get_mut(&transport) {
            peer.compared_clocks(report.info.ntp, cx.shared.clock.ntp(at));
        }
        let entry = self.tracks[&track].stream(encoding, Some((report.info.ntp, report.info.rtp)));
        cx.write(Update::SetStream(key, entry));
    }

    fn report_blocks(&mut self, cx: &mut Context<'_>, at: Instant, transport: TransportId, blocks: ReportBlocks<'_>) {
        let now = cx.shared.clock.ntp(at);
        for block in blocks.iter() {
            let Some(peer) = self.peers.get_mut(&transport) else {
                return;
            };
            let Some(down_track) = peer
                .by_ssrc
                .get(&block.ssrc)
                .and_then(|id| self.down_tracks.get_mut(id))
            else {
                // Reports on retransmissions are honest, but say nothing of use.
                continue;
            };
            if let Some(round_trip) = block.round_trip(now) {
                peer.measured(round_trip);
            }
            let clock_rate = down_track
                .subscription
                .formats
                .first()
                .map_or(90_000, |(_, format)| format.codec.clock_rate());
            peer.quality
                .measured_downlink(&mut down_track.reported, &block, clock_rate);
        }
    }

    /// A receiver's decoder needs a key frame.
    pub(in crate::media) fn picture_lost(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        // All others pay for each of them.
        if !down_track.key_frames.admit(cx.now, 1) {
            return cx.count(Counter::KeyFrameThrottled);
        }
        let current = down_track.current.map(|current| current.source);
        if let Some(key) = current.or(down_track.source).filter(|_| down_track.is_sent()) {
            self.want_key_frame(cx, key);
        }
    }

    fn intra_request(&mut self, cx: &mut Context<'_>, id: SubscriptionId, sequence: u8) {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        if down_track.intra_request.replace(sequence) != Some(sequence) {
            self.picture_lost(cx, id);
        }
    }
}
