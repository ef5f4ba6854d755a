//! How often the way of a track is worked out in a large room.
//!
//! The work grows with the room, and each receiver that changes what it wants may change the way.
//! So in a large room a track has a pause after each time, and all changes of the pause are worked
//! out together at its end. The first receiver at a node waits for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use southbound::{NodeId, TrackId};

use super::Trunking;
use crate::Counter;
use crate::context::Context;
use crate::room::roster::Roster;

/// How long a track has a pause.
const PAUSE: Duration = Duration::from_millis(200);

/// The pauses of tracks.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the way of each track was worked out last, of those in a pause.
    last: BTreeMap<TrackId, Instant>,
    /// Tracks that have changed in their pause.
    deferred: BTreeSet<TrackId>,
    due: Option<Instant>,
}

impl Pace {
    pub(super) fn clear(&mut self) {
        self.deferred.clear();
    }
}

impl Trunking {
    /// Keeps changes of tracks that are in their pause for the end of it.
    pub(super) fn defer(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let (now, pace) = (ctx.now, &mut self.pace);
        pace.last.retain(|_, at| *at + PAUSE > now);
        if !roster.is_large() || pace.due.is_some_and(|due| due <= now) {
            pace.due = None;
            self.changed.append(&mut pace.deferred);
        }
        if !roster.is_large() {
            return;
        }
        let early = self.changed.iter().filter(|track| pace.last.contains_key(track));
        pace.deferred.extend(early.copied());
        self.changed.retain(|track| !pace.last.contains_key(track));
        if !pace.deferred.is_empty() && pace.due.is_none() {
            pace.due = Some(ctx.wake(PAUSE, roster.timer()));
        }
    }

    /// The way of a track is worked out now.
    pub(super) fn begin_pause(&mut self, ctx: &mut Context<'_>, track: TrackId) {
        ctx.count(Counter::TrunkNeeds);
        self.pace.last.insert(track, ctx.now);
        self.pace.deferred.remove(&track);
    }

    /// Whether a track, by the id that nodes know it by, is on its way to a node.
    pub(in crate::room) fn brings(&self, id: TrackId, to: NodeId) -> bool {
        self.routes.get(&id).is_some_and(|route| route.hops.contains_key(&to))
    }
}
