//! Asking publishers for what receivers lost, where the data plane keeps no packets: a receiver's request goes on to who can answer it.
//!
//! Several receivers often lose the same packet, and each asks again until it has come, so a publisher is asked for a packet once in a round trip, whoever
//! wants it. The data plane knows to whom it goes. What is missing here as well [`nack`](crate::media::uplink::nack) asks for already.
//!
//! Without encryption only: where there is some, a receiver takes a packet again only as a retransmission that was made for it.
//!
//! Source: Scallop section 5.3; RFC 4585 section 6.2.1.

use dataplane::StreamKey;
use wire::SequenceNumber;
use wire::rtcp::RtcpWriter;

use crate::Counter;
use crate::context::Context;
use crate::limits::UPSTREAM_NACKS_PER_SECOND_MAX;
use crate::media::Media;
use crate::media::downlink::rtx::RtxBounds;

impl Media {
    /// Receivers miss these packets of a stream, by its own numbers.
    pub(crate) fn nack_upstream(&mut self, cx: &mut Context<'_>, key: StreamKey, sequences: &[u16]) {
        let publisher = self.by_leg.get(&key.leg);
        let Some(peer) = publisher.and_then(|transport| self.peers.get(transport)) else {
            return;
        };
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            return;
        };
        let bounds = RtxBounds {
            round_trip: peer.asks_again_after(),
            per_second: UPSTREAM_NACKS_PER_SECOND_MAX,
            together: None,
            copies: 1,
        };
        let mut asked = Vec::new();
        for sequence in sequences {
            let is_missing_here = up_track.nack.as_ref().is_some_and(|nack| nack.misses(*sequence));
            match !is_missing_here && up_track.upstream_nacks.admit_alone(cx.now, *sequence, bounds) {
                true => asked.push(SequenceNumber(*sequence)),
                false => cx.count(Counter::NackThrottled),
            }
        }
        if !asked.is_empty() {
            cx.count_many(Counter::NackSent, asked.len() as u64);
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, peer.ssrc, &peer.cname, &[]).nack(key.ssrc, asked);
            cx.send_rtcp(key.leg, &compound);
        }
    }
}
