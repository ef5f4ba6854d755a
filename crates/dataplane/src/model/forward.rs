//! Packets to the replicas of their stream.

use std::time::Instant;

use wire::MediaKind;

use super::header::{self, Stamps};
use super::replica::ReplicaState;
use super::stream::MediaPacket;
use super::{Egress, Model};
use crate::limits::DATAGRAM_MAX;
use crate::{Counter, Event, Protection, ReplicaId, StreamKey, Verdict};

impl Model {
    /// Sends `packet` to every replica that gets it.
    pub(super) fn replicate(
        &mut self,
        now: Instant,
        key: StreamKey,
        packet: &MediaPacket,
        out: &mut Vec<Egress>,
    ) -> Verdict {
        let concerned = |replica: &ReplicaState| replica.entry.source == Some(key) || replica.current == Some(key);
        let ids: Vec<ReplicaId> = self
            .replicas
            .iter()
            .filter(|(_, replica)| concerned(replica))
            .map(|(id, _)| *id)
            .collect();
        let sent_before = out.len();
        for id in &ids {
            self.offer(now, *id, key, packet, out);
        }
        match out.len() > sent_before {
            true => Verdict::Forward,
            false if packet.payload.is_empty() => Verdict::Drop(Counter::PaddingOnly),
            false if self.streams[&key].is_copied => Verdict::Drop(Counter::CopiedByOffload),
            false if ids.is_empty() => Verdict::Drop(Counter::NoReplica),
            false => Verdict::Drop(Counter::NotSelected),
        }
    }

    /// Offers a packet of `key` to one replica, and counts the outcome.
    pub(super) fn offer(
        &mut self,
        now: Instant,
        id: ReplicaId,
        key: StreamKey,
        packet: &MediaPacket,
        out: &mut Vec<Egress>,
    ) {
        match self.forward(now, id, key, packet) {
            Ok(egress) => {
                self.counters.count(Counter::Forwarded);
                out.push(egress);
            }
            Err(Counter::PaddingOnly) => {}
            Err(reason) => self.counters.count(reason),
        }
    }

    /// Makes one replica's copy of a packet of `key`, or tells why it gets none.
    fn forward(
        &mut self,
        now: Instant,
        id: ReplicaId,
        key: StreamKey,
        packet: &MediaPacket,
    ) -> Result<Egress, Counter> {
        let replica = self.replicas.get_mut(&id).expect("listed");
        let leg = self.legs.get_mut(&replica.entry.leg).expect("a replica's leg is there");
        if replica.entry.paused {
            return Err(Counter::Paused);
        }
        let format = replica.format(packet.payload_type);
        let sendable = match (packet.payload.is_empty(), leg.ready(), format) {
            (true, ..) => Err(Counter::PaddingOnly),
            (_, None, _) => Err(Counter::NotReady),
            (.., None) => Err(Counter::NotNegotiated),
            _ if replica.payload(packet).is_none() => Err(Counter::Malformed),
            (_, Some(path), Some(format)) => Ok((path, format.payload_type)),
        };
        let before = replica.selected();
        if replica.current != Some(key) {
            let is_video = self.streams[&key].entry.kind == MediaKind::Video;
            if leg.entry.protection == Protection::Pending && is_video {
                let forgotten = replica.keep_early(packet);
                self.counters[Counter::EarlyForgotten] += forgotten as u64;
            }
            if replica.waits(key, packet, sendable.is_ok()) {
                return Err(sendable.err().unwrap_or(Counter::AwaitingKeyFrame));
            }
            // A replica that continues accounts for every packet, like the device before.
            if !replica.continues_with(key, packet) {
                sendable?;
            }
            replica.begin(key, packet)?;
        }
        let placed = replica.place(packet, sendable.map(drop));
        if let Some((source, layer, awaits_key_frame)) = replica.selected().filter(|after| Some(*after) != before) {
            self.events.push_back(Event::Selected {
                replica: id,
                source,
                layer,
                awaits_key_frame,
            });
        }
        let (number, decision) = placed?;
        let (path, payload_type) = sendable?;
        let stamps = Stamps::next(leg, self.clock.ntp(now));
        let bytes = header::media(replica, leg, packet, decision, number, payload_type, stamps);
        if bytes.len() > DATAGRAM_MAX {
            return Err(Counter::ReplicaOversized);
        }
        replica.statistics.packets += 1;
        replica.statistics.octets += replica.payload(packet).map_or(0, <[u8]>::len) as u64;
        stamps.sent(leg, now, bytes.len(), replica.entry.leg, None, &mut self.events);
        Ok(Egress {
            leg: Some(replica.entry.leg),
            path,
            bytes,
        })
    }
}
