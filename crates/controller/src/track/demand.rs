//! How much of a video is wanted.

use serde::{Deserialize, Serialize};
use std::time::Instant;

use super::codec_version::Version;
use crate::VideoQuality;

/// The best quality anybody wants of a video, in each of its codecs; `None` for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Demand {
    pub(crate) primary: Option<VideoQuality>,
    pub(crate) backup: Option<VideoQuality>,
}

/// The demand for a video that its publisher was last told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastSent {
    pub(crate) demand: Demand,
    /// When less may be asked for.
    pub(crate) falls_at: Option<Instant>,
}

impl Default for LastSent {
    /// Publishers begin with everything of their first codec, unasked.
    fn default() -> Self {
        let demand = Demand {
            primary: Some(VideoQuality::High),
            backup: None,
        };
        Self { demand, falls_at: None }
    }
}

impl Demand {
    /// Somebody wants this much, too.
    pub(crate) fn add(&mut self, version: Version, quality: VideoQuality) {
        let best = match version {
            Version::Primary => &mut self.primary,
            Version::Backup => &mut self.backup,
        };
        *best = (*best).max(Some(quality));
    }

    /// The more of each.
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self {
            primary: self.primary.max(other.primary),
            backup: self.backup.max(other.backup),
        }
    }
}
