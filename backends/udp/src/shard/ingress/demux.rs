//! Demultiplexing of clear RTP: find the stream, unwrap RTX, extend the number, describe.

use std::time::Instant;

use dataplane::limits::UNKNOWN_STREAMS_MAX;
use dataplane::{Arrival, Counter, StreamFormat};
use wire::extension::{AudioLevel, PlayoutDelay, parse_transport_sequence};
use wire::red::RedPayload;
use wire::{Codec, ExtensionKind, MediaKind, Mid, Rid, RtpPacket, Ssrc};

use crate::channel::Report;
use crate::shard::Shard;
use crate::shard::ingress::Times;
use crate::shard::packet::extensions::Extensions;
use crate::shard::packet::frame::Frame;
use crate::shard::packet::{Packet, PacketInfo, Span};
use crate::shard::stream::StreamState;

/// The media in a packet, after RTX is unwrapped.
struct Media<'a> {
    sequence: u16,
    format: StreamFormat,
    payload: &'a [u8],
    recovered: bool,
    frame: Option<Frame>,
}

impl Shard {
    /// Finds a clear packet's stream and its number there, and describes it. `None` when it was
    /// punted instead.
    pub(crate) fn demux(
        &mut self,
        (now, at): Times,
        slot: usize,
        packet: &mut Packet,
        clear_len: usize,
        size: usize,
    ) -> Result<Option<usize>, Counter> {
        let leg = &mut self.tables.legs[slot];
        let view = RtpPacket::parse(&packet.bytes()[..clear_len]).map_err(|_| Counter::Malformed)?;
        let extensions = Extensions::find(&view, &leg.entry.extensions_in);
        let ssrc = view.ssrc();
        let mid = extensions.value(view.as_bytes(), ExtensionKind::Mid);
        let bound = leg.stream_of(ssrc);
        let Some(stream_slot) = bound.filter(|stream| self.tables.streams[*stream].is_of(mid)) else {
            let arrival = arrival(at, &view, &extensions, size, ssrc, None);
            self.reports.arrived(&self.counters, now, leg.id, arrival, false);
            return self.unknown_stream(slot, &view, &extensions).map(|()| None);
        };
        let stream = &mut self.tables.streams[stream_slot];
        // A duplicate is not even reported.
        let window = stream.window(ssrc);
        let is_next = window.is_next(view.sequence().0);
        window.receive(view.sequence().0)?;
        let media = unwrap(stream, &view, &extensions);
        let named = if media.is_ok() { stream.key.ssrc } else { ssrc };
        let arrival = arrival(at, &view, &extensions, size, named, media.as_ref().ok());
        let is_routine = is_next && !arrival.recovered;
        self.reports.arrived(&self.counters, now, leg.id, arrival, is_routine);
        let media = media?;
        if media.recovered {
            self.counters.count(Counter::Recovered);
        }
        let recovered = media.recovered;
        let info = admit(stream, &view, media, extensions, now)?;
        stream.count(&info, size, recovered, &self.clock);
        packet.describe(info);
        Ok(Some(stream_slot))
    }

    fn unknown_stream(&mut self, slot: usize, view: &RtpPacket<'_>, extensions: &Extensions) -> Result<(), Counter> {
        let leg = &mut self.tables.legs[slot];
        // Only a packet newer than all others of its SSRC may move it to another media section.
        if let Some(stream) = leg.stream_of(view.ssrc())
            && !self.tables.streams[stream]
                .window(view.ssrc())
                .is_newest(view.sequence().0)
        {
            return Err(Counter::UnknownStream);
        }
        let value = |kind| extensions.value(view.as_bytes(), kind);
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
        let report = Report::UnknownStream(Box::new((leg.id, view.payload_type(), description)));
        self.reports.send(&self.counters, report);
        Ok(())
    }
}

/// The media in a packet, with retransmissions unwrapped (RFC 4588 section 4).
fn unwrap<'a>(stream: &mut StreamState, view: &RtpPacket<'a>, extensions: &Extensions) -> Result<Media<'a>, Counter> {
    let payload_type = view.payload_type();
    let descriptor = extensions.value(view.as_bytes(), ExtensionKind::DependencyDescriptor);
    if view.ssrc() == stream.key.ssrc {
        let format = stream.format(payload_type).ok_or(Counter::UnknownFormat)?;
        let payload = view.payload();
        return Ok(Media {
            sequence: view.sequence().0,
            format,
            payload,
            recovered: false,
            frame: stream.frames.read(format.codec, view.timestamp(), descriptor, payload),
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
        frame: stream.frames.read(format.codec, view.timestamp(), descriptor, payload),
    })
}

/// Extends a media packet's number, unless it is a duplicate, and describes the packet.
fn admit(
    stream: &mut StreamState,
    view: &RtpPacket<'_>,
    media: Media<'_>,
    extensions: Extensions,
    at: Instant,
) -> Result<PacketInfo, Counter> {
    let before = stream.media.highest();
    let number = stream.media.receive(media.sequence)?;
    let codec = media.format.codec;
    let start = media.payload.as_ptr().addr() - view.as_bytes().as_ptr().addr();
    let by_descriptor = media.frame.as_ref().and_then(Frame::starts_key_frame);
    let by_payload = || codec.kind() == MediaKind::Audio || wire::codec::is_key_frame_start(codec, media.payload);
    let vp8 = (codec == Codec::Vp8).then(|| wire::codec::vp8::Vp8Descriptor::parse(media.payload).ok());
    let newest = number > before;
    let delay = extensions.value(view.as_bytes(), ExtensionKind::PlayoutDelay);
    let playout_delay = stream.playout_delay(delay.and_then(PlayoutDelay::parse), newest);
    Ok(PacketInfo {
        generation: stream.generation,
        at,
        number,
        newest,
        marker: view.marker(),
        kind: stream.entry.kind,
        is_copied: stream.is_copied,
        payload_type: media.format.payload_type,
        codec,
        timestamp: view.timestamp(),
        capture: stream.capture(view.timestamp(), codec.clock_rate()),
        starts: by_descriptor.unwrap_or_else(by_payload),
        vp8: vp8.flatten(),
        extensions,
        playout_delay,
        frame: media.frame,
        payload: (start as u16, (start + media.payload.len()) as u16),
        primary: primary(codec, media.payload, start),
    })
}

/// The newest frame's span in redundant audio whose payload begins at `start`.
fn primary(codec: Codec, payload: &[u8], start: usize) -> Option<Span> {
    let red = (codec == Codec::Red).then(|| RedPayload::parse(payload).ok())??;
    let end = start + payload.len();
    Some(((end - red.primary().payload.len()) as u16, end as u16))
}

fn arrival(
    at: Instant,
    view: &RtpPacket<'_>,
    extensions: &Extensions,
    size: usize,
    ssrc: Ssrc,
    media: Option<&Media<'_>>,
) -> Arrival {
    let value = |kind| extensions.value(view.as_bytes(), kind);
    let frame = media.and_then(|media| media.frame.as_ref());
    Arrival {
        at,
        ssrc,
        sequence: media.map_or(view.sequence().0, |media| media.sequence),
        recovered: media.is_some_and(|media| media.recovered),
        transport_sequence: value(ExtensionKind::TransportSequence).and_then(parse_transport_sequence),
        size: size as u16,
        audio_level: value(ExtensionKind::AudioLevel)
            .and_then(AudioLevel::parse)
            .map(|level| (level.level, level.voice)),
        layer: frame.and_then(Frame::known_layer),
        ends_frame: view.marker() || frame.is_some_and(|frame| frame.ends),
        needed_above: frame.is_some_and(Frame::is_needed_above),
    }
}
