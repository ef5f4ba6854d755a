//! What a client sends: sources, their encodings, and what it does about feedback.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dataplane::Clock;
use livekit_protocol::{AddTrackRequest, TrackSource, TrackType, VideoLayer, VideoQuality};
use rand::Rng;
use rand::rngs::StdRng;
use wire::extension::AudioLevel;
use wire::rtcp::{RtcpWriter, SenderInfo};
use wire::sdp::MediaSection;
use wire::{
    Codec, Csrcs, ExtensionKind, ExtensionMap, ExtensionWriter, MediaKind, PayloadType, RtpHeader, RtpTimestamp,
    SequenceNumber, Ssrc,
};

use crate::history::Device;
use crate::stamp::Stamp;

const AUDIO_INTERVAL: Duration = Duration::from_millis(100);
const VIDEO_INTERVAL: Duration = Duration::from_millis(150);
const REPORT_INTERVAL: Duration = Duration::from_millis(1_000);
/// Sent packets kept for retransmission, of each encoding.
const SENT_MAX: usize = 64;
const RIDS: [&str; 3] = ["q", "h", "f"];

/// One camera, microphone or screen.
pub(crate) struct Source {
    /// Its number among all of the history.
    pub(crate) id: u32,
    pub(crate) device: Device,
    pub(crate) muted: bool,
    /// The server's name for it, once it has one.
    pub(crate) sid: Option<String>,
    /// What the server agreed to, once it has.
    pub(crate) agreed: Option<Agreed>,
    encodings: Vec<Encoding>,
    began: Instant,
    send_at: Instant,
    report_at: Instant,
}

/// What the server's answer says of a source.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    pub(crate) mid: String,
    pub(crate) payload_type: PayloadType,
    pub(crate) repair_type: Option<PayloadType>,
    pub(crate) codec: Codec,
    pub(crate) extensions: ExtensionMap,
}

struct Encoding {
    ssrc: Ssrc,
    repair: Ssrc,
    number: u64,
    repair_number: u16,
    frame: u32,
    first_picture: u16,
    first_timestamp: u32,
    key_frame_wanted: bool,
    /// The node has reported on it: it knows which encoding this is.
    known: bool,
    packets: u32,
    /// Number, the payload type that repairs it, and the packet.
    sent: VecDeque<(u16, Option<PayloadType>, Vec<u8>)>,
}

/// What a source is sent through: one transport's numbers.
pub(crate) struct Through<'a> {
    pub(crate) now: Instant,
    pub(crate) rng: &'a mut StdRng,
    pub(crate) clock: &'a Clock,
    pub(crate) transport_sequence: &'a mut u16,
    pub(crate) out: &'a mut Vec<Vec<u8>>,
    /// Source, encoding and number of packets that carry no media.
    pub(crate) probes: &'a mut Vec<(u32, u8, u64)>,
}

impl Source {
    pub(crate) fn new(id: u32, device: Device, now: Instant, rng: &mut StdRng) -> Self {
        let simulcast = matches!(device, Device::Camera { simulcast: true, .. });
        let encodings = (0..if simulcast { 3 } else { 1 }).map(|_| Encoding::new(rng)).collect();
        Self {
            id,
            device,
            muted: false,
            sid: None,
            agreed: None,
            encodings,
            began: now,
            send_at: now,
            report_at: now,
        }
    }

    pub(crate) fn kind(&self) -> MediaKind {
        match self.device {
            Device::Microphone => MediaKind::Audio,
            Device::Camera { .. } | Device::Screen => MediaKind::Video,
        }
    }

    /// What `msid` and `add_track` call it.
    pub(crate) fn client_id(&self) -> String {
        format!("track-{}", self.id)
    }

    /// SSRCs the description names: none where encodings have names.
    pub(crate) fn described_ssrcs(&self) -> Vec<Ssrc> {
        match (&self.encodings[..], self.kind()) {
            ([only], MediaKind::Audio) => vec![only.ssrc],
            ([only], MediaKind::Video) => vec![only.ssrc, only.repair],
            _ => Vec::new(),
        }
    }

    pub(crate) fn announcement(&self) -> AddTrackRequest {
        let mut request = AddTrackRequest {
            cid: self.client_id(),
            name: self.client_id(),
            muted: self.muted,
            ..Default::default()
        };
        request.set_source(track_source(self.device));
        if self.kind() == MediaKind::Audio {
            request.set_type(TrackType::Audio);
            return request;
        }
        request.set_type(TrackType::Video);
        (request.width, request.height) = (1280, 720);
        let layer = |(index, divisor): (usize, u32)| {
            let quality = [VideoQuality::Low, VideoQuality::Medium, VideoQuality::High][index];
            VideoLayer {
                quality: quality.into(),
                width: 1280 / divisor,
                height: 720 / divisor,
                ..VideoLayer::default()
            }
        };
        request.layers = [4, 2, 1].into_iter().enumerate().map(layer).collect();
        if self.encodings.len() == 1 {
            request.layers.drain(..2);
        }
        if let Device::Camera { h264, .. } = self.device {
            let codec = if h264 { "h264" } else { "vp8" };
            request.simulcast_codecs = vec![livekit_protocol::SimulcastCodec {
                codec: codec.to_owned(),
                cid: self.client_id(),
                ..Default::default()
            }];
        }
        request
    }

    /// The server answered the section this source has.
    pub(crate) fn agree(&mut self, section: &MediaSection) {
        if section.rejected || !section.direction.receives() {
            self.agreed = None;
            return;
        }
        let Some((format, codec)) = section
            .formats
            .iter()
            .find_map(|format| Some((format, format.codec()?)))
        else {
            return;
        };
        let repair = section
            .formats
            .iter()
            .find(|repair| repair.retransmits() == Some(format.payload_type));
        let mut extensions = ExtensionMap::default();
        for extension in &section.extensions {
            if let Some(kind) = ExtensionKind::from_uri(&extension.uri) {
                let _ = extensions.insert(kind, extension.id);
            }
        }
        let changed = self.agreed.as_ref().is_none_or(|agreed| agreed.codec != codec);
        self.encodings
            .iter_mut()
            .for_each(|encoding| encoding.key_frame_wanted |= changed);
        self.agreed = Some(Agreed {
            mid: section.mid.to_string(),
            payload_type: format.payload_type,
            repair_type: repair.map(|repair| repair.payload_type),
            codec,
            extensions,
        });
    }

    /// Sends what is due.
    pub(crate) fn tick(&mut self, through: &mut Through<'_>) {
        let Some(agreed) = &self.agreed else { return };
        if self.send_at <= through.now {
            let interval = if self.device == Device::Microphone {
                AUDIO_INTERVAL
            } else {
                VIDEO_INTERVAL
            };
            self.send_at = through.now + interval;
            if !self.muted {
                let elapsed = through.now - self.began;
                let simulcast = self.encodings.len() > 1;
                for (index, encoding) in self.encodings.iter_mut().enumerate() {
                    let rid = simulcast.then(|| RIDS[index]);
                    encoding.send_frame(through, agreed, (self.id, index as u8), rid, elapsed);
                }
            }
        }
        if self.report_at <= through.now {
            self.report_at = through.now + REPORT_INTERVAL;
            for encoding in self.encodings.iter().filter(|encoding| encoding.packets > 0) {
                encoding.report(through, agreed.codec, through.now - self.began);
            }
        }
    }

    /// Forgets what it has sent before, as a source that starts again does.
    pub(crate) fn unmuted(&mut self) {
        self.encodings
            .iter_mut()
            .for_each(|encoding| encoding.key_frame_wanted = true);
    }

    pub(crate) fn want_key_frame(&mut self, ssrc: Ssrc) {
        if let Some(encoding) = self.encodings.iter_mut().find(|encoding| encoding.ssrc == ssrc) {
            encoding.key_frame_wanted = true;
        }
    }

    pub(crate) fn reported_on(&mut self, ssrc: Ssrc) {
        if let Some(encoding) = self.encodings.iter_mut().find(|encoding| encoding.ssrc == ssrc) {
            encoding.known = true;
        }
    }

    /// Sends packets again that the node misses.
    pub(crate) fn resend(
        &mut self,
        through: &mut Through<'_>,
        ssrc: Ssrc,
        sequences: impl Iterator<Item = SequenceNumber>,
    ) {
        let Some(agreed) = &self.agreed else { return };
        let simulcast = self.encodings.len() > 1;
        let Some((index, encoding)) = self
            .encodings
            .iter_mut()
            .enumerate()
            .find(|(_, encoding)| encoding.ssrc == ssrc)
        else {
            return;
        };
        for sequence in sequences {
            encoding.resend(through, agreed, simulcast.then(|| RIDS[index]), sequence.0);
        }
    }
}

pub(crate) fn track_source(device: Device) -> TrackSource {
    match device {
        Device::Microphone => TrackSource::Microphone,
        Device::Camera { .. } => TrackSource::Camera,
        Device::Screen => TrackSource::ScreenShare,
    }
}

impl Encoding {
    fn new(rng: &mut StdRng) -> Self {
        Self {
            ssrc: Ssrc(rng.random_range(1..u32::MAX)),
            repair: Ssrc(rng.random_range(1..u32::MAX)),
            // Near the end of the circle as often as not: numbers must survive it.
            number: (1 << 16)
                + if rng.random() {
                    rng.random_range(65_400..65_536)
                } else {
                    rng.random_range(0..65_536)
                },
            repair_number: rng.random(),
            frame: 0,
            first_picture: rng.random(),
            first_timestamp: if rng.random() {
                u32::MAX - rng.random_range(0..900_000)
            } else {
                rng.random()
            },
            key_frame_wanted: true,
            known: false,
            packets: 0,
            sent: VecDeque::new(),
        }
    }

    fn send_frame(
        &mut self,
        through: &mut Through<'_>,
        agreed: &Agreed,
        name: (u32, u8),
        rid: Option<&str>,
        elapsed: Duration,
    ) {
        let is_video = agreed.codec.kind() == MediaKind::Video;
        let key = is_video && std::mem::take(&mut self.key_frame_wanted);
        let packets = if is_video {
            1 + u32::from(key) + u32::from(through.rng.random_bool(0.3))
        } else {
            1
        };
        let timestamp = self.timestamp(agreed.codec, elapsed);
        for position in 0..packets {
            let starts_key_frame = key && position == 0;
            let stamp = Stamp {
                source: name.0,
                encoding: name.1,
                codec: agreed.codec,
                starts_key_frame,
                frame: self.frame,
                number: self.number,
                timestamp,
            };
            let mut payload = self.descriptor(agreed.codec, key, position == 0);
            payload.resize(payload.len() + through.rng.random_range(0..40), 0xa5);
            stamp.write(&mut payload);
            self.send(through, agreed, rid, (timestamp, position + 1 == packets), &payload, 0);
        }
        // Now and then a probe, which takes a number and means nothing.
        if is_video && through.rng.random_bool(0.05) {
            through.probes.push((name.0, name.1, self.number));
            self.send(through, agreed, rid, (timestamp, false), &[], 20);
        }
        self.frame += 1;
    }

    /// What stands in front of a frame: enough for a switch to tell key frames and to renumber pictures.
    fn descriptor(&self, codec: Codec, key: bool, first: bool) -> Vec<u8> {
        match codec {
            Codec::Vp8 => {
                let picture = self.first_picture.wrapping_add(self.frame as u16) | 0x8000;
                let [high, low] = picture.to_be_bytes();
                // Extended, with a 15-bit picture id, a temporal counter and a layer; then the frame's own first byte.
                vec![
                    0x80 | u8::from(first) << 4,
                    0xe0,
                    high,
                    low,
                    self.frame as u8,
                    0,
                    u8::from(!key),
                ]
            }
            // Fragments of an IDR slice or of another one; the first says that it is.
            Codec::H264 => vec![0x7c, u8::from(first) << 7 | if key { 5 } else { 1 }],
            _ => Vec::new(),
        }
    }

    fn timestamp(&self, codec: Codec, elapsed: Duration) -> u32 {
        let ticks = elapsed.as_micros() * u128::from(codec.clock_rate()) / 1_000_000;
        self.first_timestamp.wrapping_add(ticks as u32)
    }

    fn send(
        &mut self,
        through: &mut Through<'_>,
        agreed: &Agreed,
        rid: Option<&str>,
        (timestamp, marker): (u32, bool),
        payload: &[u8],
        padding: u8,
    ) {
        let header = RtpHeader {
            has_padding: padding > 0,
            marker,
            payload_type: agreed.payload_type,
            sequence: SequenceNumber(self.number as u16),
            timestamp: RtpTimestamp(timestamp),
            ssrc: self.ssrc,
            csrcs: Csrcs::NONE,
        };
        let names = if self.known {
            Vec::new()
        } else {
            names(agreed, rid, ExtensionKind::Rid)
        };
        let mut payload = payload.to_vec();
        if padding > 0 {
            payload.resize(usize::from(padding), 0);
            wire::fill_padding(&mut payload);
        }
        let bytes = packet(through, agreed, header, names, &payload);
        self.sent
            .push_back((self.number as u16, agreed.repair_type, bytes.clone()));
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
        }
        self.number += 1;
        self.packets += 1;
        through.out.push(bytes);
    }

    fn resend(&mut self, through: &mut Through<'_>, agreed: &Agreed, rid: Option<&str>, sequence: u16) {
        let Some((_, repair_type, bytes)) = self.sent.iter().find(|(known, ..)| *known == sequence) else {
            return;
        };
        let Some(repair_type) = *repair_type else {
            // Audio has no stream for retransmissions: the packet goes again as it was.
            through.out.push(bytes.clone());
            return;
        };
        let original = wire::RtpPacket::parse(bytes).expect("it was sent before");
        let payload = [&sequence.to_be_bytes()[..], original.payload()].concat();
        let header = RtpHeader {
            has_padding: false,
            payload_type: repair_type,
            sequence: SequenceNumber(self.repair_number),
            ssrc: self.repair,
            ..original.header()
        };
        let bytes = packet(
            through,
            agreed,
            header,
            names(agreed, rid, ExtensionKind::RepairedRid),
            &payload,
        );
        self.repair_number = self.repair_number.wrapping_add(1);
        through.out.push(bytes);
    }

    fn report(&self, through: &mut Through<'_>, codec: Codec, elapsed: Duration) {
        let info = SenderInfo {
            ntp: through.clock.ntp(through.now),
            rtp: RtpTimestamp(self.timestamp(codec, elapsed)),
            packets: self.packets,
            octets: self.packets * 40,
        };
        let mut compound = Vec::new();
        RtcpWriter::sender_report(&mut compound, self.ssrc, "simulated", &info, &[]);
        through.out.push(compound);
    }
}

/// What tells an encoding that nobody knows yet.
fn names(agreed: &Agreed, rid: Option<&str>, rid_kind: ExtensionKind) -> Vec<(u8, Vec<u8>)> {
    let mid = Some((ExtensionKind::Mid, agreed.mid.as_bytes()));
    let rid = rid.map(|rid| (rid_kind, rid.as_bytes()));
    let names = [mid, rid].into_iter().flatten();
    names
        .filter_map(|(kind, value)| Some((agreed.extensions.id(kind)?, value.to_vec())))
        .collect()
}

fn packet(
    through: &mut Through<'_>,
    agreed: &Agreed,
    header: RtpHeader<'_>,
    mut elements: Vec<(u8, Vec<u8>)>,
    payload: &[u8],
) -> Vec<u8> {
    if let Some(id) = agreed.extensions.id(ExtensionKind::TransportSequence) {
        elements.push((id, through.transport_sequence.to_be_bytes().to_vec()));
        *through.transport_sequence = through.transport_sequence.wrapping_add(1);
    }
    if let (MediaKind::Audio, Some(id)) = (agreed.codec.kind(), agreed.extensions.id(ExtensionKind::AudioLevel)) {
        let level = AudioLevel {
            voice: true,
            level: through.rng.random_range(10..90),
        };
        elements.push((id, level.to_bytes().to_vec()));
    }
    let elements: Vec<(u8, &[u8])> = elements.iter().map(|(id, value)| (*id, value.as_slice())).collect();
    let extensions = ExtensionWriter::new(&elements).expect("negotiated ids and short values");
    let mut bytes = vec![0; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut bytes)
        .expect("the buffer has the header's length");
    bytes.extend_from_slice(payload);
    bytes
}
