//! The receivers that a participant's tracks are for.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The receivers that a participant's tracks are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TrackPermissions {
    #[default]
    Everybody,
    /// These, by identity: all tracks, or the ones listed by id.
    Only(BTreeMap<String, Option<BTreeSet<String>>>),
}

impl TrackPermissions {
    pub(crate) fn admits(&self, identity: &str, track_sid: &str) -> bool {
        match self {
            Self::Everybody => true,
            Self::Only(list) => match list.get(identity) {
                Some(Some(tracks)) => tracks.contains(track_sid),
                Some(None) => true,
                None => false,
            },
        }
    }
}
