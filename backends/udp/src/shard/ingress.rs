//! A datagram's way to its stream: classify, match, open, unwrap, and on to the replicas.

use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::{DATAGRAM_MAX, UNKNOWN_STREAMS_MAX};
use dataplane::{Arrival, Counter, Path, Protection, PuntKind};
use wire::extension::{AudioLevel, parse_transport_sequence};
use wire::{Codec, ExtensionKind, MediaKind, Mid, PacketKind, Rid, RtpPacket, Ssrc};

use super::elements::Elements;
use super::leg::LegState;
use super::notes::{Note, PuntedRef};
use super::packet::{Facts, Packet};
use super::stream::StreamState;
use super::{Route, Shard};
use crate::srtp::OpenError;

/// What a packet turns out to be once retransmission is unwrapped.
struct Media<'a> {
    sequence: u16,
    format: dataplane::StreamFormat,
    payload: &'a [u8],
    recovered: bool,
}

impl Shard {
    /// What becomes of one datagram. Its replicas are written by [`work`](Self::work).
    pub fn receive(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        self.counters.count(Counter::Received);
        let judged = match (datagram.len() > DATAGRAM_MAX, self.routes.get(&path).copied()) {
            (true, _) => Err(Counter::Oversized),
            (false, Some(Route::Elsewhere(shard))) => self.hand_over(shard, path, datagram),
            (false, route) => self.judge(now, path, route, datagram),
        };
        if let Err(reason) = judged {
            self.counters.count(reason);
        }
    }

    /// What becomes of a datagram that another shard received for a leg of ours; it is counted as received there.
    pub(super) fn receive_relayed(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        let route = self
            .routes
            .get(&path)
            .copied()
            .filter(|route| matches!(route, Route::Here(_)));
        if let Err(reason) = self.judge(now, path, route, datagram) {
            self.counters.count(reason);
        }
    }

    fn hand_over(&mut self, shard: usize, path: Path, datagram: &[u8]) -> Result<(), Counter> {
        let link = self.links[shard]
            .as_mut()
            .expect("a route elsewhere leads to another shard");
        match link.push_datagram(path, datagram) {
            true => Ok(()),
            false => Err(Counter::WorkerQueueFull),
        }
    }

    fn judge(&mut self, now: Instant, path: Path, route: Option<Route>, datagram: &[u8]) -> Result<(), Counter> {
        let place = match route {
            Some(Route::Here(place)) => Some(place),
            Some(Route::Elsewhere(..)) | None => None,
        };
        let kind = wire::classify(datagram);
        match (kind, place) {
            (PacketKind::Stun, _) => self.punt(now, path, place, PuntKind::Stun, datagram),
            (PacketKind::TurnChannel | PacketKind::Unknown, _) => return Err(Counter::NotMedia),
            (_, None) => return Err(Counter::UnknownSource),
            (PacketKind::Dtls, Some(_)) => self.punt(now, path, place, PuntKind::Dtls, datagram),
            (PacketKind::Rtp | PacketKind::Rtcp, Some(place))
                if self.legs[place].entry.protection == Protection::Pending =>
            {
                return Err(Counter::NoKeys);
            }
            (PacketKind::Rtcp, Some(leg)) => self.rtcp(now, path, leg, datagram)?,
            (PacketKind::Rtp, Some(leg)) => self.rtp(now, leg, datagram)?,
        }
        Ok(())
    }

    fn punt(&mut self, at: Instant, path: Path, place: Option<usize>, kind: PuntKind, bytes: &[u8]) {
        let counter = match kind {
            PuntKind::Stun => Counter::PuntedStun,
            PuntKind::Dtls => Counter::PuntedDtls,
            PuntKind::Rtcp => Counter::PuntedRtcp,
        };
        let leg = place.map(|place| self.legs[place].id);
        let punted = PuntedRef {
            kind,
            at,
            path,
            leg,
            bytes,
        };
        if self.notes.punt(&self.counters, &punted) {
            self.counters.count(counter);
        }
    }

    fn rtcp(&mut self, now: Instant, path: Path, place: usize, datagram: &[u8]) -> Result<(), Counter> {
        let mut clear = std::mem::take(&mut self.scratch);
        clear.clear();
        clear.extend_from_slice(datagram);
        let opened = match self.legs[place].keys_in_use() {
            Some(keys) => keys.opener.open_rtcp(&mut clear).map_err(reason),
            None => Ok(clear.len()),
        };
        if let Ok(len) = opened {
            self.punt(now, path, Some(place), PuntKind::Rtcp, &clear[..len]);
        }
        self.scratch = clear;
        opened.map(drop)
    }

    /// Copies the packet to where it may stay, and opens it there.
    fn rtp(&mut self, now: Instant, place: usize, datagram: &[u8]) -> Result<(), Counter> {
        let mut shared = self.pool.take(datagram.len());
        let packet = Arc::get_mut(&mut shared).expect("buffers in the pool are nobody else's");
        let received = open(&mut self.legs[place], packet, datagram)
            .and_then(|clear_len| self.place_packet(now, place, packet, clear_len, datagram.len()));
        match received {
            Ok(Some(stream)) => self.keep(stream, shared),
            Ok(None) => self.pool.give(shared),
            Err(reason) => {
                self.pool.give(shared);
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Finds a clear packet's stream and its number there, and describes it. `None` when it was punted instead.
    fn place_packet(
        &mut self,
        now: Instant,
        place: usize,
        packet: &mut Packet,
        clear_len: usize,
        size: usize,
    ) -> Result<Option<usize>, Counter> {
        let leg = &mut self.legs[place];
        let view = RtpPacket::parse(&packet.bytes()[..clear_len]).map_err(|_| Counter::Malformed)?;
        let elements = Elements::find(&view, &leg.entry.extensions_in);
        let ssrc = view.ssrc();
        let Some(stream_place) = leg.stream_of(ssrc) else {
            let arrival = arrival(now, &view, &elements, size, (ssrc, view.sequence().0, false));
            self.notes.mention(&self.counters, now, Note::Arrival(leg.id, arrival));
            return self.unknown_stream(place, &view, &elements).map(|()| None);
        };
        let stream = &mut self.streams[stream_place];
        // What was received before is not received again: it is not even reported.
        let window = if stream.key.ssrc == ssrc {
            &mut stream.direct
        } else {
            &mut stream.rtx
        };
        window.receive(view.sequence().0)?;
        let media = unwrap(stream, &view);
        let named = media.as_ref().map_or((ssrc, view.sequence().0, false), |media| {
            (stream.key.ssrc, media.sequence, media.recovered)
        });
        let arrival = arrival(now, &view, &elements, size, named);
        self.notes.mention(&self.counters, now, Note::Arrival(leg.id, arrival));
        let media = media?;
        if media.recovered {
            self.counters.count(Counter::Recovered);
        }
        let facts = admit(stream, &view, &media, elements, now)?;
        stream.count(&facts, size, media.recovered, &self.clock);
        packet.describe(facts);
        Ok(Some(stream_place))
    }

    fn unknown_stream(&mut self, place: usize, view: &RtpPacket<'_>, elements: &Elements) -> Result<(), Counter> {
        let leg = &mut self.legs[place];
        let value = |kind| elements.value(view.as_bytes(), kind);
        let description = (
            view.ssrc(),
            value(ExtensionKind::Mid).and_then(Mid::from_bytes),
            value(ExtensionKind::Rid).and_then(Rid::from_bytes),
            value(ExtensionKind::RepairedRid).and_then(Rid::from_bytes),
        );
        if leg.unknown.len() >= UNKNOWN_STREAMS_MAX || leg.unknown.contains(&description) {
            return Err(Counter::UnknownStream);
        }
        leg.unknown.push(description);
        self.counters.count(Counter::PuntedStream);
        let note = Note::UnknownStream(Box::new((leg.id, view.payload_type(), description)));
        self.notes.tell(&self.counters, note);
        Ok(())
    }

    /// Keeps a described packet for retransmission and queues it for its replicas.
    fn keep(&mut self, place: usize, packet: Arc<Packet>) {
        self.spread(place, packet.clone());
        let stream = &mut self.streams[place];
        let highest = stream.media.highest();
        stream.cache.keep(packet, highest, &mut self.pool);
    }
}

/// Copies a datagram into `packet` and opens it; the length of the clear packet.
fn open(leg: &mut LegState, packet: &mut Packet, datagram: &[u8]) -> Result<usize, Counter> {
    let buffer = &mut packet.buffer()[..datagram.len()];
    buffer.copy_from_slice(datagram);
    let Some(keys) = leg.keys_in_use() else {
        return Ok(datagram.len());
    };
    let header = RtpPacket::parse_protected(datagram).map_err(|_| Counter::Malformed)?;
    let opened = keys.opener.open_rtp(buffer, header.header_len()).map_err(reason)?;
    Ok(opened.len)
}

fn reason(error: OpenError) -> Counter {
    match error {
        OpenError::Malformed => Counter::Malformed,
        OpenError::Authentication => Counter::Unauthenticated,
        OpenError::Replayed => Counter::Duplicate,
        OpenError::TooOld => Counter::TooLate,
        OpenError::TooManyStreams => Counter::UnknownStream,
    }
}

/// The media in a packet; a retransmission is taken apart (RFC 4588 section 4).
fn unwrap<'a>(stream: &StreamState, view: &RtpPacket<'a>) -> Result<Media<'a>, Counter> {
    let payload_type = view.payload_type();
    if view.ssrc() == stream.key.ssrc {
        return Ok(Media {
            sequence: view.sequence().0,
            format: stream.format(payload_type).ok_or(Counter::UnknownFormat)?,
            payload: view.payload(),
            recovered: false,
        });
    }
    if view.is_padding_only() {
        return Err(Counter::PaddingOnly);
    }
    let format = stream.format_of_rtx(payload_type).ok_or(Counter::UnknownFormat)?;
    let (original, payload) = wire::rtx::split(view.payload()).ok_or(Counter::Malformed)?;
    Ok(Media {
        sequence: original.0,
        format,
        payload,
        recovered: true,
    })
}

/// Gives a media packet its number, unless it was received before, and finds out everything about it.
fn admit(
    stream: &mut StreamState,
    view: &RtpPacket<'_>,
    media: &Media<'_>,
    elements: Elements,
    at: Instant,
) -> Result<Facts, Counter> {
    let before = stream.media.highest();
    let number = stream.media.receive(media.sequence)?;
    let codec = media.format.codec;
    let start = media.payload.as_ptr().addr() - view.as_bytes().as_ptr().addr();
    let starts = codec.kind() == MediaKind::Audio || wire::codec::is_key_frame_start(codec, media.payload);
    let vp8 = (codec == Codec::Vp8).then(|| wire::codec::vp8::Vp8Descriptor::parse(media.payload).ok());
    Ok(Facts {
        key: stream.key,
        life: stream.life,
        at,
        number,
        newest: number > before,
        marker: view.marker(),
        kind: stream.entry.kind,
        payload_type: media.format.payload_type,
        codec,
        timestamp: view.timestamp(),
        capture: stream.capture(view.timestamp(), codec.clock_rate()),
        starts,
        vp8: vp8.flatten(),
        elements,
        payload: (start as u16, (start + media.payload.len()) as u16),
    })
}

fn arrival(
    at: Instant,
    view: &RtpPacket<'_>,
    elements: &Elements,
    size: usize,
    (ssrc, sequence, recovered): (Ssrc, u16, bool),
) -> Arrival {
    let value = |kind| elements.value(view.as_bytes(), kind);
    Arrival {
        at,
        ssrc,
        sequence,
        recovered,
        transport_sequence: value(ExtensionKind::TransportSequence).and_then(parse_transport_sequence),
        size: size as u16,
        audio_level: value(ExtensionKind::AudioLevel)
            .and_then(AudioLevel::parse)
            .map(|level| (level.level, level.voice)),
    }
}
