//! Retransmissions.

use std::sync::Arc;
use std::time::Instant;

use dataplane::{Counter, ReplicaId};
use wire::SequenceNumber;

use crate::shard::Shard;
use crate::shard::handoff::{Handoff, ResendTicket};
use crate::shard::packet::Packet;
use crate::shard::rewrite::{BatchTime, Rewrite, RtpIdentity};

impl Shard {
    pub(crate) fn resend(&mut self, now: Instant, id: ReplicaId, sequences: &[u16]) {
        let time = BatchTime::new(now, &self.clock);
        for sequence in sequences {
            if let Err(reason) = self.find_and_resend(id, *sequence, &time) {
                self.counters.count(reason);
            }
        }
    }

    /// Sends a packet again, or asks the shard that has it.
    fn find_and_resend(&mut self, id: ReplicaId, sequence: u16, time: &BatchTime) -> Result<(), Counter> {
        let slot = *self.tables.replica_slots.get(&id).ok_or(Counter::NotInCache)?;
        let replica = &self.tables.replicas[slot];
        self.tables.legs[replica.leg].ready().ok_or(Counter::NotReady)?;
        replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
        let current = replica.current.ok_or(Counter::NotInCache)?;
        let segment = replica.segment.as_ref().ok_or(Counter::NotInCache)?;
        let number = segment.extend(sequence);
        let source_number = segment.source(number).ok_or(Counter::NotInCache)?;
        let ticket = ResendTicket {
            replica: id,
            number,
            segments: replica.segments,
        };
        if current.shard == self.index {
            let packet = self.tables.cached(current.generation, source_number);
            return self.resend_packet(packet, ticket, time);
        }
        let ring = self.rings[current.shard]
            .as_mut()
            .expect("the source is another shard's");
        let generation = current.generation;
        match ring.push(Handoff::Fetch {
            generation,
            source_number,
            ticket,
        }) {
            true => Ok(()),
            false => Err(Counter::WorkerQueueFull),
        }
    }

    /// Sends a packet again, if the replica is still what it was when it was asked for.
    pub(crate) fn resend_packet(
        &mut self,
        packet: Option<Arc<Packet>>,
        ticket: ResendTicket,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let packet = packet.ok_or(Counter::NotInCache)?;
        let slot = *self
            .tables
            .replica_slots
            .get(&ticket.replica)
            .ok_or(Counter::NotInCache)?;
        let replica = &self.tables.replicas[slot];
        if replica.segments != ticket.segments {
            return Err(Counter::NotInCache);
        }
        self.tables.legs[replica.leg].ready().ok_or(Counter::NotReady)?;
        let (ssrc, _) = replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
        let info = packet.info();
        let decision = replica.selection.decided(info.frame.as_ref());
        let decision = decision.ok_or(Counter::NotInCache)?;
        let format = replica.format(info.payload_type).ok_or(Counter::NotNegotiated)?;
        let identity = RtpIdentity {
            ssrc,
            payload_type: format.rtx.ok_or(Counter::NoRetransmission)?,
            // It gets one when it is sent.
            index: 0,
            original: Some(SequenceNumber(ticket.number as u16)),
        };
        let payload = replica.payload(&format, info).ok_or(Counter::Malformed)?;
        let mut rewrite = Rewrite::new(replica, &packet, payload, identity, &decision, 0);
        self.send(slot, &packet, &mut rewrite, time)
    }
}
