//! Random values of the fields of entries.

use std::time::Duration;

use dataplane::ReplicaFormat;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom, SliceRandom};
use wire::codec::Layer;
use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType};

use super::Network;

/// A list of codecs a browser might offer, by payload type: source's type, codec, type of its
/// retransmissions.
pub(crate) fn offers(rng: &mut StdRng) -> (MediaKind, Vec<(PayloadType, Codec, Option<PayloadType>)>) {
    let video = [
        (96, Codec::Vp8),
        (98, Codec::H264),
        (100, Codec::Av1),
        (102, Codec::Vp9),
    ];
    let payload_type = |value: u8| PayloadType::new(value).expect("below 128");
    if rng.random_bool(0.3) {
        let formats = vec![
            (payload_type(111), Codec::Opus, None),
            (payload_type(0), Codec::Pcmu, None),
            (payload_type(114), Codec::Red, None),
        ];
        return (MediaKind::Audio, formats);
    }
    let mut chosen = video.to_vec();
    chosen.shuffle(rng);
    chosen.truncate(rng.random_range(1..3));
    let format = |(number, codec): (u8, Codec)| (payload_type(number), codec, Some(payload_type(number + 1)));
    (MediaKind::Video, chosen.into_iter().map(format).collect())
}

/// A codec with layers.
pub(crate) fn layered_offer(rng: &mut StdRng) -> (MediaKind, Vec<(PayloadType, Codec, Option<PayloadType>)>) {
    let all = [
        (96, Codec::Vp8),
        (98, Codec::H264),
        (100, Codec::Av1),
        (102, Codec::Vp9),
    ];
    let (number, codec) = *all.choose(rng).expect("four");
    let payload_type = |value: u8| PayloadType::new(value).expect("below 128");
    let formats = vec![(payload_type(number), codec, Some(payload_type(number + 1)))];
    (MediaKind::Video, formats)
}

/// A codec whose layers are not in its payload, or can be left there.
pub(crate) fn described_offer(rng: &mut StdRng) -> (MediaKind, Vec<(PayloadType, Codec, Option<PayloadType>)>) {
    let all = [(98, Codec::H264), (100, Codec::Av1), (102, Codec::Vp9)];
    let (number, codec) = *all.choose(rng).expect("three");
    let payload_type = PayloadType::new(number).expect("below 128");
    (MediaKind::Video, vec![(payload_type, codec, None)])
}

/// The same ids for all legs, one of them above 14.
fn common_map() -> ExtensionMap {
    let mut map = ExtensionMap::default();
    let kinds = [
        (ExtensionKind::Mid, 1),
        (ExtensionKind::AbsSendTime, 2),
        (ExtensionKind::DependencyDescriptor, 3),
        (ExtensionKind::AbsCaptureTime, 4),
        (ExtensionKind::ColorSpace, 15),
    ];
    for (kind, id) in kinds {
        map.insert(kind, id).expect("each id is taken once");
    }
    map
}

pub(crate) fn extension_map(rng: &mut StdRng, network: Network) -> ExtensionMap {
    if network == Network::Described {
        return common_map();
    }
    let mut ids: Vec<u8> = (1..=16).collect();
    ids.shuffle(rng);
    let mut map = ExtensionMap::default();
    for kind in ExtensionKind::ALL {
        let chance = match kind {
            ExtensionKind::DependencyDescriptor if network == Network::Clean => 1.0,
            ExtensionKind::DependencyDescriptor => 0.7,
            _ => 0.4,
        };
        if rng.random_bool(chance) {
            // Fourteen and less mostly: the usual form is the one-byte form.
            let small = ids.iter().position(|id| *id <= 14 || rng.random_bool(0.1));
            if let Some(id) = small.map(|at| ids.swap_remove(at)) {
                map.insert(kind, id).expect("each id is taken once");
            }
        }
    }
    map
}

/// The playout delay of a receiver, if there is one.
pub(crate) fn playout_delay(rng: &mut StdRng) -> Option<PlayoutDelay> {
    let millis = [0, 150, 20_000].into_iter().choose(rng).expect("some");
    rng.random_bool(0.3)
        .then(|| PlayoutDelay::at_least(Duration::from_millis(millis)))
}

/// The layers that a receiver wants: often all.
pub(crate) fn target(rng: &mut StdRng) -> Layer {
    match rng.random_bool(0.35) {
        true => Layer::HIGHEST,
        false => Layer {
            spatial: rng.random_range(0..4),
            temporal: rng.random_range(0..4),
        },
    }
}

/// The size to keep beside the target's: often none.
pub(crate) fn fallback_spatial(rng: &mut StdRng) -> Option<u8> {
    rng.random_bool(0.5).then(|| rng.random_range(0..3))
}

/// Formats that a receiver negotiated: nearly all, under its own numbers, mostly with
/// retransmission.
pub(crate) fn replica_formats(rng: &mut StdRng, network: Network) -> Vec<ReplicaFormat> {
    let payload_type = |value: u8| PayloadType::new(value).expect("below 128");
    let all = [96_u8, 98, 100, 102, 111, 0, 114];
    let offset = rng.random_range(0..10);
    let negotiated = all
        .into_iter()
        .filter(|_| network.is_layered() || rng.random_bool(0.93));
    let numbered: Vec<u8> = negotiated.collect();
    numbered
        .into_iter()
        .map(|source| {
            let rtx = rng.random_bool(0.9).then(|| payload_type(source + offset + 1));
            ReplicaFormat {
                source: payload_type(source),
                payload_type: payload_type(source + offset),
                rtx,
                primary_only: source == 114 && rng.random_bool(0.7),
            }
        })
        .collect()
}
