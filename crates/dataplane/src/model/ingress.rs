//! A datagram's way to its stream: classify, match, unwrap, and on to the replicas.

use std::time::Instant;

use wire::extension::{AudioLevel, PlayoutDelay, parse_transport_sequence};
use wire::{ExtensionKind, ExtensionMap, Mid, PacketKind, PayloadType, Rid, RtpPacket, Ssrc};

use super::frame::Frame;
use super::stream::{MediaPacket, StreamState};
use super::{Description, Egress, Ingress, LegState, Model};
use crate::limits::{DATAGRAM_MAX, PROTECTED_PUNTS_MAX, UNKNOWN_STREAMS_MAX};
use crate::{Arrival, Counter, Event, LegId, Protection, PuntKind, StreamKey, Verdict};

/// A received packet after its retransmission is unwrapped.
struct Media<'a> {
    key: StreamKey,
    sequence: u16,
    payload_type: PayloadType,
    payload: &'a [u8],
    recovered: bool,
    frame: Option<Frame>,
}

impl Model {
    /// Processes one datagram and returns its result.
    pub fn packet(&mut self, now: Instant, arrival: Ingress<'_>, out: &mut Vec<Egress>) -> Verdict {
        self.counters.count(Counter::Received);
        let verdict = self.judge(now, arrival, out);
        if let Verdict::Drop(reason) = verdict {
            self.counters.count(reason);
        }
        verdict
    }

    fn judge(&mut self, now: Instant, arrival: Ingress<'_>, out: &mut Vec<Egress>) -> Verdict {
        if self.relays.contains_key(&arrival.path.local) {
            return self.relay(now, arrival, out);
        }
        if arrival.bytes.len() > DATAGRAM_MAX {
            return Verdict::Drop(Counter::Oversized);
        }
        let leg = self.leg_of(&arrival);
        match (wire::classify(arrival.bytes), leg) {
            (PacketKind::Stun, _) => self.punt(now, arrival, leg, PuntKind::Stun, Counter::PuntedStun),
            (PacketKind::TurnChannel | PacketKind::Unknown, _) => Verdict::Drop(Counter::NotMedia),
            (_, None) => Verdict::Drop(Counter::UnknownSource),
            (PacketKind::Dtls, _) => self.punt(now, arrival, leg, PuntKind::Dtls, Counter::PuntedDtls),
            (PacketKind::Rtp | PacketKind::Rtcp, Some(leg))
                if self.legs[&leg].entry.protection == Protection::Pending =>
            {
                self.without_keys(now, leg, arrival)
            }
            (PacketKind::Rtcp, Some(leg)) => self.rtcp(now, leg, arrival, out),
            (PacketKind::Rtp, Some(leg)) => match RtpPacket::parse(arrival.bytes) {
                Ok(packet) => self.rtp(now, leg, packet, out),
                Err(_) => Verdict::Drop(Counter::Malformed),
            },
        }
    }

    /// The leg of a datagram: by its path, and by its SSRC where legs share that.
    fn leg_of(&self, arrival: &Ingress<'_>) -> Option<LegId> {
        let ssrc = wire::ssrc(arrival.bytes);
        let is_of = |(id, leg): &(&LegId, &LegState)| {
            let has_ssrc = |ssrc| self.ssrcs_in(**id).any(|own| own == ssrc);
            leg.entry.paths.contains(&arrival.path) && (leg.entry.shared.is_none() || ssrc.is_some_and(has_ssrc))
        };
        self.legs.iter().find(is_of).map(|(id, _)| *id)
    }

    /// A packet of a leg that has no keys yet.
    fn without_keys(&mut self, now: Instant, leg: LegId, arrival: Ingress<'_>) -> Verdict {
        let punts = &mut self.legs.get_mut(&leg).expect("matched").protected_punts;
        if *punts >= PROTECTED_PUNTS_MAX {
            return Verdict::Drop(Counter::NoKeys);
        }
        *punts += 1;
        self.punt(now, arrival, Some(leg), PuntKind::Protected, Counter::PuntedProtected)
    }

    pub(super) fn punt(
        &mut self,
        at: Instant,
        arrival: Ingress<'_>,
        leg: Option<LegId>,
        kind: PuntKind,
        counter: Counter,
    ) -> Verdict {
        self.counters.count(counter);
        let bytes = arrival.bytes.to_vec();
        self.events.push_back(Event::Punt {
            kind,
            at,
            path: arrival.path,
            leg,
            bytes,
        });
        Verdict::Punt
    }

    fn rtp(&mut self, now: Instant, leg: LegId, packet: RtpPacket<'_>, out: &mut Vec<Egress>) -> Verdict {
        let map = self.legs[&leg].entry.extensions_in;
        let key = match self.receive(leg, &packet, &map) {
            Ok(key) => key,
            // A duplicate is not received again, and not even reported.
            Err(reason) => return Verdict::Drop(reason),
        };
        let media = key
            .ok_or(Counter::UnknownStream)
            .and_then(|key| self.unwrap(key, &packet, &map));
        self.report_arrival(now, leg, &packet, &map, media.as_ref().ok());
        match media {
            Ok(media) => self.media(now, &packet, &map, media, out),
            Err(Counter::UnknownStream) => self.unknown_stream(leg, &packet, &map),
            Err(reason) => Verdict::Drop(reason),
        }
    }

    /// Finds the stream the packet belongs to, and refuses a number that was received before.
    fn receive(
        &mut self,
        leg: LegId,
        packet: &RtpPacket<'_>,
        map: &ExtensionMap,
    ) -> Result<Option<StreamKey>, Counter> {
        let Some((key, stream)) = self.stream_of(leg, packet.ssrc()) else {
            return Ok(None);
        };
        let said = extension(packet, map, ExtensionKind::Mid).and_then(Mid::from_bytes);
        if said.zip(stream.entry.mid).is_some_and(|(said, own)| said != own) {
            return Ok(None);
        }
        stream.window(packet.ssrc() == key.ssrc).receive(packet.sequence().0)?;
        Ok(Some(key))
    }

    /// The stream of an SSRC, which may be that of its retransmissions.
    fn stream_of(&mut self, leg: LegId, ssrc: Ssrc) -> Option<(StreamKey, &mut StreamState)> {
        let mut on_leg = self.streams.iter_mut().filter(|(key, _)| key.leg == leg);
        let found = on_leg.find(|(key, stream)| key.ssrc == ssrc || stream.entry.rtx == Some(ssrc));
        found.map(|(key, stream)| (*key, stream))
    }

    /// The media in a packet; a retransmission is taken apart (RFC 4588 section 4).
    fn unwrap<'a>(&mut self, key: StreamKey, packet: &RtpPacket<'a>, map: &ExtensionMap) -> Result<Media<'a>, Counter> {
        let stream = self.streams.get_mut(&key).expect("received on it");
        let payload_type = packet.payload_type();
        let descriptor = extension(packet, map, ExtensionKind::DependencyDescriptor);
        if packet.ssrc() == key.ssrc {
            let codec = stream.format(payload_type).ok_or(Counter::UnknownFormat)?.codec;
            let (sequence, payload) = (packet.sequence().0, packet.payload());
            return Ok(Media {
                key,
                sequence,
                payload_type,
                payload,
                recovered: false,
                frame: stream.frames.read(codec, packet.timestamp(), descriptor, payload),
            });
        }
        if packet.is_padding_only() {
            return Err(Counter::PaddingOnly);
        }
        let format = stream.format_of_rtx(payload_type).ok_or(Counter::UnknownFormat)?;
        let (original, payload) = wire::rtx::split(packet.payload()).ok_or(Counter::Malformed)?;
        self.counters.count(Counter::Recovered);
        Ok(Media {
            key,
            sequence: original.0,
            payload_type: format.payload_type,
            payload,
            recovered: true,
            frame: stream
                .frames
                .read(format.codec, packet.timestamp(), descriptor, payload),
        })
    }

    fn media(
        &mut self,
        now: Instant,
        packet: &RtpPacket<'_>,
        map: &ExtensionMap,
        media: Media<'_>,
        out: &mut Vec<Egress>,
    ) -> Verdict {
        let stream = self.streams.get_mut(&media.key).expect("unwrap found it");
        let before = stream.media.highest();
        let number = match stream.media.receive(media.sequence) {
            Ok(number) => number,
            Err(reason) => return Verdict::Drop(reason),
        };
        let format = stream.format(media.payload_type).expect("unwrap checked it");
        let newest = number > before;
        let delay = extension(packet, map, ExtensionKind::PlayoutDelay).and_then(PlayoutDelay::parse);
        let kept = MediaPacket {
            at: now,
            number,
            newest,
            marker: packet.marker(),
            payload_type: media.payload_type,
            codec: format.codec,
            timestamp: packet.timestamp(),
            capture: stream.capture(packet.timestamp(), format.codec.clock_rate()),
            extensions: carried(packet, map),
            playout_delay: stream.hold_playout_delay(delay, newest),
            frame: media.frame,
            payload: media.payload.to_vec(),
        };
        stream.keep(&kept, packet.as_bytes().len(), media.recovered, &self.clock);
        self.replicate(now, media.key, &kept, out)
    }

    fn unknown_stream(&mut self, leg: LegId, packet: &RtpPacket<'_>, map: &ExtensionMap) -> Verdict {
        // Only a packet newer than all others of its SSRC may move it to another media section.
        let (ssrc, sequence) = (packet.ssrc(), packet.sequence().0);
        if let Some((key, stream)) = self.stream_of(leg, ssrc)
            && !stream.window(ssrc == key.ssrc).is_newest(sequence)
        {
            return Verdict::Drop(Counter::UnknownStream);
        }
        let description = Description {
            ssrc: packet.ssrc(),
            mid: extension(packet, map, ExtensionKind::Mid).and_then(Mid::from_bytes),
            rid: extension(packet, map, ExtensionKind::Rid).and_then(Rid::from_bytes),
            repaired_rid: extension(packet, map, ExtensionKind::RepairedRid).and_then(Rid::from_bytes),
        };
        let said = &mut self.legs.get_mut(&leg).expect("matched").unknown_streams;
        if said.contains(&description) || said.len() >= UNKNOWN_STREAMS_MAX {
            return Verdict::Drop(Counter::UnknownStream);
        }
        said.insert(description);
        self.counters.count(Counter::PuntedStream);
        self.events.push_back(Event::UnknownStream {
            leg,
            ssrc: description.ssrc,
            payload_type: packet.payload_type(),
            mid: description.mid,
            rid: description.rid,
            repaired_rid: description.repaired_rid,
        });
        Verdict::Punt
    }

    fn report_arrival(
        &mut self,
        at: Instant,
        leg: LegId,
        packet: &RtpPacket<'_>,
        map: &ExtensionMap,
        media: Option<&Media<'_>>,
    ) {
        let (ssrc, sequence, recovered) = media.map_or((packet.ssrc(), packet.sequence().0, false), |media| {
            (media.key.ssrc, media.sequence, media.recovered)
        });
        let frame = media.and_then(|media| media.frame.as_ref());
        let arrival = Arrival {
            at,
            ssrc,
            sequence,
            recovered,
            layer: frame.and_then(Frame::known_layer),
            ends_frame: packet.marker() || frame.is_some_and(|frame| frame.ends),
            needed_above: frame.is_some_and(Frame::is_needed_above),
            transport_sequence: extension(packet, map, ExtensionKind::TransportSequence)
                .and_then(parse_transport_sequence),
            size: packet.as_bytes().len() as u16,
            audio_level: extension(packet, map, ExtensionKind::AudioLevel)
                .and_then(AudioLevel::parse)
                .map(|level| (level.level, level.voice)),
        };
        // Devices report in batches of their own size; only the order within a leg is the
        // contract's.
        self.events.push_back(Event::Arrivals {
            leg,
            arrivals: vec![arrival],
        });
    }
}

/// The extension values a replica may carry on, in the order of their kinds.
fn carried(packet: &RtpPacket<'_>, map: &ExtensionMap) -> Vec<(ExtensionKind, Vec<u8>)> {
    use ExtensionKind::*;
    let own = [Mid, Rid, RepairedRid, AbsSendTime, TransportSequence];
    let kinds = ExtensionKind::ALL.iter().filter(|kind| !own.contains(kind));
    kinds
        .filter_map(|kind| Some((*kind, extension(packet, map, *kind)?.to_vec())))
        .collect()
}

fn extension<'a>(packet: &RtpPacket<'a>, map: &ExtensionMap, kind: ExtensionKind) -> Option<&'a [u8]> {
    packet.extension(map.id(kind)?)
}
