//! The temporal layers of a stream that are copied for each of its replicas.
//!
//! The target of a replica is what decides; packets outside it are left out in egress. A layer that
//! stays outside is not copied at all. It is copied again before the target is raised, and until
//! the target has been lower for [`LOWER_AFTER`], so that a number or a place never depends on the
//! order in which both change, and a target that changes to and fro moves no meeting.
//!
//! Numbers by an offset count each packet that is left out, so they need all copies.

use std::time::{Duration, Instant};

use dataplane::{LegId, ReplicaId, Rewriting, StreamKey};
use planning::Quality;

use super::meetings::Followers;
use super::publish::Touched;
use super::{Location, Rooms};
use crate::context::Context;
use crate::entry::{Key, Table};

/// A layer is no longer copied after the target has been lower for so long.
const LOWER_AFTER: Duration = Duration::from_secs(2);

/// The layers that are copied for a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopiedLayers {
    highest: Quality,
    /// Since when the target is lower.
    lower_since: Option<Instant>,
}

impl CopiedLayers {
    /// Those of a replica that begins with this target.
    pub(super) fn new(temporal: u8) -> Self {
        CopiedLayers {
            highest: quality(temporal),
            lower_since: None,
        }
    }

    /// The target is this.
    fn aim(&mut self, now: Instant, temporal: u8) {
        let wanted = quality(temporal);
        if wanted >= self.highest {
            self.highest = wanted;
            self.lower_since = None;
        } else if self.lower_since.is_none() {
            self.lower_since = Some(now);
        }
    }

    fn is_to_be_lowered(&self, now: Instant) -> bool {
        let lasts = |since| now.saturating_duration_since(since) >= LOWER_AFTER;
        self.lower_since.is_some_and(lasts)
    }
}

/// The quality of the planner that has all layers up to this.
fn quality(temporal: u8) -> Quality {
    match temporal {
        0 => Quality::Low,
        1 => Quality::Medium,
        _ => Quality::High,
    }
}

impl Rooms {
    /// A replica has another target.
    pub(super) fn aim(&mut self, now: Instant, id: ReplicaId) {
        let Some(row) = self.replicas.get_mut(id) else { return };
        if let Location::Switch(on_switch) = &mut row.location {
            on_switch.copied.aim(now, row.replica.target.temporal);
            if on_switch.copied.lower_since.is_some() {
                self.lowering.insert(id);
            }
        }
    }

    /// Has layers no longer copied that have been outside of targets for a while.
    pub(super) fn lower_layers(&mut self, context: &mut Context<'_>) {
        self.meetings.tick(context);
        let mut touched = Touched::default();
        let replicas = &mut self.replicas;
        self.lowering.retain(|id| {
            let Some(row) = replicas.get_mut(*id) else { return false };
            let Location::Switch(on_switch) = &mut row.location else {
                return false;
            };
            let copied = &mut on_switch.copied;
            if !copied.is_to_be_lowered(context.now) || !is_written(context, on_switch.entries.keys()) {
                return copied.lower_since.is_some();
            }
            *copied = CopiedLayers::new(row.replica.target.temporal);
            touched.streams.extend(row.replica.source);
            false
        });
        self.publish(context, touched);
    }

    /// The legs that get a stream from the switch, with the layers that are copied for each.
    pub(super) fn followers_on_switch(&self, key: StreamKey) -> Followers {
        let is_described = self.is_stream_described(key);
        let followers = self.followers(key).into_iter();
        let here = followers.filter_map(|id| {
            let row = self.replicas.get(id)?;
            let copied = self.on_switch(id)?.copied;
            let quality = match row.replica.rewriting {
                _ if !is_described => None,
                Rewriting::LowMemory | Rewriting::LowRetransmission => Some(copied.highest),
                Rewriting::Exact => Some(Quality::High),
            };
            Some((row.replica.leg, quality))
        });
        here.collect::<std::collections::BTreeMap<LegId, _>>()
    }

    /// Has the meetings in a tree that the switch has no room for do without trees of layers.
    pub(super) fn simplify(&mut self, context: &mut Context<'_>, number: u16) -> bool {
        let legs = self.meetings.trees.owners(number);
        let is_done = self.meetings.simplify(context.now, legs);
        self.publish(context, Touched::default());
        is_done
    }

    /// The same by an entry of a stream's layer.
    pub(super) fn simplify_stream(&mut self, context: &mut Context<'_>, key: &Key) -> bool {
        let stream = self.by_number.get(&(key.field(0) as u32));
        let leg = stream.map(|stream| stream.leg);
        let is_done = self.meetings.simplify(context.now, leg);
        self.publish(context, Touched::default());
        is_done
    }
}

fn is_written<'a>(context: &Context<'_>, keys: impl IntoIterator<Item = &'a Key>) -> bool {
    let mut places = keys.into_iter().filter(|key| key.table() == Some(Table::Replica));
    places.all(|key| context.writer.is_written(key))
}
