//! The start of a shared screen.
//!
//! A downlink that has carried all that was wanted is estimated at what was sent, and probes take a
//! second or two to find more. In a receiver's first seconds it is not even sent what is estimated.
//! A screen is unreadable for that time in a small size. So it starts at the best size within the
//! rate that first key frames are paced at, beyond the estimate, until that was long enough for
//! probes or packets wait in the path.

use std::time::{Duration, Instant};

use allocation::{DecodeTarget, Source, Subscription};
use wire::MediaKind;

/// How long a screen may be sent beyond the estimate.
const START: Duration = Duration::from_secs(2);

/// The start of a receiver's screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScreenStart {
    /// It gets no screen.
    #[default]
    NoScreen,
    /// A screen started, and this rate may be divided at least. Shape: bits per second.
    Starting {
        until: Instant,
        rate: u64,
    },
    Over,
}

impl ScreenStart {
    /// The rate that may be divided at least. Shape: bits per second.
    pub(super) fn rate(&self) -> u64 {
        match self {
            Self::Starting { rate, .. } => *rate,
            Self::NoScreen | Self::Over => 0,
        }
    }

    /// The state with these subscriptions. `had_room` is whether there was room for everything
    /// wanted until now, as far as is known, `estimated` the rate that may be divided by the
    /// estimate, and `most` the highest rate of the screens beyond it. The other streams have what
    /// the estimate allows: their rates do not make a screen small.
    pub(super) fn next(
        self,
        now: Instant,
        had_room: bool,
        is_congested: bool,
        (estimated, most): (u64, u64),
        subscriptions: &[Subscription<'_>],
    ) -> Self {
        let mut screens = subscriptions
            .iter()
            .filter(|subscription| is_screen(subscription))
            .peekable();
        if screens.peek().is_none() {
            return Self::NoScreen;
        }
        let until = match self {
            Self::NoScreen if had_room && !is_congested => now + START,
            Self::Starting { until, .. } if now < until && !is_congested => until,
            _ => return Self::Over,
        };
        let wanted: u64 = screens.map(|screen| best(screen, most)).sum();
        let rate = estimated.saturating_add(wanted.min(most));
        Self::Starting { until, rate }
    }
}

fn is_screen(subscription: &Subscription<'_>) -> bool {
    let request = &subscription.request;
    let is_sent = request.enabled && !subscription.offers.is_empty();
    is_sent && request.kind == MediaKind::Video && request.source == Source::Screen
}

/// The rate of the best layer within a rate.
fn best(screen: &Subscription<'_>, most: u64) -> u64 {
    let request = &screen.request;
    let may_be_sent = |target: &DecodeTarget| !request.encoding_exact || target.encoding == request.encoding_max;
    let wanted = screen
        .offers
        .iter()
        .map(|offer| offer.target)
        .filter(may_be_sent)
        .filter(|target| target.encoding <= request.encoding_max && target.layer.spatial <= request.spatial_max);
    let rates = wanted.map(|target| target.cost(screen.offers).0);
    rates.filter(|rate| *rate <= most).max().unwrap_or(0)
}
