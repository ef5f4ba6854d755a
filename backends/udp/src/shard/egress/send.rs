//! Sending a packet to one receiver, at once or paced.

use std::sync::Arc;

use dataplane::Counter;
use pacing::Class;
use wire::MediaKind;

use crate::shard::Shard;
use crate::shard::egress::write::write_packet;
use crate::shard::pace::Waiting;
use crate::shard::packet::Packet;
use crate::shard::rewrite::{BatchTime, Rewrite};

impl Shard {
    /// Sends a packet, or queues it in the leg's pacer.
    pub(crate) fn send(
        &mut self,
        replica: usize,
        packet: &Arc<Packet>,
        rewrite: &mut Rewrite,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let class = match (rewrite.is_retransmission(), packet.info().kind) {
            (true, _) => Class::Resend,
            (false, MediaKind::Audio) => Class::Audio,
            (false, MediaKind::Video) => Class::Video,
        };
        let leg = self.tables.replicas[replica].leg;
        let Some(pace) = &mut self.tables.legs[leg].pace else {
            return self.send_now(replica, packet, rewrite, time);
        };
        if pace.pacer.may_leave(time.at, class) {
            return self.send_now(replica, packet, rewrite, time);
        }
        let waiting = Waiting {
            packet: packet.clone(),
            replica,
            rewrite: *rewrite,
        };
        let size = rewrite.size(packet);
        let pushed = pace.pacer.push(time.at, class, size, waiting);
        self.schedule(leg, time.at);
        pushed.map_err(|_| Counter::PaceQueueFull)
    }

    /// Writes a packet to the leg's run.
    pub(super) fn send_now(
        &mut self,
        replica: usize,
        packet: &Packet,
        rewrite: &mut Rewrite,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let replica = &mut self.tables.replicas[replica];
        let leg = &mut self.tables.legs[replica.leg];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        if rewrite.is_retransmission() {
            rewrite.number(replica.rtx_next);
            write_packet(&mut self.egress, leg, path, packet, rewrite, time)?;
            replica.rtx_next += 1;
            replica.statistics.resent += 1;
            self.counters.count(Counter::Resent);
        } else {
            write_packet(&mut self.egress, leg, path, packet, rewrite, time)?;
            replica.statistics.packets += 1;
            replica.statistics.octets += rewrite.payload(packet).len() as u64;
            self.counters.count(Counter::Forwarded);
        }
        Ok(())
    }
}
