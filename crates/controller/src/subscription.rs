//! One participant's wishes for tracks.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use southbound::{SubscriptionId, SubscriptionSettings, TrackId};
use wire::{MediaKind, Mid};

use crate::ids::ParticipantKey;
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::track::{Limit, PublicationMedia, Version};
use crate::{TrackSettings, VideoQuality};

/// One participant's wish for one track.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) id: SubscriptionId,
    pub(crate) track: TrackId,
    pub(crate) publisher: ParticipantKey,
    pub(crate) kind: MediaKind,
    pub(crate) settings: Settings,
    pub(crate) state: SubscriptionState,
    /// The receiver's downlink does not carry it now.
    pub(crate) paused: bool,
}

impl Subscription {
    /// The codec it is for: the track's first, as long as nothing speaks against it.
    pub(crate) fn version(&self) -> Version {
        match self.state {
            SubscriptionState::Active(_, version) => version,
            SubscriptionState::Awaiting(_) => Version::Backup,
            SubscriptionState::Waiting | SubscriptionState::Offered(_) => Version::Primary,
        }
    }
}

/// The subscriptions of one participant, at most one for a track, and its wishes for tracks.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_id: BTreeMap<SubscriptionId, Subscription>,
    by_track: BTreeMap<TrackId, SubscriptionId>,
    /// It wants each track without asking.
    automatic: bool,
    /// Tracks it asked for, or asked not to have, by the track's id.
    wishes: BTreeMap<String, bool>,
    /// Tracks of others that it was told it may not have.
    denied: BTreeSet<TrackId>,
}

impl Subscriptions {
    /// None yet, of one that wants each track without asking, or of one that does not.
    pub(crate) fn new(automatic: bool) -> Self {
        Self {
            automatic,
            ..Self::default()
        }
    }

    /// Whether the participant wants each track without asking.
    pub(crate) fn are_automatic(&self) -> bool {
        self.automatic
    }

    /// Whether the participant wants a track.
    pub(crate) fn wants(&self, track_sid: &str) -> bool {
        self.wishes.get(track_sid).copied().unwrap_or(self.automatic)
    }

    /// The wishes of the participant, by the tracks' ids.
    pub(crate) fn wishes(&self) -> &BTreeMap<String, bool> {
        &self.wishes
    }

    /// The tracks that the participant was told it may not have.
    pub(crate) fn denied(&self) -> impl Iterator<Item = TrackId> {
        self.denied.iter().copied()
    }

    /// Takes what the participant asked for of one track.
    pub(crate) fn wish(&mut self, track_sid: String, wanted: bool) {
        self.wishes.insert(track_sid, wanted);
    }

    /// Forgets what it asked for of tracks that are gone.
    pub(crate) fn retain_wishes(&mut self, is_there: impl Fn(&str) -> bool) {
        self.wishes.retain(|track_sid, _| is_there(track_sid));
    }

    /// Whether the participant was told that it may not have a track.
    pub(crate) fn is_denied(&self, track: TrackId) -> bool {
        self.denied.contains(&track)
    }

    /// The participant is told that it may not have a track; `false` if there are too many of them.
    pub(crate) fn deny(&mut self, track: TrackId) -> bool {
        let fits = self.denied.len() < SUBSCRIPTIONS_MAX;
        if fits {
            self.denied.insert(track);
        }
        fits
    }

    /// The participant takes a track as permitted.
    pub(crate) fn permit(&mut self, track: TrackId) {
        self.denied.remove(&track);
    }

    pub(crate) fn insert(&mut self, subscription: Subscription) {
        self.by_track.insert(subscription.track, subscription.id);
        self.by_id.insert(subscription.id, subscription);
    }

    pub(crate) fn remove(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let removed = self.by_id.remove(&id)?;
        self.by_track.remove(&removed.track);
        Some(removed)
    }

    pub(crate) fn get(&self, id: SubscriptionId) -> Option<&Subscription> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: SubscriptionId) -> Option<&mut Subscription> {
        self.by_id.get_mut(&id)
    }

    /// The subscription to a track.
    pub(crate) fn to(&self, track: TrackId) -> Option<&Subscription> {
        self.by_id.get(self.by_track.get(&track)?)
    }

    pub(crate) fn to_mut(&mut self, track: TrackId) -> Option<&mut Subscription> {
        self.by_id.get_mut(self.by_track.get(&track)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.by_id.values()
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Subscription> {
        self.iter()
            .filter(|subscription| subscription.state == SubscriptionState::Waiting)
    }

    /// Whether anything of this participant is received, or will be.
    pub(crate) fn include(&self, publisher: ParticipantKey) -> bool {
        self.iter().any(|subscription| subscription.publisher == publisher)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }
}

/// How far a subscription has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SubscriptionState {
    /// It has no media section yet.
    Waiting,
    /// It has a media section that the receiver has not agreed to yet.
    Offered(#[serde(with = "crate::forms::mid")] Mid),
    /// Its receiver needs the track's second codec, which has not come yet.
    Awaiting(#[serde(with = "crate::forms::mid")] Mid),
    /// The agent sends it.
    Active(#[serde(with = "crate::forms::mid")] Mid, Version),
}

/// How a receiver wants a track; the default is as good as possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    disabled: bool,
    limit: Limit,
    /// Pictures per second beyond which nothing is gained; 0 for no limit.
    fps: u16,
    /// How much more it matters than others; 0 is what most have.
    priority: u8,
}

/// Priorities a client can tell apart. It counts them from 1, the highest.
const PRIORITIES: u32 = 10;

impl Settings {
    pub(crate) fn from_request(request: &TrackSettings) -> Self {
        let limit = match (request.width, request.height) {
            (0, _) | (_, 0) => Limit::Quality(request.quality),
            (width, height) => Limit::Size { width, height },
        };
        let priority = match request.priority {
            0 => 0,
            place => PRIORITIES.saturating_sub(place),
        };
        Self {
            disabled: request.disabled || limit == Limit::Quality(VideoQuality::Off),
            limit,
            fps: request.fps.try_into().unwrap_or(u16::MAX),
            priority: priority as u8,
        }
    }

    pub(crate) fn disabled() -> Self {
        Self {
            disabled: true,
            ..Self::default()
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        !self.disabled
    }

    /// In the terms of the agent.
    pub(crate) fn wanted(&self, media: &PublicationMedia) -> SubscriptionSettings {
        let size = match self.limit {
            Limit::Size { width, height } => (clamp(width), clamp(height)),
            Limit::None | Limit::Quality(_) => (0, 0),
        };
        let (encoding_max, spatial_max) = media.limits(self.limit);
        SubscriptionSettings {
            enabled: !self.disabled,
            size,
            fps: self.fps,
            priority: self.priority,
            encoding_max,
            encoding_exact: false,
            spatial_max,
        }
    }
}

fn clamp(pixels: u32) -> u16 {
    pixels.try_into().unwrap_or(u16::MAX)
}
