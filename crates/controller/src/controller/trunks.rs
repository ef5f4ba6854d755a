//! Notices about trunks of rooms, and what operators see of them.

use std::time::Instant;

use southbound::{NodeId, Notice, TrackId, TransportId};

use super::Controller;
use crate::Output;
use crate::room::trunking::{TrunkFailure, TrunkReport};
use crate::room::trunks;

/// The trunks of all rooms of a controller.
pub fn trunks(controller: &Controller) -> impl Iterator<Item = TrunkReport> {
    controller.rooms.values().flat_map(trunks::reports)
}

/// Takes a notice about a trunk, or gives it back.
pub(super) fn take_notice(
    controller: &mut Controller,
    now: Instant,
    notice: Notice,
    out: &mut Vec<Output>,
) -> Option<Notice> {
    let index = &controller.core.index;
    let transport = match &notice {
        Notice::Connected { transport, .. }
        | Notice::Disconnected { transport }
        | Notice::Closed { transport, .. }
        | Notice::Quality { transport, .. } => *transport,
        Notice::SubscriptionStarted { subscription } | Notice::Paused { subscription, .. }
            if index.crossings.contains(subscription) =>
        {
            return None;
        }
        _ => return Some(notice),
    };
    let Some(key) = index.trunks.get(&transport).copied() else {
        return Some(notice);
    };
    match notice {
        Notice::Quality { .. } => {
            controller.with_room(now, key, out, |room, ctx| trunks::take_notice(room, ctx, notice));
        }
        _ => {
            controller.in_room(now, key, out, |room, ctx| trunks::take_notice(room, ctx, notice));
        }
    }
    None
}

/// A trunk does not work any more, or never did.
pub(super) fn fail(
    controller: &mut Controller,
    now: Instant,
    transport: TransportId,
    failure: TrunkFailure,
    out: &mut Vec<Output>,
) {
    if let Some(key) = controller.core.index.trunks.get(&transport).copied() {
        controller.in_room(now, key, out, |room, ctx| trunks::fail(room, ctx, transport, failure));
    }
}

/// A node is gone, and its ends of trunks.
pub(super) fn lose_node(controller: &mut Controller, now: Instant, node: NodeId, out: &mut Vec<Output>) {
    let rooms = controller.rooms.iter();
    let there = rooms.filter(|(_, room)| trunks::has_trunk_to(room, node));
    let there: Vec<_> = there.map(|(key, _)| *key).collect();
    for key in there {
        controller.in_room(now, key, out, |room, ctx| trunks::lose_node(room, ctx, node));
    }
}

/// Whether a track is published at another node than this one.
pub(super) fn is_elsewhere(controller: &Controller, track: TrackId, node: NodeId) -> bool {
    let publisher = controller.core.index.tracks.get(&track);
    publisher.is_some_and(|publisher| !controller.is_on(*publisher, node))
}
