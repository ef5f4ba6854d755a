//! The use of a media section.

use serde::{Deserialize, Serialize};
use southbound::{SubscriptionId, TrackId};
use wire::sdp::{Format, Msid};
use wire::{Codec, Ssrc};

use crate::negotiation::codecs::AudioWish;

/// The use of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Usage {
    /// Media, in one direction or in both.
    Media(Sides),
    /// Data channels.
    Data,
    /// Refused, or closed by the peer for good.
    Rejected,
}

/// The two directions of a media section. They are independent of each other: a client on pion
/// publishes on a section that it receives on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sides {
    pub(crate) up: Up,
    pub(crate) down: Down,
}

/// The media that the peer sends on a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Up {
    #[default]
    Nothing,
    /// Something it has not announced yet.
    Unclaimed,
    /// Something it may not send.
    Forbidden,
    Track(Uplink),
}

/// The media that the peer gets on a section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Down {
    /// Nothing; a subscription may take it.
    #[default]
    Idle,
    Track(Downlink),
    /// A track that has ended. One description must say that nothing is sent before the section
    /// carries another: a browser that never hears of the end does not notice the change.
    Releasing {
        /// An offer that says so is out.
        told: bool,
    },
}

/// A track on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Uplink {
    #[serde(with = "crate::forms::track_id")]
    pub(crate) track: TrackId,
    pub(crate) audio: AudioWish,
    /// The codec its publisher asked for.
    #[serde(with = "crate::forms::codec_if_any")]
    pub(crate) codec: Option<Codec>,
}

/// A track on its way down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Downlink {
    #[serde(with = "crate::forms::subscription_id")]
    pub(crate) subscription: SubscriptionId,
    #[serde(with = "crate::forms::ssrc")]
    pub(crate) ssrc: Ssrc,
    #[serde(with = "crate::forms::ssrc")]
    pub(crate) repair: Ssrc,
    /// How the client finds the participant and the track.
    #[serde(with = "crate::forms::msid")]
    pub(crate) msid: Msid,
    /// Groups what is played in step: the publisher.
    pub(crate) cname: String,
    /// The track's id, for the client's map from media sections to tracks.
    pub(crate) track_sid: String,
    /// It may have two channels, which a receiver must be told to prepare for.
    pub(crate) stereo: bool,
    /// Its formats that receivers are offered only if they are sent.
    #[serde(with = "crate::forms::formats")]
    pub(crate) rare: Vec<Format>,
}
