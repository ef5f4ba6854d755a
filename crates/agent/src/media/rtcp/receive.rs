//! RTCP from a peer: reports on its streams and ours, and its requests.
//!
//! RTCP about a stream that its sender does not receive is counted and ignored.

use std::time::Instant;

use dataplane::LegId;
use southbound::TransportId;
use wire::rtcp::RtcpPacket;

use crate::context::Context;
use crate::counters::Counter;
use crate::media::Media;

/// Fixed cost of reading one packet; its list entries cost extra.
const PACKET_COST: u32 = 8;

/// The cost of one packet.
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
    /// An authenticated compound arrived on a leg at this time, up to which its measurements count.
    pub(crate) fn rtcp(&mut self, cx: &mut Context<'_>, at: Instant, leg: LegId, compound: &[u8]) {
        let Some(transport) = self.transports.with_leg(leg) else {
            return;
        };
        // Packets are parsed one by one: those beyond the limit are not even parsed.
        for packet in RtcpPacket::compound(compound) {
            let Some(known) = self.transports.get_mut(transport) else {
                return;
            };
            if !known.admit_rtcp(cx.now, packet.as_ref().map_or(PACKET_COST, cost)) {
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
        let (downlink, mut env) = self.downlink();
        match packet {
            RtcpPacket::SenderReport(report) => {
                env.uplink.sender_report(cx, at, transport, leg, &report);
                downlink.report_blocks(cx, &mut env, at, transport, report.blocks);
            }
            RtcpPacket::ReceiverReport(report) => downlink.report_blocks(cx, &mut env, at, transport, report.blocks),
            RtcpPacket::Nack(nack) => match downlink.with_ssrc(transport, nack.media) {
                Some(id) => downlink.answer_nack(cx, &mut env, transport, id, &nack),
                None => cx.count(Counter::RtcpNotTheirs),
            },
            RtcpPacket::Pli(pli) => match downlink.with_ssrc(transport, pli.media) {
                Some(id) => downlink.picture_lost(cx, &mut env, id),
                None => cx.count(Counter::RtcpNotTheirs),
            },
            RtcpPacket::Fir(fir) => {
                for entry in fir.entries() {
                    match downlink.with_ssrc(transport, entry.media) {
                        Some(id) => downlink.intra_request(cx, &mut env, id, entry.sequence),
                        None => cx.count(Counter::RtcpNotTheirs),
                    }
                }
            }
            RtcpPacket::Remb(remb) => self.receiver_estimate(cx, transport, &remb),
            RtcpPacket::TransportFeedback(feedback) => self.transport_feedback(cx, at, transport, &feedback),
            RtcpPacket::Bye(bye) => {
                env.uplink.ended(cx, env.transports, transport, leg, bye.sources());
            }
            // A name is not needed.
            RtcpPacket::SourceDescription(_) => {}
            RtcpPacket::Unknown(_) => cx.count(Counter::RtcpIgnored),
        }
    }
}
