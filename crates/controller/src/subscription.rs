//! One participant's wish for one track.

use livekit_protocol::{UpdateTrackSettings, VideoQuality};
use southbound::{SubscriptionId, TrackId, Wanted};
use wire::{MediaKind, Mid};

use crate::ids::ParticipantKey;
use crate::track::Track;

/// One participant's wish for one track.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) id: SubscriptionId,
    pub(crate) track: TrackId,
    pub(crate) publisher: ParticipantKey,
    pub(crate) kind: MediaKind,
    pub(crate) settings: Settings,
    pub(crate) state: SubscriptionState,
}

/// How far a subscription has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionState {
    /// It has no media section yet.
    Waiting,
    /// It has a media section that the receiver has not agreed to yet.
    Offered(Mid),
    /// The agent sends it.
    Active(Mid),
}

/// How a receiver wants a track; the default is as good as possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    disabled: bool,
    limit: Limit,
}

/// How good is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    #[default]
    None,
    Quality(VideoQuality),
    /// The size it is shown at, in pixels.
    Size {
        width: u32,
        height: u32,
    },
}

impl Settings {
    pub(crate) fn from_request(request: &UpdateTrackSettings) -> Self {
        let limit = match (request.width, request.height) {
            (0, _) | (_, 0) => Limit::Quality(request.quality()),
            (width, height) => Limit::Size { width, height },
        };
        Self {
            disabled: request.disabled || limit == Limit::Quality(VideoQuality::Off),
            limit,
        }
    }

    pub(crate) fn disabled() -> Self {
        Self {
            disabled: true,
            limit: Limit::None,
        }
    }

    /// In the terms of the agent.
    pub(crate) fn wanted(&self, track: &Track) -> Wanted {
        Wanted {
            enabled: !self.disabled,
            encoding_max: match self.limit {
                Limit::None => track.encoding_for_quality(VideoQuality::High),
                Limit::Quality(quality) => track.encoding_for_quality(quality),
                Limit::Size { width, height } => track.encoding_for_size(width, height),
            },
        }
    }
}
