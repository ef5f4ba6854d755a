//! Going on with a room that another controller served.

use std::time::Duration;

use operator::Observation;
use serde::{Deserialize, Serialize};
use southbound::{Command, NodeId};

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{CONNECT_TIMEOUT, RESUME_TIMEOUT, SILENCE_TIMEOUT};
use crate::participant::{Link, Participant};
use crate::room::speaking::Speaking;
use crate::room::subscribing::deliver::send_subscription;
use crate::room::trunking::SavedTrunking;
use crate::room::{Room, timeline};
use crate::{ConnectionId, CreateRoom, EndCause, Event, Output, ParticipantState};

/// A room without its participants, in a form that another process can go on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRoom {
    /// The id of this room among those of its name.
    pub sid: String,
    /// The API key that it counts for.
    pub api_key: String,
    /// When it was created, since 1970-01-01 UTC.
    pub created: Duration,
    /// The metadata that the application gave it.
    pub metadata: String,
    /// How long it stays while nobody has joined.
    pub empty_timeout: Duration,
    /// How long it stays after the last participant left.
    pub departure_timeout: Duration,
    /// Somebody has joined it.
    pub was_joined: bool,
    /// The most participants it takes.
    pub participants_max: u32,
    /// Trunks between its nodes, if there are several.
    #[serde(default, skip_serializing_if = "SavedTrunking::is_empty")]
    pub trunking: SavedTrunking,
}

/// The room without its participants.
pub(crate) fn save(room: &Room) -> SavedRoom {
    let info = room.info();
    SavedRoom {
        sid: info.sid,
        api_key: room.profile.api_key().to_owned(),
        created: info.created,
        metadata: info.metadata,
        empty_timeout: info.empty_timeout,
        departure_timeout: info.departure_timeout,
        was_joined: room.lifetime.was_joined(),
        participants_max: info.max_participants,
        trunking: room.subscribers.trunking.save(),
    }
}

/// Makes a new room the one that was saved, with everything that its participants publish and
/// receive. Their clients have no connection until they come back.
pub(crate) fn restore(room: &mut Room, ctx: &mut Context<'_>, saved: SavedRoom, participants: Vec<Participant>) {
    let times = CreateRoom {
        empty_timeout: Some(saved.empty_timeout),
        departure_timeout: Some(saved.departure_timeout),
        ..CreateRoom::default()
    };
    room.lifetime.restore(saved.was_joined);
    room.lifetime.set_up(ctx, room.roster.timer(), &times);
    room.roster.limit(&ctx.core.config, saved.participants_max);
    room.profile.restore(saved.sid, saved.created, saved.metadata);
    for participant in &participants {
        room.data.tracks.add_published(participant);
    }
    let places = participants.iter().map(|participant| &participant.data.endpoint);
    room.data.endpoints.restore(places);
    for participant in participants {
        take_over(room, ctx, participant);
    }
    room.subscribers.trunking.restore(ctx, &room.roster, saved.trunking);
    let is_deserted = room.roster.is_deserted();
    room.lifetime.review(ctx, room.roster.timer(), is_deserted);
    reconcile(room, ctx);
    room.updates.population_changed(ctx, &room.roster);
    room.speaking.begin_anew(ctx, &room.roster);
}

fn take_over(room: &mut Room, ctx: &mut Context<'_>, mut participant: Participant) {
    let key = participant.key;
    let participant_ref = room.roster.participant_ref(key);
    ctx.core.usage.participant_joined(&participant.authorization.api_key);
    ctx.core.nodes.participant_joined(participant.media.node);
    let index = &mut ctx.core.index;
    let transports = participant.media.peers().map(|peer| peer.transport);
    index.transports.extend(transports.map(|id| (id, participant_ref)));
    let subscriptions = participant.subscriptions.iter().map(|subscription| subscription.id);
    index
        .subscriptions
        .extend(subscriptions.map(|id| (id, participant_ref)));
    for track in participant.publications.tracks.values() {
        index.tracks.extend(track.ids().map(|id| (id, participant_ref)));
        room.publications.insert(track.sid(), key, track.id);
    }
    room.data.tracks.add_receiver(&participant);
    let last_sequence = participant.data.packets.last_sequence;
    participant.data.packets = room.data.state();
    participant.data.packets.last_sequence = last_sequence;
    let timer = Timer::Participant(participant_ref);
    if participant.profile.state != ParticipantState::Active {
        participant.signalling.deadlines.connect = Some(ctx.wake(CONNECT_TIMEOUT, timer));
    }
    ctx.wake(SILENCE_TIMEOUT, timer);
    ctx.wake(RESUME_TIMEOUT, timer);
    room.roster.insert(participant);
}

/// Ends subscriptions to tracks that are not there, and begins those that are missing. The
/// participants of a room are saved one after the other, so they may know of different moments.
fn reconcile(room: &mut Room, ctx: &mut Context<'_>) {
    let Room {
        roster,
        updates,
        subscribers,
        ..
    } = room;
    let receivers: Vec<_> = roster.keys().collect();
    for receiver in receivers {
        let subscriptions = roster[receiver].subscriptions.iter();
        let dangling: Vec<_> = subscriptions
            .filter(|subscription| {
                let publisher = roster.get(subscription.publisher);
                !publisher.is_some_and(|found| found.publications.tracks.contains_key(&subscription.track))
            })
            .map(|subscription| subscription.id)
            .collect();
        for id in dangling {
            subscribers.end_subscription(ctx, roster, receiver, id);
        }
        subscribers.subscribe_to_everybody(ctx, roster, updates, receiver);
    }
}

/// A participant has a connection again, over which nothing is said that its client did not ask
/// for.
pub(crate) fn attach(room: &mut Room, ctx: &mut Context<'_>, key: ParticipantKey, connection: ConnectionId) {
    let Some(participant) = room.roster.get_mut(key) else {
        return;
    };
    if let Link::Attached(connection) = participant.signalling.attach(connection) {
        let cause = EndCause::Replaced;
        ctx.out.push(Output::End { connection, cause });
    }
    timeline::observe(ctx, participant, Observation::Reconnect);
    ctx.event(Event::Resumed {
        room: room.profile.name().to_owned(),
        identity: participant.profile.identity.clone(),
        connection,
    });
    room.subscribers.negotiate(key);
}

/// Tells a node everything of the room again that it should have.
pub(crate) fn repeat(room: &mut Room, ctx: &mut Context<'_>, node: NodeId) {
    let roster = &room.roster;
    let there = || roster.all().filter(|participant| participant.media.node == node);
    for participant in there() {
        for peer in participant.media.peers() {
            let transport = peer.transport;
            ctx.command(node, peer.open());
            if let Some(connect) = peer.connect() {
                ctx.command(node, connect);
            }
            if let limit @ Some(_) = peer.downlink_limit {
                ctx.command(node, Command::SetDownlinkLimit { transport, limit });
            }
        }
        let tracks = participant.publications.tracks.values();
        for media in tracks.flat_map(|track| track.all_media()) {
            ctx.command(node, Command::Publish(media.publication.clone()));
        }
    }
    let trunking = &room.subscribers.trunking;
    trunking.repeat_trunks(ctx, node);
    trunking.repeat_publications(ctx, node);
    for participant in there() {
        for subscription in participant.subscriptions.iter() {
            send_subscription(ctx, roster, participant.key, subscription.id);
        }
    }
    trunking.repeat_subscriptions(ctx, node);
    room.data.endpoints.repeat(ctx, node);
    // The ranks and voices that the node knows may be others.
    room.speaking = Speaking::new(ctx.core.config.voices);
    room.speaking.begin_anew(ctx, roster);
}
