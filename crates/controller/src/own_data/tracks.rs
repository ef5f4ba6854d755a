//! Data tracks that a participant publishes and receives.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use crate::DataTrackInfo;
use crate::limits::SUBSCRIPTIONS_MAX;

/// The data tracks that a participant publishes and receives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OwnDataTracks {
    /// The published ones with the handles that receivers know, by the handles that it knows.
    pub(crate) published: BTreeMap<u16, (u16, DataTrackInfo)>,
    /// Whether it subscribes to each without asking.
    wants_all: bool,
    /// The ones that it subscribed to.
    wanted: BTreeSet<u16>,
    /// The ones of these that it was told the handles of, and is sent.
    received: BTreeSet<u16>,
    /// The ones of these that it was told it may not have.
    denied: BTreeSet<u16>,
}

impl OwnDataTracks {
    pub(crate) fn new(wants_all: bool) -> Self {
        Self {
            wants_all,
            ..Self::default()
        }
    }

    /// Whether it subscribes to each track without asking.
    pub(crate) fn wants_all(&self) -> bool {
        self.wants_all
    }

    /// The handles of the tracks that it subscribed to.
    pub(crate) fn wanted(&self) -> &BTreeSet<u16> {
        &self.wanted
    }

    /// The handles of the tracks that it is sent.
    pub(crate) fn received(&self) -> &BTreeSet<u16> {
        &self.received
    }

    /// The handles of the tracks that it was told it may not have.
    pub(crate) fn denied(&self) -> &BTreeSet<u16> {
        &self.denied
    }

    /// Subscribes to a track; `false` if there are too many.
    pub(crate) fn want(&mut self, handle: u16) -> bool {
        let fits = self.wanted.len() < SUBSCRIPTIONS_MAX;
        if fits {
            self.wanted.insert(handle);
        }
        fits
    }

    /// Ends the subscription to a track.
    pub(crate) fn unwant(&mut self, handle: u16) {
        self.wanted.remove(&handle);
    }

    /// Ends the subscriptions to tracks that are gone.
    pub(crate) fn forget(&mut self, gone: &[u16]) {
        self.wanted.retain(|wanted| !gone.contains(wanted));
    }

    /// Takes which of the tracks that it subscribed to it is sent, and which it may not have.
    /// Returns those that it was sent before.
    pub(crate) fn settle(&mut self, received: BTreeSet<u16>, denied: BTreeSet<u16>) -> BTreeSet<u16> {
        self.denied = denied;
        std::mem::replace(&mut self.received, received)
    }
}
