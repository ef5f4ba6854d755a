//! A receiver in virtual time, and its offers.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]

use std::time::{Duration, Instant};

use allocation::{
    Allocation, Allocator, BitRate, Config, DecodeTarget, Grant, Headroom, Key, Offer, Policy, Request, Source,
    Subscription,
};

/// How often a receiver reports.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Parts of an encoding's rate that its three temporal layers take.
const PARTS: [f64; 3] = [0.4, 0.2, 0.4];
const FPS: [u16; 3] = [8, 15, 30];

/// VP8 in three sizes of 150, 500 and 1,700 kbit/s, with three frame rates each.
pub(crate) fn simulcast() -> Vec<Offer> {
    encodings(&[150, 500, 1_700])
}

/// The same at other rates: as many sizes as there are rates, in kbit/s.
pub(crate) fn encodings(rates: &[u64]) -> Vec<Offer> {
    let encoding = |(encoding, rate): (usize, &u64)| {
        let rate = BitRate::kilo(*rate);
        (0..3).map(move |temporal| Offer {
            target: DecodeTarget::new(encoding as u8, 0, temporal as u8),
            rate: rate.scaled(PARTS[temporal]),
            needed_above: BitRate(0),
            size: (320 << encoding, 180 << encoding),
            fps: FPS[temporal],
        })
    };
    rates.iter().enumerate().flat_map(encoding).collect()
}

/// VP9 or AV1 in three spatial layers, each predicted from the one below, with three frame rates.
pub(crate) fn scalable() -> Vec<Offer> {
    layers([150, 300, 900], |rate| rate)
}

/// The same with prediction between sizes in key frames only, of which there are none at the
/// moment. Each size has all its frames.
pub(crate) fn scalable_in_key_frames() -> Vec<Offer> {
    layers([150, 450, 1_350], |_| BitRate(0))
}

fn layers(rates: [u64; 3], needed_above: fn(BitRate) -> BitRate) -> Vec<Offer> {
    let layer = |spatial: usize, temporal: usize| {
        let rate = BitRate::kilo(rates[spatial]).scaled(PARTS[temporal]);
        Offer {
            target: DecodeTarget::new(0, spatial as u8, temporal as u8),
            rate,
            needed_above: if spatial < 2 { needed_above(rate) } else { BitRate(0) },
            size: (320 << spatial, 180 << spatial),
            fps: FPS[temporal],
        }
    };
    let layers = (0..3).flat_map(|spatial| (0..3).map(move |temporal| (spatial, temporal)));
    layers.map(|(spatial, temporal)| layer(spatial, temporal)).collect()
}

/// A voice of 32 kbit/s.
pub(crate) fn voice() -> Vec<Offer> {
    vec![Offer {
        target: DecodeTarget::default(),
        rate: BitRate::kilo(32),
        needed_above: BitRate(0),
        size: (0, 0),
        fps: 0,
    }]
}

/// A camera displayed at this size.
pub(crate) fn camera(width: u16, height: u16) -> Request {
    Request {
        size: (width, height),
        ..Request::VIDEO
    }
}

/// A screen displayed at this size.
pub(crate) fn screen(width: u16, height: u16) -> Request {
    Request {
        source: Source::Screen,
        ..camera(width, height)
    }
}

/// One receiver.
pub(crate) struct Receiver {
    pub now: Instant,
    pub subscriptions: Vec<(Key, Request, Vec<Offer>)>,
    pub allocator: Allocator,
    /// The last grants.
    pub grants: Vec<Grant>,
    pub used: BitRate,
    pub wanted: BitRate,
    /// Calls that changed any grant.
    pub changes: usize,
}

impl Receiver {
    /// Subscribed to all of these.
    pub(crate) fn of(subscriptions: impl IntoIterator<Item = (Request, Vec<Offer>)>) -> Self {
        let keyed = |(at, (request, offers))| (Key(at as u64), request, offers);
        Self {
            now: Instant::now(),
            subscriptions: subscriptions.into_iter().enumerate().map(keyed).collect(),
            allocator: Allocator::new(Config::default()),
            grants: Vec::new(),
            used: BitRate(0),
            wanted: BitRate(0),
            changes: 0,
        }
    }

    /// An estimate arrives, in kbit/s.
    pub(crate) fn estimate(&mut self, kilo: u64) -> &mut Self {
        self.room(BitRate::kilo(kilo).into())
    }

    /// The sendable rate while a queue drains, and the capacity.
    pub(crate) fn draining(&mut self, kilo: u64, carried: u64) -> &mut Self {
        self.room(Headroom {
            now: BitRate::kilo(kilo),
            carried: BitRate::kilo(carried),
            screen_start: BitRate(0),
        })
    }

    /// The estimate, and the rate for a screen that starts.
    pub(crate) fn starting(&mut self, kilo: u64, screen_start: u64) -> &mut Self {
        self.room(Headroom {
            screen_start: BitRate::kilo(screen_start),
            ..BitRate::kilo(kilo.max(screen_start)).into()
        })
    }

    fn room(&mut self, room: Headroom) -> &mut Self {
        self.now += TICK;
        let subscriptions: Vec<_> = self
            .subscriptions
            .iter()
            .map(|(key, request, offers)| Subscription {
                key: *key,
                request: *request,
                offers,
            })
            .collect();
        let Allocation { grants, used, wanted } = (self.allocator).allocate(self.now, room, &subscriptions);
        self.changes += usize::from(self.grants != grants);
        (self.grants, self.used, self.wanted) = (grants.to_vec(), used, wanted);
        self
    }

    /// The same estimate for some seconds.
    pub(crate) fn steady(&mut self, kilo: u64, seconds: u32) -> &mut Self {
        for _ in 0..10 * seconds {
            self.estimate(kilo);
        }
        self
    }

    /// Encoding, spatial and temporal layer that a subscription gets.
    pub(crate) fn sent(&self, at: usize) -> Option<(u8, u8, u8)> {
        let target = self.grants[at].target()?;
        Some((target.encoding, target.layer.spatial, target.layer.temporal))
    }
}
