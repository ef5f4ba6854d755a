//! The layers of a track that arrive, as the allocator takes them: every layer with its bit rate,
//! its size and its frame rate.

use std::time::{Duration, Instant};

use allocation::{BitRate, DecodeTarget, Offer};
use southbound::{Encoding, TrackId};
use wire::MediaKind;
use wire::codec::Layer;

use super::Uplink;
use super::layer_bitrate::Measured;

/// Interval at which a track without arrivals is looked at; it is looked at as soon as a packet
/// arrives.
const IDLE: Duration = Duration::from_secs(1);

/// Bit rate of audio until it is measured.
const SOUND: BitRate = BitRate::kilo(40);

/// Bit rate of video at 320x180 until it is measured. For larger sizes it grows with the area to
/// the power of 3/4, as encoders are set.
const PICTURE: f64 = 160e3;
const PICTURE_AREA: f64 = 320.0 * 180.0;

/// The layer of a stream that is not measured yet: everything of its lowest size.
const UNMEASURED: Layer = Layer {
    spatial: 0,
    temporal: u8::MAX,
};

impl Uplink {
    /// Brings a track's offers up to date. They are made once for all its receivers.
    pub(in crate::media) fn refresh_offers(&mut self, now: Instant, id: TrackId) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if track.offers.1.is_some_and(|until| now < until) {
            return;
        }
        let (mut offers, kind) = (std::mem::take(&mut track.offers.0), track.publication.kind);
        offers.clear();
        let mut until = now + IDLE;
        for (index, (encoding, state)) in track.publication.encodings.iter().zip(&track.encodings).enumerate() {
            let stream = state.stream.filter(|_| state.active.is_some());
            let Some(stream) = stream.and_then(|key| self.streams.get_mut(&key)) else {
                continue;
            };
            let index = index.min(usize::from(u8::MAX)) as u8;
            until = until.min(stream.layer_bitrate.changes_at(now));
            match stream.layer_bitrate.measured(now) {
                Some(measured) => offers.extend(by_measure(index, encoding, &measured)),
                None => offers.push(by_guess(kind, index, encoding)),
            }
        }
        track.offers = (offers, Some(until));
    }
}

/// The guessed bit rate of a stream that has just begun.
fn by_guess(kind: MediaKind, index: u8, encoding: &Encoding) -> Offer {
    let size = size(encoding, Layer::default(), 0);
    let rate = match kind {
        MediaKind::Audio => SOUND,
        MediaKind::Video => BitRate(picture_rate(index, size)),
    };
    Offer {
        target: DecodeTarget {
            encoding: index,
            layer: UNMEASURED,
        },
        rate,
        needed_above: BitRate(0),
        size,
        fps: 0,
    }
}

fn picture_rate(index: u8, size: (u16, u16)) -> u64 {
    let area = match size {
        (0, _) | (_, 0) => PICTURE_AREA * f64::from(1_u32 << (2 * index.min(4))),
        (width, height) => f64::from(width) * f64::from(height),
    };
    let times = area / PICTURE_AREA;
    (PICTURE * times.sqrt() * times.sqrt().sqrt()) as u64
}

fn by_measure<'a>(index: u8, encoding: &'a Encoding, measured: &'a [Measured]) -> impl Iterator<Item = Offer> + 'a {
    let sizes = measured.iter().map(|layer| layer.layer.spatial).max().unwrap_or(0);
    measured.iter().map(move |own| {
        let below =
            |other: &&Measured| other.layer.spatial == own.layer.spatial && other.layer.temporal <= own.layer.temporal;
        let frames: f64 = measured.iter().filter(below).map(|layer| layer.frames).sum();
        Offer {
            target: DecodeTarget {
                encoding: index,
                layer: own.layer,
            },
            rate: BitRate(own.rate),
            needed_above: BitRate(own.needed_above),
            size: size(encoding, own.layer, sizes),
            fps: frames.round() as u16,
        }
    })
}

/// The size with a layer: as announced, otherwise the encoding's size halved for each layer above;
/// 0 by 0 if none was announced.
fn size(encoding: &Encoding, layer: Layer, highest: u8) -> (u16, u16) {
    let (width, height) = match encoding.layers.get(usize::from(layer.spatial)) {
        Some(announced) => *announced,
        None => {
            let halvings = highest.saturating_sub(layer.spatial).min(8);
            (encoding.width >> halvings, encoding.height >> halvings)
        }
    };
    (
        width.min(u32::from(u16::MAX)) as u16,
        height.min(u32::from(u16::MAX)) as u16,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(width: u32, height: u32, layers: &[(u32, u32)]) -> Encoding {
        Encoding {
            rid: None,
            ssrc: None,
            rtx: None,
            width,
            height,
            layers: layers.to_vec(),
        }
    }

    #[test]
    fn guesses_are_near_the_rates_of_browsers() {
        for (size, least, most) in [
            ((320, 180), 150, 200),
            ((640, 360), 400, 500),
            ((1280, 720), 1_200, 1_700),
            ((1920, 1080), 2_300, 3_000),
        ] {
            let rate = picture_rate(0, size) / 1_000;
            assert!((least..=most).contains(&rate), "{size:?}: {rate}");
        }
        assert_eq!(picture_rate(2, (0, 0)), picture_rate(0, (1280, 720)));
    }

    #[test]
    fn pictures_of_a_layer_are_those_of_the_layers_below_it_too() {
        let measured = |spatial, temporal, frames| Measured {
            layer: Layer { spatial, temporal },
            rate: 1_000,
            needed_above: 0,
            frames,
        };
        let arrives = [measured(0, 0, 15.0), measured(0, 1, 15.0), measured(1, 0, 15.0)];
        let unsaid = encoding(1280, 720, &[]);
        let offers: Vec<_> = by_measure(0, &unsaid, &arrives)
            .map(|offer| (offer.size, offer.fps))
            .collect();
        assert_eq!(offers, [((640, 360), 15), ((640, 360), 30), ((1280, 720), 15)]);
        let said = encoding(1280, 720, &[(320, 180), (1280, 720)]);
        let offers: Vec<_> = by_measure(0, &said, &arrives).map(|offer| offer.size).collect();
        assert_eq!(offers, [(320, 180), (320, 180), (1280, 720)]);
    }
}
