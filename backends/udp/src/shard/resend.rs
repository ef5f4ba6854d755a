//! What the agent asks for: retransmissions, RTCP, datagrams, reports.

use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Counter, LegId, ReplicaId};
use wire::SequenceNumber;

use super::Shard;
use super::handoff::{Handoff, ResendTicket};
use super::header::{BatchTime, Rewrite, RtpIdentity};
use super::packet::Packet;
use super::report::Report;
use crate::srtp::rtcp_overhead;

/// The shortest RTCP packet that can be protected: a header and an SSRC.
const RTCP_MIN: usize = 8;

impl Shard {
    pub(super) fn resend(&mut self, now: Instant, id: ReplicaId, sequences: &[u16]) {
        let time = BatchTime::new(now, &self.clock);
        for sequence in sequences {
            if let Err(reason) = self.find_and_resend(id, *sequence, &time) {
                self.counters.count(reason);
            }
        }
    }

    /// Sends a packet again, or asks the shard that has it.
    fn find_and_resend(&mut self, id: ReplicaId, sequence: u16, time: &BatchTime) -> Result<(), Counter> {
        let place = *self.replica_places.get(&id).ok_or(Counter::NotInCache)?;
        let replica = &self.replicas[place];
        self.legs[replica.leg].ready().ok_or(Counter::NotReady)?;
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
            let packet = self.cached(current.generation, source_number);
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

    fn cached(&self, generation: super::Generation, number: u64) -> Option<Arc<Packet>> {
        let place = self.stream_places.get(&generation)?;
        self.streams[*place].cache.find(number).cloned()
    }

    /// Sends a packet again, if the replica is still what it was when it was asked for.
    fn resend_packet(
        &mut self,
        packet: Option<Arc<Packet>>,
        ticket: ResendTicket,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let packet = packet.ok_or(Counter::NotInCache)?;
        let place = *self.replica_places.get(&ticket.replica).ok_or(Counter::NotInCache)?;
        let replica = &self.replicas[place];
        if replica.segments != ticket.segments {
            return Err(Counter::NotInCache);
        }
        self.legs[replica.leg].ready().ok_or(Counter::NotReady)?;
        let (ssrc, _) = replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
        let info = packet.info();
        let decision = replica.selection.decided(info.frame.as_ref());
        let decision = decision.ok_or(Counter::NotInCache)?;
        let format = replica.format(info.payload_type).ok_or(Counter::NotNegotiated)?;
        let identity = RtpIdentity {
            ssrc,
            payload_type: format.rtx.ok_or(Counter::NoRetransmission)?,
            // It gets one when it leaves.
            index: 0,
            original: Some(SequenceNumber(ticket.number as u16)),
        };
        let payload = replica.payload(&format, info).ok_or(Counter::Malformed)?;
        let mut rewrite = Rewrite::new(replica, &packet, payload, identity, &decision, 0);
        self.send(place, &packet, &mut rewrite, time)
    }

    /// Acts on a message of another shard.
    pub(super) fn handle_handoff(&mut self, now: Instant, other: usize, message: Handoff) {
        match message {
            Handoff::Datagram(received) => self.receive_handed_off(now, &received),
            Handoff::Packet { packet, epoch } => self.accept_packet(other, packet, epoch),
            Handoff::Quiet { generation, epoch } => {
                if let Some(place) = self.stream_places.get(&generation) {
                    self.streams[*place].listeners.quiet(other, epoch);
                }
            }
            Handoff::Fetch {
                generation,
                source_number,
                ticket,
            } => {
                let packet = self.cached(generation, source_number);
                let ring = self.rings[other].as_mut().expect("it came from another shard");
                if !ring.push(Handoff::Fetched { packet, ticket }) {
                    self.counters.count(Counter::WorkerQueueFull);
                }
            }
            Handoff::Fetched { packet, ticket } => {
                let time = BatchTime::new(now, &self.clock);
                if let Err(reason) = self.resend_packet(packet, ticket, &time) {
                    self.counters.count(reason);
                }
            }
        }
    }

    pub(super) fn send_rtcp(&mut self, id: LegId, bytes: &[u8]) {
        if let Err(reason) = self.try_send_rtcp(id, bytes) {
            self.counters.count(reason);
        }
    }

    fn try_send_rtcp(&mut self, id: LegId, bytes: &[u8]) -> Result<(), Counter> {
        let place = self.leg_places.get(&id).ok_or(Counter::NotReady)?;
        let leg = &mut self.legs[*place];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let mut run = leg.run;
        let buffer = self.egress.buffer(id, &mut run);
        leg.run = run;
        let start = buffer.bytes.len();
        buffer.bytes.extend_from_slice(bytes);
        if let Some(keys) = leg.keys_in_use() {
            if bytes.len() < RTCP_MIN || bytes.len() > DATAGRAM_MAX {
                buffer.bytes.truncate(start);
                return Err(Counter::Malformed);
            }
            buffer
                .bytes
                .resize(start + bytes.len() + rtcp_overhead(keys.egress_profile()), 0);
            match keys.sealer.seal_rtcp(&mut buffer.bytes[start..], bytes.len()) {
                Ok(sealed) => buffer.bytes.truncate(start + sealed),
                Err(_) => {
                    buffer.bytes.truncate(start);
                    return Err(Counter::KeysExhausted);
                }
            }
        }
        buffer.cut(path, start);
        Ok(())
    }

    /// Tells about every stream of a leg and every replica sent to it, in the order of their names.
    pub(super) fn report_statistics(&mut self, now: Instant, id: LegId) {
        let Some(place) = self.leg_places.get(&id) else {
            return;
        };
        let leg = &self.legs[*place];
        for (_, place) in &leg.streams {
            let stream = &self.streams[*place];
            let report = Report::Stream(Box::new((stream.key, stream.statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
        for (id, place) in &leg.replicas {
            let statistics = self.replicas[*place].report();
            let report = Report::Replica(Box::new((*id, statistics)));
            self.reports.send_later(&self.counters, now, report);
        }
    }
}
