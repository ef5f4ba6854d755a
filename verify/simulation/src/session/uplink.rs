//! Media that a client sends: sources, their encodings, and reactions to feedback.

mod encoding;

use std::time::{Duration, Instant};

use dataplane::Clock;
use livekit_protocol::{AddTrackRequest, TrackSource, TrackType, VideoLayer, VideoQuality};
use rand::rngs::StdRng;
use wire::sdp::MediaSection;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType, SequenceNumber, Ssrc};

use encoding::Encoding;

use crate::history::Device;

const AUDIO_INTERVAL: Duration = Duration::from_millis(100);
const VIDEO_INTERVAL: Duration = Duration::from_millis(150);
const REPORT_INTERVAL: Duration = Duration::from_millis(1_000);
const RIDS: [&str; 3] = ["q", "h", "f"];

/// One camera, microphone or screen.
pub(crate) struct Source {
    /// Its number among all of the history.
    pub(crate) id: u32,
    pub(crate) device: Device,
    pub(crate) muted: bool,
    /// The server's name for it, once it has one.
    pub(crate) sid: Option<String>,
    /// The format in the server's answer, once there is one.
    pub(crate) agreed: Option<Agreed>,
    encodings: Vec<Encoding>,
    began: Instant,
    send_at: Instant,
    report_at: Instant,
}

/// The part of the server's answer about a source.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    pub(crate) mid: String,
    pub(crate) payload_type: PayloadType,
    pub(crate) repair_type: Option<PayloadType>,
    pub(crate) codec: Codec,
    pub(crate) extensions: ExtensionMap,
}

/// The transport of a source, with its numbers.
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

    /// Its name in `msid` and `add_track`.
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

    /// Sends due packets.
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

    /// Forgets earlier packets, as a source that restarts does.
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
