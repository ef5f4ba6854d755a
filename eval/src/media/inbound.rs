//! The receiving side: streams as a real client keeps them, for gaps, key frames and reports.

use std::time::Instant;

use wire::RtpPacket;

use super::instream::{InStream, Reception, Shown, Wanted};
use super::payload::{Received, read_audio, read_video};
use super::totals::{Meter, Totals};

/// The format of a payload type on this transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// Not agreed on.
    #[default]
    Nothing,
    /// VP8.
    Video,
    /// Opus.
    Audio,
    /// Retransmitted VP8.
    Repair,
}

/// The P bit of an RTP header's first byte.
const PADDED: u8 = 0x20;

/// All streams received on one transport.
pub struct Inbound {
    carries: [Carries; 128],
    repeats: [bool; 128],
    repairs: Vec<(u32, u32)>,
    transport_sequence_id: Option<u8>,
    estimates: bool,
    octets: u64,
    streams: Vec<InStream>,
    arrivals: Vec<(u16, u64)>,
    /// How many arrivals were counted that had no number.
    unnumbered: u16,
    /// Whether a stream may have something to ask of the server.
    wanting: bool,
}

impl Default for Inbound {
    fn default() -> Self {
        let (repairs, streams, arrivals) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            carries: [Carries::Nothing; 128],
            repeats: [false; 128],
            repairs,
            transport_sequence_id: None,
            estimates: false,
            octets: 0,
            streams,
            arrivals,
            unnumbered: 0,
            wanting: false,
        }
    }
}

impl Inbound {
    /// Records the format of a payload type, and whether the server repeats its packets on request
    /// (`a=rtcp-fb:... nack`).
    pub fn agree(&mut self, payload_type: u8, carries: Carries, repeats: bool) {
        let index = usize::from(payload_type & 0x7f);
        (self.carries[index], self.repeats[index]) = (carries, repeats);
    }

    /// Notes which SSRC repairs which, as the server announced it.
    pub fn pair(&mut self, primary: u32, repair: u32) {
        if !self.repairs.contains(&(primary, repair)) {
            self.repairs.push((primary, repair));
        }
    }

    /// Notes the id of the transport-wide sequence number, whose arrivals are then reported.
    pub fn agree_transport_sequence(&mut self, id: u8) {
        self.transport_sequence_id = Some(id);
    }

    /// The id of the transport-wide sequence number, if it is used.
    #[cfg(test)]
    pub fn transport_sequence(&self) -> Option<u8> {
        self.transport_sequence_id
    }

    /// Records that the server wants an estimate of the bandwidth.
    pub fn agree_estimates(&mut self) {
        self.estimates = true;
    }

    /// Whether to report an estimate of the bandwidth. As in libwebrtc, it is not sent if arrivals
    /// are reported: the server makes its own estimate from those.
    pub fn reports_estimates(&self) -> bool {
        self.estimates && self.transport_sequence_id.is_none()
    }

    /// Bytes of RTP received.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// The streams seen so far.
    pub fn streams(&self) -> &[InStream] {
        &self.streams
    }

    /// The stream with this SSRC.
    pub fn stream_mut(&mut self, ssrc: u32) -> Option<&mut InStream> {
        self.streams.iter_mut().find(|stream| stream.ssrc == ssrc)
    }

    /// Transport-wide numbers and arrival times (nanoseconds since 1970) since the last call.
    pub fn take_arrivals(&mut self, into: &mut Vec<(u16, u64)>) {
        into.clear();
        std::mem::swap(into, &mut self.arrivals);
    }

    /// Records a packet that is still encrypted, without its tag, if its header identifies it;
    /// otherwise it has to be opened.
    pub fn recognize(
        &mut self,
        now: Instant,
        arrived_ns: u64,
        clear: &mut [u8],
        meter: &mut Meter,
        totals: &mut Totals,
    ) -> bool {
        // The amount of padding is inside the encrypted part.
        let (first, len) = (clear[0], clear.len());
        clear[0] &= !PADDED;
        let known = RtpPacket::parse(clear).is_ok_and(|packet| {
            self.recognize_parsed(now, arrived_ns, (&packet, len, first & PADDED != 0), meter, totals)
        });
        clear[0] = first;
        known
    }

    fn recognize_parsed(
        &mut self,
        now: Instant,
        arrived_ns: u64,
        (packet, len, padded): (&RtpPacket<'_>, usize, bool),
        meter: &mut Meter,
        totals: &mut Totals,
    ) -> bool {
        let is_media = matches!(self.carries(packet), Carries::Video | Carries::Audio);
        let Some(stream) = self.stream_mut(packet.ssrc().0).filter(|_| is_media) else {
            return false;
        };
        let renaming = stream.renaming.as_mut();
        let Some(received) = renaming.and_then(|renaming| totals.ledger.recognize(packet, padded, renaming)) else {
            return false;
        };
        let repair = stream.arrive(now, arrived_ns, packet);
        stream.needs_key_frame &= !received.key_frame_start;
        let wants = stream.wants();
        self.wanting |= wants;
        self.note_arrival(arrived_ns, len, packet, totals);
        meter.record(&received, repair, arrived_ns, totals);
        true
    }

    /// Takes a decrypted packet.
    pub fn handle(&mut self, now: Instant, arrived_ns: u64, bytes: &[u8], meter: &mut Meter, totals: &mut Totals) {
        let Ok(packet) = RtpPacket::parse(bytes) else {
            totals.damaged += 1;
            return;
        };
        totals.opened += 1;
        self.wanting = true;
        self.note_arrival(arrived_ns, bytes.len(), &packet, totals);
        match self.carries(&packet) {
            Carries::Nothing => totals.damaged += 1,
            Carries::Repair => self.handle_repair(now, arrived_ns, &packet, meter, totals),
            Carries::Video => self.handle_media(now, arrived_ns, &packet, true, meter, totals),
            Carries::Audio => self.handle_media(now, arrived_ns, &packet, false, meter, totals),
        }
    }

    fn carries(&self, packet: &RtpPacket<'_>) -> Carries {
        self.carries[usize::from(packet.payload_type().get())]
    }

    fn note_arrival(&mut self, arrived_ns: u64, len: usize, packet: &RtpPacket<'_>, totals: &mut Totals) {
        self.octets += len as u64;
        (totals.packets, totals.bytes) = (totals.packets + 1, totals.bytes + len as u64);
        if let Some(number) = self.transport_sequence_id.and_then(|id| packet.extension(id))
            && let Some(&number) = number.first_chunk()
        {
            self.arrivals.push((u16::from_be_bytes(number), arrived_ns));
        }
    }

    /// Gives a packet that arrived a transport-wide number, where its sender gives none.
    pub fn count_arrival(&mut self, arrived_ns: u64) {
        self.arrivals.push((self.unnumbered, arrived_ns));
        self.unnumbered = self.unnumbered.wrapping_add(1);
    }

    fn handle_media(
        &mut self,
        now: Instant,
        arrived_ns: u64,
        packet: &RtpPacket<'_>,
        video: bool,
        meter: &mut Meter,
        totals: &mut Totals,
    ) {
        let repeats = self.repeats[usize::from(packet.payload_type().get())];
        let stream = self.stream(packet.ssrc().0, video, repeats);
        let repair = stream.arrive(now, arrived_ns, packet);
        if packet.payload().is_empty() {
            return;
        }
        let received = if video {
            read_video(packet.payload())
        } else {
            read_audio(packet.payload())
        };
        let Some(received) = received else {
            totals.damaged += 1;
            return;
        };
        stream.source = Some(received.stamp.source);
        stream.renaming = totals.ledger.learn(packet, &received.stamp);
        stream.needs_key_frame &= !received.key_frame_start;
        // Without a retransmission format the server repeats the packet itself.
        meter.record(&received, repair, arrived_ns, totals);
    }

    fn handle_repair(
        &mut self,
        now: Instant,
        arrived_ns: u64,
        packet: &RtpPacket<'_>,
        meter: &mut Meter,
        totals: &mut Totals,
    ) {
        // An empty payload is padding that probes for bandwidth.
        let Some((original, payload)) = packet.payload().split_first_chunk() else {
            return;
        };
        let Some(received) = read_video(payload) else {
            totals.damaged += u64::from(!payload.is_empty());
            return;
        };
        if let Some(stream) = self.repaired_stream(packet.ssrc().0, &received) {
            stream.count(now, u16::from_be_bytes(*original));
            stream.needs_key_frame &= !received.key_frame_start;
        }
        meter.record(&received, true, arrived_ns, totals);
    }

    fn repaired_stream(&mut self, repair_ssrc: u32, received: &Received) -> Option<&mut InStream> {
        let primary = self
            .repairs
            .iter()
            .find(|(_, repair)| *repair == repair_ssrc)
            .map(|(primary, _)| *primary);
        let source = received.stamp.source;
        self.streams.iter_mut().find(|stream| match primary {
            Some(ssrc) => stream.ssrc == ssrc,
            None => stream.source == Some(source),
        })
    }

    fn stream(&mut self, ssrc: u32, video: bool, repeats: bool) -> &mut InStream {
        let index = self
            .streams
            .iter()
            .position(|stream| stream.ssrc == ssrc)
            .unwrap_or_else(|| {
                self.streams.push(InStream::new(ssrc, video, repeats));
                self.streams.len() - 1
            });
        &mut self.streams[index]
    }

    /// Packets that are missing by the streams' sequence numbers and never arrived.
    pub fn given_up(&self) -> u64 {
        self.streams.iter().map(|stream| stream.given_up).sum()
    }

    /// Frames and jitter of each video stream since the window began, as a viewer would see them.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.streams
            .iter()
            .filter(|stream| stream.video)
            .map(|stream| stream.shown)
    }

    /// Resets the counts of missing packets and of shown frames, at the beginning of the measured
    /// window.
    pub fn begin_window(&mut self) {
        for stream in &mut self.streams {
            (stream.given_up, stream.shown) = (0, Shown::default());
        }
    }

    /// Requests to send to the server now, by stream.
    pub fn wanted(&mut self, now: Instant) -> impl Iterator<Item = (u32, Wanted)> {
        let wanting = self.wanting;
        self.wanting = wanting && self.streams.iter().any(InStream::wants);
        let streams = if wanting { &mut self.streams[..] } else { &mut [] };
        streams.iter_mut().filter_map(move |stream| {
            let wanted = stream.wanted(now);
            (wanted != Wanted::default()).then_some((stream.ssrc, wanted))
        })
    }

    /// The report blocks for all streams.
    pub fn receptions(&mut self, now: Instant) -> impl Iterator<Item = Reception> {
        self.streams.iter_mut().map(move |stream| stream.reception(now))
    }
}

#[cfg(test)]
mod tests;
