//! The move of a participant to another media node, while its media flows.
//!
//! 1. Trunks to the other node are opened, and what the participant receives crosses to it. The key
//!    frames that this costs are over before others are needed.
//! 2. Its client is told to come back to the same session.
//! 3. The client comes back, and restarts ICE as it does after a broken connection. Its transports
//!    are made at the other node now, and the description names that node. Its tracks, and those
//!    that it receives, are there before it connects.
//! 4. When the transports at the other node have connected, those before are closed.
//!
//! The client has to arrive in a bounded time, or it joins again.

use operator::Observation;
use southbound::{Channel, Command, NodeId, TransportId};
use wire::sdp::SessionDescription;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{MOVE_PREPARATION, MOVE_TIMEOUT};
use crate::participant::{Link, Participant, Relocation};
use crate::room::Room;
use crate::room::data::{DATA_TRACK, LOSSY, RELIABLE, channel};
use crate::room::roster::Roster;
use crate::room::subscribing::deliver::send_subscription;
use crate::room::timeline;
use crate::subscription::SubscriptionState;
use crate::{EndAction, EndReason, Notification, ParticipantState};

/// Has a participant move to another node.
pub(crate) fn begin_move(room: &mut Room, ctx: &mut Context<'_>, key: ParticipantKey, to: NodeId) {
    let participant_ref = room.roster.participant_ref(key);
    let tell_at = ctx.wake(MOVE_PREPARATION, Timer::Participant(participant_ref));
    if let Some(participant) = room.roster.get(key) {
        timeline::observe(ctx, participant, Observation::Move);
    }
    room.roster.expect(key, to, tell_at);
    note_tracks(room, key);
    room.subscribers.trunking.open_ahead(ctx, &room.roster, to);
}

/// Tells the client of a participant to come back, if it is prepared to move.
pub(in crate::room) fn call_back(room: &mut Room, ctx: &mut Context<'_>, key: ParticipantKey) {
    let participant_ref = room.roster.participant_ref(key);
    let Some(participant) = room.roster.get_mut(key) else {
        return;
    };
    let Some(Relocation::Prepared { to, tell_at }) = participant.media.relocation else {
        return;
    };
    if tell_at > ctx.now {
        return;
    }
    let until = ctx.wake(MOVE_TIMEOUT, Timer::Participant(participant_ref));
    participant.media.relocation = Some(Relocation::Awaited { to, until });
    let (reason, action) = (EndReason::Migration, EndAction::Resume);
    participant.notify(ctx, Notification::Ended { reason, action });
}

/// The client of a participant that is to move has come back. Returns whether there is one.
pub(in crate::room) fn returned(room: &mut Room, ctx: &mut Context<'_>, key: ParticipantKey) -> bool {
    let Some(participant) = room.roster.get_mut(key) else {
        return false;
    };
    let Some(Relocation::Awaited { to, until }) = participant.media.relocation else {
        return false;
    };
    participant.media.relocation = Some(Relocation::Returned { to, until });
    // Its client restarts ICE of what it publishes on, or it has nothing of the kind.
    if participant.media.publisher.is_none() {
        relocate(room, ctx, key);
    }
    true
}

/// A client offers. If it is to move and restarts ICE, it moves now. Returns the node that it
/// leaves then.
pub(in crate::room) fn relocate_by(
    room: &mut Room,
    ctx: &mut Context<'_>,
    key: ParticipantKey,
    offer: &SessionDescription,
) -> Option<NodeId> {
    let media = &room.roster.get(key)?.media;
    let from = media.node;
    let restarts = media.publisher.as_ref().is_some_and(|peer| peer.is_restarted_by(offer));
    let is_due = matches!(media.relocation, Some(Relocation::Returned { .. }));
    (is_due && restarts).then(|| {
        relocate(room, ctx, key);
        from
    })
}

/// Makes the transports of a participant at the other node.
fn relocate(room: &mut Room, ctx: &mut Context<'_>, key: ParticipantKey) {
    let participant_ref = room.roster.participant_ref(key);
    let until = ctx.wake(MOVE_TIMEOUT, Timer::Participant(participant_ref));
    let Some((from, to)) = room.roster.arrive(key) else {
        return;
    };
    let Some(participant) = room.roster.get_mut(key) else {
        return;
    };
    ctx.core.nodes.participant_left(from);
    ctx.core.nodes.participant_joined(to);
    let own = std::mem::take(&mut participant.media.channels);
    let publisher = participant.media.publisher.as_ref().map(|peer| peer.transport);
    let (mut awaited, mut left) = (Vec::new(), Vec::new());
    let media = &mut participant.media;
    for peer in media.publisher.iter_mut().chain(&mut media.subscriber) {
        let channels = match Some(peer.transport) == publisher && !own.is_empty() {
            true => own.clone(),
            false => peer.known_channels(),
        };
        let transport = ctx.core.ids.transport();
        let before = peer.move_to(transport, &mut ctx.core.random, channels);
        ctx.core.index.transports.remove(&before);
        ctx.core.index.transports.insert(transport, participant_ref);
        ctx.command(to, peer.open());
        if let limit @ Some(_) = peer.downlink_limit {
            ctx.command(to, Command::SetDownlinkLimit { transport, limit });
        }
        awaited.push(transport);
        left.push((from, before));
    }
    if let Some(peer) = &mut media.subscriber {
        // The answer to an offer that was out is about the node before.
        peer.offering.pending = None;
        peer.offering.needed = true;
    }
    media.relocation = Some(Relocation::Connecting { awaited, left, until });
    room.subscribers.negotiate(key);
    room.roster.note_change(key);
    note_tracks(room, key);
}

/// A transport has connected. When all of a participant that has moved have, those before are
/// closed.
pub(in crate::room) fn note_connected(
    room: &mut Room,
    ctx: &mut Context<'_>,
    key: ParticipantKey,
    transport: TransportId,
) {
    let found = room.roster.get_mut(key);
    let Some(relocation) = found.and_then(|found| found.media.relocation.as_mut()) else {
        return;
    };
    if let Relocation::Connecting { awaited, left, .. } = relocation {
        awaited.retain(|it| *it != transport);
        if awaited.is_empty() {
            close(ctx, left);
            if let Some(participant) = room.roster.get_mut(key) {
                participant.media.relocation = None;
            }
        }
    }
}

/// The tracks of a participant, and those that it receives, may go other ways.
fn note_tracks(room: &mut Room, key: ParticipantKey) {
    let Some(participant) = room.roster.get(key) else {
        return;
    };
    let received = participant.subscriptions.iter().map(|subscription| subscription.track);
    for track in participant.publications.tracks.keys().copied().chain(received) {
        room.subscribers.demand(track);
    }
}

/// Closes the transports that a participant has left.
pub(in crate::room) fn close(ctx: &mut Context<'_>, left: &[(NodeId, TransportId)]) {
    for (node, transport) in left {
        let transport = *transport;
        ctx.command(*node, Command::Close { transport });
    }
}

/// Whether a participant can move, as opposed to joining again: its client knows how to, and its
/// media flows.
pub(crate) fn can_move(participant: &Participant) -> bool {
    participant.client.traits.can_move
        && participant.profile.state == ParticipantState::Active
        && matches!(participant.signalling.link(), Link::Attached(_))
        && participant.media.relocation.is_none()
        && participant.media.silent_since.is_none()
}

/// Sends what a participant receives over the transport that its client has just described, if that
/// is at another node than before.
pub(in crate::room) fn resend_moved(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let peer = roster.get_mut(key).and_then(|found| found.media.downlink_mut());
    if !peer.is_some_and(|peer| peer.take_moved()) {
        return;
    }
    let subscriptions = roster[key].subscriptions.iter();
    let active = subscriptions.filter(|subscription| matches!(subscription.state, SubscriptionState::Active(..)));
    let active: Vec<_> = active.map(|subscription| subscription.id).collect();
    for id in active {
        send_subscription(ctx, roster, key, id);
    }
}

/// Notes the streams of the data channels that a client has opened, in case it moves.
pub(in crate::room) fn note_channels(roster: &mut Roster, key: ParticipantKey, channels: &[(String, u16)]) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(peer) = &participant.media.publisher else {
        return;
    };
    let known = [RELIABLE, LOSSY, DATA_TRACK].into_iter().filter_map(|label| {
        let is_open = peer.channels.iter().any(|open| **open == *label);
        let (_, stream) = channels.iter().find(|(said, _)| is_open && said == label)?;
        Some(Channel {
            stream: Some(*stream),
            ..channel(label)
        })
    });
    participant.media.channels = known.collect();
}
