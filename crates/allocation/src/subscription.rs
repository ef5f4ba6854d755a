//! The input: one receiver's subscriptions, and the layers that arrive for each.

use wire::MediaKind;

use crate::{BitRate, DecodeTarget};

/// Names a subscription of one receiver. Its owner hands them out; no two subscriptions of a
/// receiver have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

/// One subscription in its present state.
#[derive(Clone, Copy, Debug)]
pub struct Subscription<'a> {
    /// Which.
    pub key: Key,
    /// The receiver's request.
    pub request: Request,
    /// Every layer that arrives, in any order. Simulcast and scalable video differ only in the
    /// numbers here: one layer or a few in each of several encodings, or many in one. At most
    /// [`OFFERS_MAX`](crate::limits::OFFERS_MAX).
    pub offers: &'a [Offer],
}

/// A receiver's request for a track, and its importance. A change of a request is followed at once,
/// while a change of a rate waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether it is sent at all.
    pub enabled: bool,
    /// Audio is sent under any estimate.
    pub kind: MediaKind,
    /// Its source.
    pub source: Source,
    /// The size it is displayed at; 0 by 0 when that is unknown, and then the best there is counts
    /// as full. Shape: width and height in pixels.
    pub size: (u16, u16),
    /// Frames per second beyond which nothing is gained; 0 for no limit.
    pub fps: u16,
    /// The best encoding to send, where a lower one arrives.
    pub encoding_max: u8,
    /// Whether no other encoding is sent in its place.
    pub encoding_exact: bool,
    /// The best spatial layer of an encoding that has several.
    pub spatial_max: u8,
    /// How much more it matters than another one of the same size: 3 counts four times as much
    /// as 0.
    pub priority: u8,
    /// Its speaker rank, the loudest being 0.
    pub speaker: Option<u8>,
    /// Whether it may be paused if even the lowest layer does not fit. Otherwise that layer is sent
    /// in any case.
    pub may_pause: bool,
}

impl Request {
    /// A voice.
    pub const AUDIO: Self = Self {
        kind: MediaKind::Audio,
        ..Self::VIDEO
    };

    /// A camera at its best, without priority.
    pub const VIDEO: Self = Self {
        enabled: true,
        kind: MediaKind::Video,
        source: Source::Camera,
        size: (0, 0),
        fps: 0,
        encoding_max: u8::MAX,
        encoding_exact: false,
        spatial_max: u8::MAX,
        priority: 0,
        speaker: None,
        may_pause: true,
    };
}

/// The source of a video, which decides what matters in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// People: movement before detail.
    Camera,
    /// Text and slides: detail before movement.
    Screen,
}

/// One layer that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The layer. Only its own packets count in `rate`; those of the lower layers are in their own
    /// offers.
    pub target: DecodeTarget,
    /// The rate of its packets, measured over a second or more, and guessed until then. A size of
    /// which no frame rate has a rate does not arrive.
    pub rate: BitRate,
    /// The part of `rate` that is sent with larger sizes of the encoding too: all of it if they are
    /// predicted from it, next to nothing if that is so in key frames only, and nothing without
    /// larger sizes.
    pub needed_above: BitRate,
    /// Size with this layer; 0 by 0 when unknown, and then each encoding and spatial layer counts
    /// as twice the one below. Shape: width and height in pixels.
    pub size: (u16, u16),
    /// Frames per second with this layer; 0 when unknown, and then each temporal layer counts as
    /// twice the one below.
    pub fps: u16,
}

impl Offer {
    pub(crate) fn area(&self) -> u64 {
        let shift = u32::from(self.target.encoding.min(8) + self.target.layer.spatial.min(8));
        match self.size {
            (0, _) | (_, 0) => (320 * 180) << (2 * shift),
            (width, height) => u64::from(width) * u64::from(height),
        }
    }

    pub(crate) fn pictures(&self) -> f64 {
        match self.fps {
            0 => 7.5 * f64::from(1_u32 << self.target.layer.temporal.min(8)),
            fps => f64::from(fps),
        }
    }
}

impl DecodeTarget {
    /// The rate of all packets sent for this target: its size up to its frame rate, and of the
    /// smaller sizes the part that it needs.
    pub fn cost(self, offers: &[Offer]) -> BitRate {
        let sent = offers.iter().filter(|offer| self.covers(offer.target));
        let rates = sent.map(|offer| match offer.target.layer.spatial == self.layer.spatial {
            true => offer.rate,
            false => offer.needed_above,
        });
        rates.fold(BitRate(0), BitRate::plus)
    }
}
