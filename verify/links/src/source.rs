//! A source: audio, and video whose rate follows the estimate.

use std::time::Duration;

use pacing::Class;
use rand::Rng;
use rand::rngs::StdRng;

const FRAME: Duration = Duration::from_nanos(33_333_333);
const SOUND: Duration = Duration::from_millis(20);
/// 32 kbit/s.
const SOUND_BYTES: u32 = 80;
const PACKET_MAX: u32 = 1200;
/// Frames between key frames, and the size of those relative to others.
const KEY_EVERY: u32 = 300;
const KEY_FACTOR: f64 = 6.0;
/// How much of a frame's size is chance.
const UNEVEN: f64 = 0.25;
/// A layer is taken when it fits so well, and kept while it fits.
const LAYER_MARGIN: f64 = 1.15;

/// The relation of the video rate to the sendable rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// Exactly: as an encoder does, or an SFU with many receivers' worth of layers to choose from.
    Elastic,
    /// In steps: the highest of these rates that fits. Shape: kilobits per second, rising.
    Layers(Vec<u32>),
    /// Not at all, as long as it fits. Shape: kilobits per second.
    AtMost(u32),
}

/// A sender's microphone and camera.
pub(crate) struct Source {
    media: Media,
    next_frame: Duration,
    next_sound: Duration,
    frames: u32,
    /// Bytes that key frames exceeded the rate by, saved by later frames. Shape: bytes.
    debt: f64,
    layer: usize,
}

impl Source {
    pub(crate) fn new(media: Media, from: Duration) -> Self {
        Self {
            media,
            next_frame: from,
            next_sound: from,
            frames: 0,
            debt: 0.0,
            layer: 0,
        }
    }

    /// The packets made by `now`, at this sendable rate in bits per second.
    pub(crate) fn produce(&mut self, now: Duration, sendable: f64, rng: &mut StdRng, out: &mut Vec<(Class, u32)>) {
        while self.next_sound <= now {
            self.next_sound += SOUND;
            out.push((Class::Audio, SOUND_BYTES));
        }
        while self.next_frame <= now {
            self.next_frame += FRAME;
            let sound = f64::from(SOUND_BYTES) * 8.0 / SOUND.as_secs_f64();
            let rate = self.rate((sendable - sound).max(20e3));
            let bytes = self.frame(rate, rng);
            let packets = bytes.div_ceil(PACKET_MAX);
            out.extend((0..packets).map(|_| (Class::Video, bytes / packets)));
        }
    }

    fn rate(&mut self, sendable: f64) -> f64 {
        match &self.media {
            Media::Elastic => sendable,
            Media::AtMost(most) => sendable.min(f64::from(*most) * 1e3),
            Media::Layers(layers) => {
                let fits = |layer: usize, margin: f64| f64::from(layers[layer]) * 1e3 * margin <= sendable;
                while self.layer > 0 && !fits(self.layer, 1.0) {
                    self.layer -= 1;
                }
                while self.layer + 1 < layers.len() && fits(self.layer + 1, LAYER_MARGIN) {
                    self.layer += 1;
                }
                f64::from(layers[self.layer]) * 1e3
            }
        }
    }

    fn frame(&mut self, rate: f64, rng: &mut StdRng) -> u32 {
        let even = rate * FRAME.as_secs_f64() / 8.0;
        let key = self.frames.is_multiple_of(KEY_EVERY);
        self.frames += 1;
        let wanted = even
            * if key {
                KEY_FACTOR
            } else {
                1.0 + UNEVEN * rng.random_range(-1.0..1.0)
            };
        let paid = if key {
            0.0
        } else {
            (self.debt * 0.05).clamp(0.0, 0.4 * even)
        };
        let bytes = (wanted - paid).max(60.0);
        self.debt = (self.debt + bytes - even).max(0.0);
        bytes as u32
    }
}
