//! Asking publishers for what receivers lost, where the data plane keeps no packets: a receiver's request goes on to who can answer it.
//!
//! Several receivers often lose the same packet, and each asks again until it has come, so a publisher is asked for a packet once in a round trip, whoever
//! wants it. The data plane knows to whom it goes. What is missing here as well [`repair`](super::repair) asks for already.
//!
//! Without encryption only: where there is some, a receiver takes a packet again only as a retransmission that was made for it.
//!
//! Source: Scallop section 5.3; RFC 4585 section 6.2.1.

use dataplane::StreamKey;
use wire::SequenceNumber;
use wire::rtcp::RtcpWriter;

use super::Media;
use super::resend::Bounds;
use crate::Counter;
use crate::context::Context;
use crate::limits::WANTED_PER_SECOND_MAX;

impl Media {
    /// Receivers miss these packets of a stream, by its own numbers.
    pub(crate) fn wanted(&mut self, cx: &mut Context<'_>, key: StreamKey, sequences: &[u16]) {
        let publisher = self.by_leg.get(&key.leg);
        let Some(link) = publisher.and_then(|transport| self.links.get(transport)) else {
            return;
        };
        let Some(uplink) = self.uplinks.get_mut(&key) else {
            return;
        };
        let bounds = Bounds {
            round_trip: link.asks_again_after(),
            per_second: WANTED_PER_SECOND_MAX,
            together: None,
            copies: 1,
        };
        let mut asked = Vec::new();
        for sequence in sequences {
            let is_missing_here = uplink.repair.as_ref().is_some_and(|repair| repair.misses(*sequence));
            match !is_missing_here && uplink.wanted.admit_alone(cx.now, *sequence, bounds) {
                true => asked.push(SequenceNumber(*sequence)),
                false => cx.count(Counter::NackThrottled),
            }
        }
        if !asked.is_empty() {
            cx.count_many(Counter::NackSent, asked.len() as u64);
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, link.ssrc, &link.cname, &[]).nack(key.ssrc, asked);
            cx.send_rtcp(key.leg, &compound);
        }
    }
}
