//! The media of a published track: its media section, its formats and its encodings.

use access::TrackSource;
use southbound::{PayloadFormat, Publication, TrackId, TransportId};
use wire::sdp::Format;
use wire::{Codec, Mid, PayloadType, Rid};

use super::quality_limit::Limit;
use crate::negotiation::{Section, codecs};
use crate::{TrackInfo, VideoLayer, VideoQuality};

/// The media of a published track: its media section, its formats and its encodings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublicationMedia {
    pub(crate) mid: Mid,
    pub(crate) formats: Vec<Format>,
    pub(crate) publication: Publication,
}

impl PublicationMedia {
    /// `layers` are the sizes it was announced in.
    pub(crate) fn new(
        id: TrackId,
        info: &TrackInfo,
        layers: &[VideoLayer],
        transport: TransportId,
        section: &Section,
    ) -> Self {
        let mut encodings = section.encodings();
        for (position, encoding) in encodings.iter_mut().enumerate() {
            if let Some(layer) = layer_of(layers, encoding.rid, position) {
                (encoding.width, encoding.height) = (layer.width, layer.height);
            }
        }
        if let ([encoding], true) = (&mut encodings[..], scales(section)) {
            encoding.layers = spatial_layers(layers);
        }
        let publication = Publication {
            track: id,
            transport,
            kind: section.media_kind().expect("tracks arrive on sections of media"),
            mid: Some(section.mid),
            formats: codecs::payload_formats(section.formats()),
            encodings,
            muted: info.muted,
            source: match info.source {
                TrackSource::ScreenShare | TrackSource::ScreenShareAudio => southbound::TrackSource::Screen,
                TrackSource::Unknown | TrackSource::Camera | TrackSource::Microphone => southbound::TrackSource::Camera,
            },
        };
        Self {
            mid: section.mid,
            formats: section.formats().to_vec(),
            publication,
        }
    }

    /// The codec that is sent: the first of our answer.
    pub(crate) fn codec(&self) -> Option<Codec> {
        self.formats.first().and_then(Format::codec)
    }

    /// For each payload type that comes, what a receiver calls it; `None` for a receiver that
    /// cannot decode what is sent.
    pub(crate) fn formats_for(&self, receiver: &[Format]) -> Option<Vec<(PayloadType, PayloadFormat)>> {
        let formats = codecs::translate(&self.formats, receiver);
        let is_sent = |number: PayloadType| {
            let found = self.formats.iter().find(|format| format.payload_type == number);
            found.and_then(Format::codec) == self.codec()
        };
        formats.iter().any(|(from, _)| is_sent(*from)).then_some(formats)
    }

    /// The best encoding, and the best spatial layer inside one, for a receiver that wants no more
    /// than this. With several encodings the choice is between them; with one, between its layers.
    pub(crate) fn limits(&self, limit: Limit) -> (u8, u8) {
        match &self.publication.encodings[..] {
            [only] if !only.layers.is_empty() => (0, rung(limit, only.layers.iter().copied())),
            [_] | [] => (0, u8::MAX),
            several => {
                let sizes = several.iter().map(|encoding| (encoding.width, encoding.height));
                (rung(limit, sizes), u8::MAX)
            }
        }
    }

    /// The clients' word for the quality of an encoding. A single one has all the quality there is.
    pub(crate) fn quality_of_encoding(&self, encoding: u8) -> VideoQuality {
        let encodings = &self.publication.encodings;
        let named = encodings.get(usize::from(encoding)).and_then(|encoding| encoding.rid);
        match named.as_ref().map(|rid| rid.as_str()) {
            Some("q") if encodings.len() > 1 => VideoQuality::Low,
            Some("h") if encodings.len() > 1 => VideoQuality::Medium,
            _ => VideoQuality::High,
        }
    }
}

/// Whether the codec sent here puts several sizes into one encoding.
fn scales(section: &Section) -> bool {
    let first = section.formats().first().and_then(Format::codec);
    matches!(first, Some(Codec::Vp9 | Codec::Av1))
}

/// The announced size of an encoding.
fn layer_of(announced: &[VideoLayer], rid: Option<Rid>, position: usize) -> Option<VideoLayer> {
    let Some(rid) = rid else {
        // One encoding, or several without names: the best layers in rising order.
        let mut layers = announced.to_vec();
        layers.sort_by_key(|layer| layer.width);
        let single = announced.len() > 1 && position == 0;
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
    let named = announced.iter().find(|layer| layer.rid == rid.as_str());
    named
        .or_else(|| announced.iter().find(|layer| layer.quality == quality))
        .cloned()
}

/// The announced sizes of the layers inside a single encoding, in rising order; empty when there is
/// one or nothing was announced.
fn spatial_layers(announced: &[VideoLayer]) -> Vec<(u32, u32)> {
    let mut layers: Vec<_> = announced.iter().map(|layer| (layer.width, layer.height)).collect();
    layers.sort_unstable();
    layers.dedup();
    if layers.len() > 1 { layers } else { Vec::new() }
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
