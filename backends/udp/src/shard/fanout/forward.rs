//! Forwarding of one packet to one replica.

use dataplane::{Counter, Protection};

use crate::channel::Report;
use crate::shard::Shard;
use crate::shard::fanout::queues::QueuedPacket;
use crate::shard::rewrite::{BatchTime, Rewrite, RtpIdentity};

impl Shard {
    /// Forwards a packet to one replica, and records the outcome.
    pub(super) fn offer(&mut self, replica: usize, queued: &mut QueuedPacket, time: &BatchTime) {
        queued.progress.followed = true;
        match self.forward(replica, queued, time) {
            Ok(()) => queued.progress.sent = true,
            // A packet that is only padding is not missed.
            Err(Counter::PaddingOnly) => {}
            Err(reason) => self.counters.count(reason),
        }
    }

    /// Forwards a packet to one replica of its stream: select, number, rewrite, send.
    fn forward(&mut self, slot: usize, queued: &QueuedPacket, time: &BatchTime) -> Result<(), Counter> {
        let packet = &queued.packet;
        let replica = &mut self.tables.replicas[slot];
        let leg = &self.tables.legs[replica.leg];
        let info = packet.info();
        if replica.entry.paused {
            return Err(Counter::Paused);
        }
        let sendable = match (
            packet.payload().is_empty(),
            leg.is_ready(),
            replica.format(info.payload_type),
        ) {
            (true, ..) => Err(Counter::PaddingOnly),
            (_, false, _) => Err(Counter::NotReady),
            (.., None) => Err(Counter::NotNegotiated),
            (_, true, Some(format)) => {
                let payload = replica.payload(&format, info).ok_or(Counter::Malformed);
                payload.map(|payload| (format.payload_type, payload))
            }
        };
        let before = replica.selected();
        if !replica.is_following(info) {
            if leg.entry.protection == Protection::Pending {
                let forgotten = replica.keep_early(packet, &mut self.pool);
                self.counters.add(Counter::EarlyForgotten, forgotten as u64);
            }
            if replica.waits(info, sendable.is_ok()) {
                return Err(sendable.err().unwrap_or(Counter::AwaitingKeyFrame));
            }
            // A replica that continues accounts for every packet, like the device before.
            if !replica.continues_with(info) {
                sendable?;
            }
            if let Some(before) = replica.begin(packet)? {
                self.queues.remove(before.generation, replica.id);
            }
        }
        let decided = replica.decide(packet, sendable.map(drop), queued.is_late);
        if let Some(selected) = replica.selected().filter(|after| Some(*after) != before) {
            self.reports
                .send(&self.counters, Report::Selected(replica.id, selected));
        }
        let (number, decision) = decided?;
        let (payload_type, payload) = sendable?;
        let identity = RtpIdentity {
            ssrc: replica.entry.ssrc,
            payload_type,
            // Numbers start in cycle one, so that packets before the first have one too; SRTP
            // counts from zero.
            index: number - (1 << 16),
            original: None,
        };
        let mut rewrite = Rewrite::new(replica, packet, payload, identity, &decision, queued.padding);
        self.send(slot, packet, &mut rewrite, time)
    }
}
