//! The sizes of a track, as others are told of them.

use wire::{Codec, MediaKind};

use super::named_codec;
use super::publication_media::PublicationMedia;
use crate::{AddTrack, LayerMode, VideoLayer};

/// How the sizes of a codec are spread over streams: as announced, else as is usual for the codec.
/// A client that announces no codec sends one size a stream.
pub(super) fn layer_mode(request: &AddTrack, codec: Option<Codec>) -> LayerMode {
    let Some(codec) = codec else {
        return LayerMode::OneSpatialLayerPerStream;
    };
    let said = request
        .codecs
        .iter()
        .find(|said| named_codec(codec.kind(), said) == Some(codec));
    match (said.map(|said| said.video_layer_mode), codec) {
        (Some(mode), _) if mode != LayerMode::Unused => mode,
        (_, Codec::Vp9 | Codec::Av1) => LayerMode::MultipleSpatialLayersPerStream,
        (_, codec) if codec.kind() == MediaKind::Video => LayerMode::OneSpatialLayerPerStream,
        _ => LayerMode::Unused,
    }
}

/// Sizes in rising quality, as others are told of them.
pub(super) fn by_quality(layers: &[VideoLayer]) -> Vec<VideoLayer> {
    let mut layers = layers.to_vec();
    layers.sort_by_key(|layer| layer.quality);
    layers
}

/// Gives each size its place among spatial layers, and the name of the encoding that it is sent
/// in.
pub(super) fn name_layers(layers: &mut [VideoLayer], media: &PublicationMedia) {
    let mut qualities: Vec<_> = layers.iter().map(|layer| layer.quality).collect();
    qualities.dedup();
    let encodings = &media.publication.encodings;
    for layer in layers {
        let place = qualities.iter().position(|quality| *quality == layer.quality);
        let place = place.unwrap_or_default();
        let rid = encodings.get(place).and_then(|encoding| encoding.rid);
        layer.spatial_layer = place as i32;
        layer.rid = rid
            .filter(|_| encodings.len() > 1)
            .map_or_else(String::new, |rid| rid.as_str().to_owned());
    }
}
