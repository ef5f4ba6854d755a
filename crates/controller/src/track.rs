//! One published track, from its announcement to its end.

use std::time::Instant;

use livekit_protocol::video_layer::Mode;
use livekit_protocol::{
    AddTrackRequest, AudioTrackFeature, SimulcastCodecInfo, TrackInfo, TrackSource, TrackType, VideoLayer, VideoQuality,
};
use southbound::{Encoding, Publication, TrackId, TransportId};
use wire::sdp::Format;
use wire::{Codec, MediaKind, Mid};

use crate::ids::Random;
use crate::negotiation::{AudioWish, Slot, codecs};
use crate::subscription::Limit;

/// One published track.
pub(crate) struct Track {
    pub(crate) id: TrackId,
    pub(crate) kind: MediaKind,
    /// What clients are told of it.
    pub(crate) info: TrackInfo,
    /// The client's name for it.
    pub(crate) cid: String,
    /// Where it arrives and as what, once a media section is found for it: from then on others can have it.
    pub(crate) arrival: Option<Arrival>,
    /// Its publisher has been told that somebody receives it.
    pub(crate) subscribed: bool,
    /// How much of it is wanted.
    pub(crate) demand: Demand,
}

/// How much of a video is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The best quality the publisher was told of; `None` for nothing. Publishers begin with everything, unasked.
    pub(crate) told: Option<VideoQuality>,
    /// When less may be asked for.
    pub(crate) falls_at: Option<Instant>,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            told: Some(VideoQuality::High),
            falls_at: None,
        }
    }
}

/// Where a track arrives and as what.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) mid: Mid,
    pub(crate) formats: Vec<Format>,
    pub(crate) publication: Publication,
}

impl Track {
    pub(crate) fn announced(id: TrackId, kind: MediaKind, request: &AddTrackRequest, random: &mut Random) -> Self {
        let mut info = TrackInfo {
            sid: sid(random, kind, request.source()),
            r#type: request.r#type,
            name: request.name.clone(),
            muted: request.muted,
            width: request.width,
            height: request.height,
            disable_dtx: request.disable_dtx,
            source: request.source,
            layers: request.layers.clone(),
            stereo: request.stereo,
            disable_red: request.disable_red || kind == MediaKind::Video,
            encryption: request.encryption,
            stream: stream(request),
            audio_features: request.audio_features.clone(),
            backup_codec_policy: request.backup_codec_policy,
            packet_trailer_features: request.packet_trailer_features.clone(),
            ..TrackInfo::default()
        };
        let codec = wanted_codec(kind, request);
        info.mime_type = mime_type(codec);
        info.codecs = vec![codec_info(request, codec)];
        Self {
            id,
            kind,
            info,
            cid: request.cid.clone(),
            arrival: None,
            subscribed: false,
            demand: Demand::default(),
        }
    }

    pub(crate) fn sid(&self) -> &str {
        &self.info.sid
    }

    /// The codec the publisher asked for.
    pub(crate) fn codec(&self) -> Option<Codec> {
        self.info
            .mime_type
            .split_once('/')
            .and_then(|(_, name)| Codec::from_name(name))
    }

    pub(crate) fn audio_wish(&self) -> AudioWish {
        let has = |feature: AudioTrackFeature| self.info.audio_features.contains(&feature.into());
        AudioWish {
            dtx: !self.info.disable_dtx && !has(AudioTrackFeature::TfNoDtx),
            stereo: self.info.stereo || has(AudioTrackFeature::TfStereo),
            red: !self.info.disable_red,
        }
    }

    /// Whether the track is known to the browser by this id.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.cid == id
            || self
                .info
                .codecs
                .iter()
                .any(|codec| !codec.cid.is_empty() && codec.cid == id)
    }

    /// The track arrives on this media section, or arrives there differently.
    pub(crate) fn arrive(&mut self, transport: TransportId, slot: &Slot) {
        let mut encodings = slot.encodings();
        for (position, encoding) in encodings.iter_mut().enumerate() {
            if let Some(layer) = self.layer_of(encoding.rid.map(|rid| rid.as_str().to_owned()), position) {
                (encoding.width, encoding.height) = (layer.width, layer.height);
            }
        }
        if let ([encoding], true) = (&mut encodings[..], scales(slot)) {
            encoding.layers = self.spatial_layers();
        }
        let first = slot.formats.first().and_then(Format::codec);
        if let (MediaKind::Video, Some(codec)) = (self.kind, first) {
            self.info.mime_type = mime_type(codec);
        }
        self.info.mid = slot.mid.to_string();
        self.info.simulcast = encodings.len() > 1;
        for codec in &mut self.info.codecs {
            codec.mid.clone_from(&self.info.mid);
            codec.mime_type.clone_from(&self.info.mime_type);
        }
        let publication = Publication {
            track: self.id,
            transport,
            kind: self.kind,
            mid: Some(slot.mid),
            formats: codecs::payload_formats(&slot.formats),
            encodings,
            muted: self.info.muted,
            source: match self.info.source() {
                TrackSource::ScreenShare | TrackSource::ScreenShareAudio => southbound::TrackSource::Screen,
                TrackSource::Unknown | TrackSource::Camera | TrackSource::Microphone => southbound::TrackSource::Camera,
            },
        };
        self.arrival = Some(Arrival {
            mid: slot.mid,
            formats: slot.formats.clone(),
            publication,
        });
    }

    /// The announced size of an encoding.
    fn layer_of(&self, rid: Option<String>, position: usize) -> Option<VideoLayer> {
        let Some(rid) = rid else {
            // One encoding, or several without names: the best layers in rising order.
            let mut layers = self.info.layers.clone();
            layers.sort_by_key(|layer| layer.width);
            let single = self.info.layers.len() > 1 && position == 0;
            return if single {
                layers.pop()
            } else {
                layers.into_iter().nth(position)
            };
        };
        let quality = match rid.as_str() {
            "q" => VideoQuality::Low,
            "h" => VideoQuality::Medium,
            _ => VideoQuality::High,
        };
        let named = self.info.layers.iter().find(|layer| layer.rid == rid);
        named
            .or_else(|| self.info.layers.iter().find(|layer| layer.quality() == quality))
            .cloned()
    }

    /// The announced sizes of the layers inside a single encoding, in rising order; empty when there is one or nothing was announced.
    fn spatial_layers(&self) -> Vec<(u32, u32)> {
        let announced = self
            .info
            .codecs
            .first()
            .map_or(&self.info.layers, |codec| &codec.layers);
        let mut layers: Vec<_> = announced.iter().map(|layer| (layer.width, layer.height)).collect();
        layers.sort_unstable();
        layers.dedup();
        if layers.len() > 1 { layers } else { Vec::new() }
    }

    /// The best encoding, and the best spatial layer inside one, for a receiver that wants no more than this. Where there are several encodings
    /// the choice is between them; where there is one, between its layers.
    pub(crate) fn limits(&self, limit: Limit) -> (u8, u8) {
        match self.encodings() {
            [only] if !only.layers.is_empty() => (0, rung(limit, only.layers.iter().copied())),
            [_] | [] => (0, u8::MAX),
            several => (
                rung(limit, several.iter().map(|encoding| (encoding.width, encoding.height))),
                u8::MAX,
            ),
        }
    }

    /// What clients call the quality of an encoding. A single one has all the quality there is.
    pub(crate) fn quality_of_encoding(&self, encoding: u8) -> VideoQuality {
        let encodings = self.encodings();
        let named = encodings.get(usize::from(encoding)).and_then(|encoding| encoding.rid);
        match named.as_ref().map(|rid| rid.as_str()) {
            Some("q") if encodings.len() > 1 => VideoQuality::Low,
            Some("h") if encodings.len() > 1 => VideoQuality::Medium,
            _ => VideoQuality::High,
        }
    }

    fn encodings(&self) -> &[Encoding] {
        self.arrival
            .as_ref()
            .map_or(&[], |arrival| &arrival.publication.encodings)
    }
}

/// Whether the codec sent here puts several sizes into one encoding.
fn scales(slot: &Slot) -> bool {
    let first = slot.formats.first().and_then(Format::codec);
    matches!(first, Some(Codec::Vp9 | Codec::Av1))
}

/// The best of several sizes, given in rising order, for a receiver that wants no more than this.
fn rung(limit: Limit, mut sizes: impl ExactSizeIterator<Item = (u32, u32)>) -> u8 {
    let best = sizes.len().saturating_sub(1);
    let found = match limit {
        Limit::Quality(VideoQuality::Low) => 0,
        Limit::Quality(VideoQuality::Medium) => best.min(1),
        Limit::None | Limit::Quality(VideoQuality::High | VideoQuality::Off) => best,
        Limit::Size { width, height } => {
            let (long, short) = (width.max(height), width.min(height));
            let covers = |size: (u32, u32)| size.0.max(size.1) >= long && size.0.min(size.1) >= short;
            sizes.position(covers).unwrap_or(best)
        }
    };
    found as u8
}

/// The kind of a requested track; `None` for the protocol's "data", which is no media.
pub(crate) fn kind_of(request: &AddTrackRequest) -> Option<MediaKind> {
    match request.r#type() {
        TrackType::Audio => Some(MediaKind::Audio),
        TrackType::Video => Some(MediaKind::Video),
        TrackType::Data => None,
    }
}

/// `TR_`, a letter for the kind, one for the source, and the usual rest.
fn sid(random: &mut Random, kind: MediaKind, source: TrackSource) -> String {
    let kind = match kind {
        MediaKind::Audio => 'A',
        MediaKind::Video => 'V',
    };
    let source = match source {
        TrackSource::Camera => "C",
        TrackSource::Microphone => "M",
        TrackSource::ScreenShare => "S",
        TrackSource::ScreenShareAudio => "s",
        TrackSource::Unknown => "",
    };
    random.sid(&format!("TR_{kind}{source}"))
}

/// Tracks of one stream are played in step. Screen and camera are not of one clock, so they are two streams.
fn stream(request: &AddTrackRequest) -> String {
    match request.source() {
        _ if !request.stream.is_empty() => request.stream.clone(),
        TrackSource::ScreenShare | TrackSource::ScreenShareAudio => "screen".to_owned(),
        _ => "camera".to_owned(),
    }
}

/// The first codec of the request that we take; the client follows what it is answered.
fn wanted_codec(kind: MediaKind, request: &AddTrackRequest) -> Codec {
    if kind == MediaKind::Audio {
        return Codec::Opus;
    }
    let taken = [Codec::Vp8, Codec::Vp9, Codec::H264, Codec::Av1];
    let named = request.simulcast_codecs.iter().filter_map(|codec| {
        let name = codec.codec.rsplit('/').next().unwrap_or_default();
        Codec::from_name(name)
    });
    named
        .into_iter()
        .find(|codec| taken.contains(codec))
        .unwrap_or(Codec::Vp8)
}

fn mime_type(codec: Codec) -> String {
    format!("{}/{codec}", codec.kind())
}

fn codec_info(request: &AddTrackRequest, codec: Codec) -> SimulcastCodecInfo {
    let said = request.simulcast_codecs.first();
    SimulcastCodecInfo {
        mime_type: mime_type(codec),
        cid: said.map_or_else(|| request.cid.clone(), |said| said.cid.clone()),
        layers: said
            .map(|said| said.layers.clone())
            .filter(|layers| !layers.is_empty())
            .unwrap_or(request.layers.clone()),
        video_layer_mode: said.map_or_else(|| Mode::Unused.into(), |said| said.video_layer_mode),
        ..SimulcastCodecInfo::default()
    }
}
