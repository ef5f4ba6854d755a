//! How receivers do: the answers of `/api/receivers` and `/api/receivers/me`.
//!
//! Rates are in bits per second of UDP payload, times in milliseconds.

use serde::{Deserialize, Serialize};

/// The receivers that a token gives access to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Receivers {
    /// By room and identity.
    pub receivers: Vec<Receiver>,
    /// Whether there are more receivers than the answer holds.
    pub truncated: bool,
}

/// The server's estimate of one participant's downlink, and its decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Receiver {
    /// The name of its room.
    pub room: String,
    /// Its identity there.
    pub identity: String,
    /// `null` where nothing is measured: it gets sound only, reports nothing, or adaptation is off.
    pub downlink: Option<Downlink>,
    /// The playout delay that it is told because it loses packets; 0 for none.
    pub playout_delay_ms: f64,
    /// The tracks that it gets.
    pub subscriptions: Vec<Subscription>,
}

/// Estimate and budget of one downlink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Downlink {
    /// The estimated capacity.
    pub target_bps: u64,
    /// The rate that may be sent now: less than the target while a queue drains. This rate is
    /// divided.
    pub sendable_bps: u64,
    /// The rate that arrives, where the receiver reports it.
    pub acknowledged_bps: Option<u64>,
    /// The rate of everything granted.
    pub allocated_bps: u64,
    /// The rate of everything wanted.
    pub wanted_bps: u64,
    /// The pace of packets; `null` for none.
    pub pace_bps: Option<u64>,
    /// The reason that the estimate is not higher.
    pub limit: Limit,
    /// The use of the path, as seen from delay.
    pub usage: Usage,
    /// The part of the packets that is lost, 0 to 1.
    pub loss: f64,
    /// To the receiver and back, where it is measured.
    pub round_trip_ms: Option<f64>,
    /// The delay in the queue of the path.
    pub queue_ms: f64,
    /// Whether less is sent than the path carries.
    pub application_limited: bool,
    /// Whether the receiver reports.
    pub reports: bool,
    /// The probes that were sent so far.
    pub probes: u64,
}

/// The reason that an estimate is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Nothing is known yet.
    Start,
    /// Growing or falling delay.
    Delay,
    /// Packets that do not arrive.
    Loss,
    /// The receiver's own estimate.
    Remb,
    /// The receiver no longer reports.
    Silence,
}

/// The use of a path, as seen from delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// As much as is carried, or less.
    Normal,
    /// More: a queue grows.
    Over,
    /// Less: a queue drains.
    Under,
}

/// One track that a receiver gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Subscription {
    /// The id of the track.
    pub track: String,
    /// The identity of its publisher.
    pub publisher: String,
    /// Audio or video.
    pub kind: MediaKind,
    /// `camera`, `microphone`, `screen_share` or `screen_share_audio`, as the publisher says.
    pub source: String,
    /// `sent`, or the reason that it is not.
    pub state: SubscriptionState,
    /// The receiver's settings.
    pub wanted: Settings,
    /// Its publisher's rank among the speakers; `null` for a silent one.
    pub speaker: Option<u8>,
    /// The layer that it is granted.
    pub granted: Option<Target>,
    /// The layer that it is sent.
    pub current: Option<Target>,
    /// Whether it waits for a key frame.
    pub awaits_key_frame: bool,
    /// The layers that arrive at the server, the lowest first.
    pub arrives: Vec<Layer>,
}

/// Audio or video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// Sound.
    Audio,
    /// Pictures.
    Video,
}

/// Whether a subscription is sent, and the reason if it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionState {
    /// It is sent.
    Sent,
    /// It is not decided, or nothing arrives.
    Undecided,
    /// The downlink does not carry it.
    NoRoom,
    /// Other videos have the limited places.
    LeftOut,
    /// The track is held for all receivers.
    Held,
    /// It is not wanted.
    Disabled,
}

/// A receiver's settings of a subscription; `null` for no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Settings {
    /// The width it is shown at, in pixels; `null` where that is not known.
    pub width: Option<u16>,
    /// The height it is shown at.
    pub height: Option<u16>,
    /// The most frames per second.
    pub fps: Option<u16>,
    /// Its priority among the receiver's subscriptions; the highest is served first.
    pub priority: u8,
    /// The best encoding.
    pub encoding_max: Option<u8>,
    /// The highest spatial layer.
    pub spatial_max: Option<u8>,
}

/// An encoding and the highest layer of it; `null` where nothing limits the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Target {
    /// In rising quality from 0.
    pub encoding: u8,
    /// The highest spatial layer.
    pub spatial: Option<u8>,
    /// The highest temporal layer.
    pub temporal: Option<u8>,
}

/// One layer that arrives at the server; 0 where a number is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Layer {
    /// Its encoding and layer.
    #[serde(flatten)]
    pub target: Target,
    /// The rate of its own packets.
    pub rate_bps: u64,
    /// In pixels.
    pub width: u16,
    /// In pixels.
    pub height: u16,
    /// Frames per second.
    pub fps: u16,
}

impl Limit {
    /// Its name in labels and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Start => "start",
            Limit::Delay => "delay",
            Limit::Loss => "loss",
            Limit::Remb => "remb",
            Limit::Silence => "silence",
        }
    }
}

impl MediaKind {
    /// Its name in labels and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            MediaKind::Audio => "audio",
            MediaKind::Video => "video",
        }
    }
}

impl SubscriptionState {
    /// Its name in labels and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            SubscriptionState::Sent => "sent",
            SubscriptionState::Undecided => "undecided",
            SubscriptionState::NoRoom => "no_room",
            SubscriptionState::LeftOut => "left_out",
            SubscriptionState::Held => "held",
            SubscriptionState::Disabled => "disabled",
        }
    }
}
