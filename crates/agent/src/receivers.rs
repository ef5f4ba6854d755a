//! How every receiver does, as plain data: for pages and metrics, which ask a few times a second at
//! most.

use std::time::Duration;

use southbound::{SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

pub use bandwidth::{Anomalies, Estimate, Limit, Usage};

/// One transport that gets something.
#[derive(Clone, Debug, PartialEq)]
pub struct Receiver {
    /// Which.
    pub transport: TransportId,
    /// State of its downlink. `None` if nothing measures it: the receiver gets audio only, it
    /// reports nothing, or the operator switched adaptation off.
    pub downlink: Option<DownlinkState>,
    /// The playout delay that it is told, so that losses are repaired in time; zero is none.
    pub playout_delay: Duration,
    /// Its subscriptions, by id.
    pub subscriptions: Vec<SubscriptionState>,
}

/// Estimate and budget of one downlink. Shape: rates in bits per second of UDP payload.
#[derive(Clone, Debug, PartialEq)]
pub struct DownlinkState {
    /// The estimated capacity.
    pub estimate: Estimate,
    /// Whether it limits: a receiver that negotiated reports and never sent one gets all it wants.
    pub reports: bool,
    /// The pace of its packets; `None` is unpaced.
    pub pace: Option<u64>,
    /// Bit rate of everything granted, and of the layers kept beside it.
    pub allocated: u64,
    /// Bit rate of everything wanted at its best.
    pub wanted: u64,
    /// Probes asked for so far.
    pub probes: u64,
    /// Impossible reports of the receiver.
    pub anomalies: Anomalies,
}

/// One subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionState {
    /// Which.
    pub subscription: SubscriptionId,
    /// Of which track.
    pub track: TrackId,
    /// Audio or video.
    pub kind: MediaKind,
    /// Camera or screen, where the track is known.
    pub source: TrackSource,
    /// The receiver's settings.
    pub settings: SubscriptionSettings,
    /// The speaker rank of its sender, which counts with the settings; `None` for a silent sender.
    pub speaker: Option<u8>,
    /// The layer that it is granted.
    pub granted: Granted,
    /// The layer that it is sent: the encoding and its highest layer; `None` while nothing is sent.
    pub current: Option<Target>,
    /// Whether it waits for a key frame.
    pub awaits_key_frame: bool,
    /// The layers that arrive of its track, each encoding and layer with its own packets only; the
    /// lowest first.
    pub arrives: Vec<LayerRate>,
}

/// The grant of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Nothing yet: it is not decided, or nothing arrives.
    Undecided,
    /// This.
    Send(Target),
    /// Nothing, because the downlink does not carry it.
    NoRoom,
    /// Nothing, because other videos have the limited places.
    LeftOut,
    /// Nothing, because the track is held for all receivers.
    Held,
    /// Nothing, because it is not wanted.
    Disabled,
}

/// An encoding, by its place in the publication, and its highest layer: [`u8::MAX`] for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// In rising quality from 0.
    pub encoding: u8,
    /// Inside the encoding.
    pub layer: Layer,
}

/// The bit rate of one layer that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRate {
    /// Which.
    pub target: Target,
    /// Its own packets. Shape: bits per second of UDP payload.
    pub rate: u64,
    /// Size with it; 0 by 0 when unknown. Shape: pixels.
    pub size: (u16, u16),
    /// Frames per second with it; 0 when unknown.
    pub fps: u16,
}

/// The reason that an estimate is not higher, in the operator's view.
pub fn limit(limit: Limit) -> operator::receivers::Limit {
    use operator::receivers::Limit as View;
    match limit {
        Limit::Start => View::Start,
        Limit::Delay => View::Delay,
        Limit::Loss => View::Loss,
        Limit::Remb => View::Remb,
        Limit::FeedbackTimeout => View::Silence,
    }
}

/// The use of a path, in the operator's view.
pub fn usage(usage: Usage) -> operator::receivers::Usage {
    use operator::receivers::Usage as View;
    match usage {
        Usage::Normal => View::Normal,
        Usage::Over => View::Over,
        Usage::Under => View::Under,
    }
}
