//! The utility of a decode target for its viewer.

use crate::{Offer, Request, Source};

/// A size or a frame rate this near to the displayed one counts as full: the next better one costs
/// several times as much and would look the same.
const ENOUGH: f64 = 0.8;

/// More frames of a face a second than this gain little.
const SMOOTH: f64 = 20.0;

/// The displayed size for which a subscription counts once, and as which one of unknown size
/// counts.
const TILE: f64 = 640.0 * 360.0;

/// Weight of a shared screen relative to other videos of its size: all viewers look at it.
const SCREEN: f64 = 16.0;

/// How much more the loudest speaker matters.
const SPEAKER: f64 = 4.0;

/// One viewer's scale of full quality.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    source: Source,
    weight: f64,
    area: f64,
    pictures: f64,
}

impl Scale {
    /// The scale of a request, given its offers: without a stated limit, the best offer is full
    /// quality.
    pub(crate) fn new(request: &Request, offers: &[Offer]) -> Self {
        let best = |value: fn(&Offer) -> f64| offers.iter().map(value).fold(0.0, f64::max);
        let area = match displayed(request) {
            0 => best(|offer| offer.area() as f64),
            shown => shown as f64,
        };
        let pictures = match request.fps {
            0 => best(Offer::pictures),
            fps => f64::from(fps),
        };
        Self {
            source: request.source,
            weight: weight(request),
            area: area * ENOUGH,
            pictures: match request.source {
                Source::Camera => pictures.min(SMOOTH) * ENOUGH,
                Source::Screen => pictures * ENOUGH,
            },
        }
    }

    /// Weighted quality: the part of the full quality, times the weight of the subscription.
    ///
    /// Cameras lose much by a low frame rate (its power of 5/4) and less by a small size (1/2 of
    /// its area), screens the other way round (1/4 and 3/4). So a camera gets all frame rates of a
    /// small size before a larger one, which takes a key frame, and a screen is legible before it
    /// moves. These powers need only square roots, which every machine computes alike.
    pub(crate) fn utility(&self, offer: &Offer) -> f64 {
        let picture = (offer.area() as f64 / self.area).min(1.0);
        let movement = (offer.pictures() / self.pictures).min(1.0);
        let quality = match self.source {
            Source::Camera => half(picture) * movement * half(half(movement)),
            Source::Screen => three_quarters(picture) * half(half(movement)),
        };
        self.weight * quality
    }
}

/// Weight of a subscription: by its priority, its speaker rank, and the side length of its display.
fn weight(request: &Request) -> f64 {
    let speaking = match (request.source, request.speaker) {
        (Source::Screen, _) => SCREEN,
        (Source::Camera, Some(place)) => 1.0 + (SPEAKER - 1.0) / (1.0 + f64::from(place)),
        (Source::Camera, None) => 1.0,
    };
    let side = match displayed(request) {
        0 => 1.0,
        area => (area as f64 / TILE).sqrt(),
    };
    (1.0 + f64::from(request.priority)) * speaking * side
}

/// Pixels it is displayed with; 0 when unknown.
pub(crate) fn displayed(request: &Request) -> u32 {
    u32::from(request.size.0) * u32::from(request.size.1)
}

fn half(part: f64) -> f64 {
    part.sqrt()
}

fn three_quarters(part: f64) -> f64 {
    part.sqrt() * part.sqrt().sqrt()
}
