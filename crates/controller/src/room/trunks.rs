//! Trunks between the nodes of a room, and receivers behind them.

use std::collections::BTreeSet;

use southbound::{NodeId, Notice, SubscriptionId, TrackId, TransportId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::Room;
use crate::room::roster::Roster;
use crate::room::subscribing::Subscribers;
use crate::room::subscribing::deliver::describe;
use crate::room::trunking::{NodePair, TrunkFailure, TrunkReport};
use crate::room::updates::Updates;

/// Takes a notice about a trunk. A paused encoding is the business of its nodes.
pub(crate) fn take_notice(room: &mut Room, ctx: &mut Context<'_>, notice: Notice) {
    let trunking = &mut room.subscribers.trunking;
    match notice {
        // Another trunk takes its place, with other keys: receivers go on with it, if it works.
        Notice::Disconnected { transport } => {
            if let Some(pair) = trunking.pair_of(transport) {
                trunking.replace(ctx, &room.roster, pair);
            }
        }
        Notice::Closed { transport, .. } => fail(room, ctx, transport, TrunkFailure::Closed),
        Notice::Connected { transport, .. } => trunking.note_end(transport, |end| end.is_connected = true),
        Notice::Quality { transport, quality } => trunking.note_end(transport, |end| end.quality = quality),
        _ => {}
    }
}

/// A trunk does not work any more, or never did.
pub(crate) fn fail(room: &mut Room, ctx: &mut Context<'_>, transport: TransportId, failure: TrunkFailure) {
    let Some(pair) = room.subscribers.trunking.pair_of(transport) else {
        return;
    };
    // Of one that has been open it is something else that a node refuses, such as a track.
    if failure == TrunkFailure::Refused && room.subscribers.trunking.is_connected(pair) {
        return;
    }
    end(room, ctx, pair);
    if failure == TrunkFailure::Refused {
        let timer = room.roster.timer();
        room.subscribers.trunking.refuse(ctx, timer, pair);
    }
}

pub(crate) fn has_trunk_to(room: &Room, node: NodeId) -> bool {
    room.subscribers.trunking.has_trunk_to(node)
}

/// A node is gone, and its ends of trunks.
pub(crate) fn lose_node(room: &mut Room, ctx: &mut Context<'_>, node: NodeId) {
    for pair in room.subscribers.trunking.pairs_with(node) {
        end(room, ctx, pair);
    }
}

/// The trunks of a room, for operators.
pub(crate) fn reports(room: &Room) -> impl Iterator<Item = TrunkReport> {
    room.subscribers.trunking.reports(room.profile.shared_name())
}

/// A track arrives differently than before, by the id that clients know: muted, for example.
pub(in crate::room) fn note_arrival_changed(room: &mut Room, track_sid: &str) {
    if let Some((_, track)) = room.publications.find(track_sid) {
        room.subscribers.trunking.note(track);
    }
}

fn end(room: &mut Room, ctx: &mut Context<'_>, pair: NodePair) {
    let Room {
        roster,
        updates,
        subscribers,
        ..
    } = room;
    let ended = subscribers.trunking.end_trunk(ctx, roster, pair);
    restart(subscribers, ctx, roster, updates, &ended);
}

/// Begins subscriptions anew that their node has ended, since numbers on their SSRCs cannot.
fn restart(
    subscribers: &mut Subscribers,
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    updates: &Updates,
    ended: &BTreeSet<(NodeId, TrackId)>,
) {
    let of_ended = roster.all().flat_map(|receiver| {
        let ids = receiver.subscriptions.iter().map(|subscription| subscription.id);
        let ended = ids.filter(|id| {
            let told = describe(roster, receiver.key, *id);
            told.is_some_and(|told| ended.contains(&(receiver.media.node, told.track)))
        });
        ended.map(|id| (receiver.key, id))
    });
    let of_ended: Vec<(ParticipantKey, SubscriptionId)> = of_ended.collect();
    for (receiver, id) in of_ended {
        subscribers.restart_subscription(ctx, roster, updates, receiver, id);
    }
}
