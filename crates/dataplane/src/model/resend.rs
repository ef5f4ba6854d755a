//! Requests of the agent: retransmissions, packets in place of media, RTCP, reports.

use std::time::Instant;

use super::header::{self, Stamps};
use super::replica::{Fill, ReplicaState};
use super::{Egress, Model};
use crate::limits::{DATAGRAM_MAX, PROBE_PACKETS_MAX};
use crate::{Counter, Event, LegId, ReplicaId};

impl Model {
    pub(super) fn resend(&mut self, now: Instant, id: ReplicaId, sequences: &[u16]) {
        for sequence in sequences {
            match self.resend_one(now, id, *sequence) {
                Ok(egress) => {
                    self.counters.count(Counter::Resent);
                    self.injected.push(egress);
                }
                Err(reason) => self.counters.count(reason),
            }
        }
    }

    /// Retransmits one packet. A packet that was held back because it was late is sent too: the
    /// receiver sees its number as a gap and waits for it.
    fn resend_one(&mut self, now: Instant, id: ReplicaId, sequence: u16) -> Result<Egress, Counter> {
        let replica = self.replicas.get_mut(&id).ok_or(Counter::NotInCache)?;
        let leg = self.legs.get_mut(&replica.entry.leg).ok_or(Counter::NotReady)?;
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let (rtx, _) = replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
        let stream = replica
            .current
            .and_then(|current| self.streams.get(&current))
            .ok_or(Counter::NotInCache)?;
        let segment = replica.segment.as_ref().ok_or(Counter::NotInCache)?;

        let number = segment.extend(sequence);
        let source = segment.source(number).ok_or(Counter::NotInCache)?;
        let packet = stream.cache.get(&source).ok_or(Counter::NotInCache)?;
        let decision = segment.selection.decided(packet).ok_or(Counter::NotInCache)?;
        let format = replica.format(packet.payload_type).ok_or(Counter::NotNegotiated)?;
        let rtx_type = format.rtx.ok_or(Counter::NoRetransmission)?;
        replica.payload(packet).ok_or(Counter::Malformed)?;

        let stamps = Stamps::next(leg, self.clock.ntp(now));
        let as_rtx = (rtx, replica.rtx_next, rtx_type);
        let bytes = header::retransmission(replica, leg, packet, decision, number, as_rtx, stamps);
        if bytes.len() > DATAGRAM_MAX {
            return Err(Counter::ReplicaOversized);
        }
        replica.rtx_next = replica.rtx_next.wrapping_add(1);
        replica.statistics.resent += 1;
        stamps.sent(leg, now, bytes.len(), replica.entry.leg, None, &mut self.events);
        Ok(Egress {
            leg: Some(replica.entry.leg),
            path,
            bytes,
        })
    }

    /// Makes a packet in place of media; none once the replica has followed a stream.
    pub(super) fn fill(&mut self, now: Instant, id: ReplicaId, fill: Fill<'_>) -> Result<Option<Egress>, Counter> {
        let Some(replica) = self.replicas.get_mut(&id).filter(|replica| replica.is_to_begin()) else {
            return Ok(None);
        };
        let leg = self.legs.get_mut(&replica.entry.leg).expect("a replica's leg is there");
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let (number, timestamp) = replica.next_fill(now, fill.clock_rate);
        let stamps = Stamps::next(leg, self.clock.ntp(now));
        let bytes = header::filling(replica, leg, fill, number as u16, timestamp, stamps);
        replica.filled(now, number, timestamp);
        replica.statistics.packets += 1;
        replica.statistics.octets += fill.payload.len() as u64;
        stamps.sent(leg, now, bytes.len(), replica.entry.leg, None, &mut self.events);
        self.counters.count(Counter::Filled);
        Ok(Some(Egress {
            leg: Some(replica.entry.leg),
            path,
            bytes,
        }))
    }

    /// Sends padding: as much as both `bytes` and `packets` ask for.
    pub(super) fn probe(&mut self, now: Instant, id: LegId, probe: u32, bytes: u32, packets: u32) {
        let (mut left_bytes, mut left_packets) = (u64::from(bytes), packets);
        for _ in 0..PROBE_PACKETS_MAX {
            if left_bytes == 0 && left_packets == 0 {
                return;
            }
            match self.probe_packet(now, id, probe) {
                Ok(egress) => {
                    self.counters.count(Counter::Probed);
                    left_bytes = left_bytes.saturating_sub(egress.bytes.len() as u64);
                    left_packets = left_packets.saturating_sub(1);
                    self.injected.push(egress);
                }
                Err(reason) => return self.counters.count(reason),
            }
        }
    }

    /// Padding is sent as empty retransmissions of the first replica on the leg that has any.
    fn probe_packet(&mut self, now: Instant, id: LegId, probe: u32) -> Result<Egress, Counter> {
        let leg = self.legs.get_mut(&id).ok_or(Counter::NotReady)?;
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let with_rtx = |replica: &&mut ReplicaState| replica.entry.leg == id && replica.padding_type().is_some();
        let replica = self
            .replicas
            .values_mut()
            .find(with_rtx)
            .ok_or(Counter::NoRetransmission)?;
        let stamps = Stamps::next(leg, self.clock.ntp(now));
        let bytes = header::padding(replica, leg, stamps);
        replica.rtx_next = replica.rtx_next.wrapping_add(1);
        stamps.sent(leg, now, bytes.len(), id, Some(probe), &mut self.events);
        Ok(Egress {
            leg: Some(id),
            path,
            bytes,
        })
    }

    pub(super) fn send_rtcp(&mut self, id: LegId, bytes: &[u8]) {
        match self.legs.get(&id).and_then(|leg| leg.ready()) {
            Some(path) => self.injected.push(Egress {
                leg: Some(id),
                path,
                bytes: bytes.to_vec(),
            }),
            None => self.counters.count(Counter::NotReady),
        }
    }

    pub(super) fn report(&mut self, leg: LegId) {
        let streams = self.streams.iter().filter(|(key, _)| key.leg == leg);
        self.events
            .extend(streams.map(|(key, stream)| Event::Stream(*key, stream.statistics)));
        let replicas = self.replicas.iter().filter(|(_, replica)| replica.entry.leg == leg);
        self.events.extend(replicas.map(|(id, replica)| {
            let mut statistics = replica.statistics;
            statistics.source = replica.current;
            statistics.timestamp_offset = replica.segment.as_ref().map_or(0, |segment| segment.timestamp_offset);
            Event::Replica(*id, statistics)
        }));
    }
}
