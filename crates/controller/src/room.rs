//! One room: who is in it and who gets what from whom.

pub(crate) mod data;
mod events;
mod lifetime;
mod membership;
mod negotiating;
mod notices;
mod publishing;
mod quality;
mod requests;
mod speaking;
pub(in crate::room) mod store;
mod subscribing;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use access::{Claims, ParticipantKind};
use southbound::{Command, Node, NodeId, TrackId};

use self::data::{Calls, DataTracks};
pub(crate) use self::lifetime::Lifetime;
use self::membership::Membership;
use self::speaking::Speaking;
pub(crate) use self::store::texts_len;
use crate::context::{Context, ParticipantRef, Timer};
use crate::ids::{ParticipantKey, RoomKey};
use crate::limits::PARTICIPANTS_MAX;
use crate::participant::Participant;
use crate::{Config, Notification, Output, RoomInfo};

/// One room.
pub(crate) struct Room {
    pub(crate) key: RoomKey,
    pub(crate) name: String,
    /// The API key that it counts for.
    pub(crate) api_key: String,
    pub(crate) sid: String,
    pub(crate) participants: BTreeMap<ParticipantKey, Participant>,
    /// Tracks by their ids.
    track_sids: BTreeMap<String, (ParticipantKey, TrackId)>,
    /// When the last participant left; `None` while somebody is there. Agents and recorders do not
    /// count.
    pub(crate) empty_since: Option<Instant>,
    /// Since 1970-01-01 UTC.
    created: Duration,
    pub(crate) metadata: String,
    metadata_held: slots::Held,
    /// Of what it keeps beyond the shares of its participants.
    account: slots::Account,
    /// Of the data packets that it keeps beyond the shares of its participants.
    data_account: slots::Account,
    pub(crate) lifetime: Lifetime,
    calls: Calls,
    data_tracks: DataTracks,
    membership: Membership,
    speaking: Speaking,
    pending: Pending,
}

/// Consequences of the input that is handled, each carried out once.
#[derive(Debug, Default)]
struct Pending {
    /// Participants whose subscriptions changed.
    negotiations: BTreeSet<ParticipantKey>,
    /// Tracks of which more or less may be wanted since.
    demands: BTreeSet<TrackId>,
    /// The participant that comes back and is still to hear how the others are now.
    returning: Option<ParticipantKey>,
    /// The participant that the input comes from.
    actor: Option<ParticipantKey>,
}

impl Room {
    pub(crate) fn new(ctx: &mut Context<'_>, name: String, api_key: &str) -> Self {
        let account = ctx.core.storage.account(api_key);
        let data_account = ctx.core.data_storage.account(api_key);
        Self {
            key: ctx.core.ids.room(),
            name,
            api_key: api_key.to_owned(),
            sid: ctx.core.random.sid("RM_"),
            participants: BTreeMap::new(),
            track_sids: BTreeMap::new(),
            empty_since: Some(ctx.now),
            created: ctx.unix(),
            metadata: String::new(),
            metadata_held: account.hold(),
            account,
            data_account,
            lifetime: Lifetime::of(&ctx.core.config),
            calls: Calls::default(),
            data_tracks: DataTracks::default(),
            membership: Membership::default(),
            speaking: Speaking::new(ctx.core.config.voices),
            pending: Pending::default(),
        }
    }

    /// Does what the input that was just handled made necessary: offers and requests for media
    /// sections, one for all changes, and word to publishers of what is wanted of them.
    pub(crate) fn settle(&mut self, ctx: &mut Context<'_>) {
        self.postpone(ctx);
        while let Some(key) = self.pending.negotiations.pop_first() {
            self.renegotiate(ctx, key);
        }
        while let Some(track) = self.pending.demands.pop_first() {
            self.tell_demand(ctx, track);
        }
    }

    pub(crate) fn info(&self) -> RoomInfo {
        let everybody = self.participants.values();
        let counted = everybody.clone().filter(|participant| !participant.is_dependent());
        let publishers = everybody.filter(|participant| participant.is_publisher());
        RoomInfo {
            sid: self.sid.clone(),
            name: self.name.clone(),
            empty_timeout: self.lifetime.empty_timeout,
            departure_timeout: self.lifetime.departure_timeout,
            max_participants: self.lifetime.participants_max as u32,
            created: self.created,
            metadata: self.metadata.clone(),
            num_participants: counted.count() as u32,
            num_publishers: publishers.count() as u32,
            active_recording: self.is_recorded(),
        }
    }

    /// Whether it takes nobody who is not in it. Agents and recorders do not count for the room's
    /// own limit, and are bounded together with all others.
    pub(crate) fn is_full(&self, config: &Config, is_dependent: bool) -> bool {
        let others = self.participants.values().filter(|other| !other.is_dependent());
        self.participants.len() >= config.participants_max.max(PARTICIPANTS_MAX)
            || (!is_dependent && others.count() >= self.lifetime.participants_max.min(config.participants_max))
    }

    /// Notes since when nobody is here whom the room stays for.
    fn review_emptiness(&mut self, ctx: &mut Context<'_>) {
        let is_empty = self.participants.values().all(Participant::is_dependent);
        match (is_empty, self.empty_since) {
            (true, None) => {
                self.empty_since = Some(ctx.now);
                ctx.wake(self.lifetime.grace(), Timer::Room(self.key));
            }
            (false, _) => {
                self.empty_since = None;
                self.lifetime.was_joined = true;
            }
            (true, Some(_)) => {}
        }
    }

    /// The participant whose media should have connected longest ago, to be removed for somebody
    /// else. One that counts for the room's own limit gives way to another that does.
    pub(crate) fn unconnected(&self, now: Instant, is_dependent: bool) -> Option<ParticipantKey> {
        let participants = self.participants.values();
        let alike = participants.filter(|participant| is_dependent || !participant.is_dependent());
        let idle = alike.filter_map(|participant| Some((participant.idle_since(now)?, participant.key)));
        idle.min().map(|(_, key)| key)
    }

    /// Whether the identity of a token is taken: an agent replaces no other participant, so that a
    /// worker cannot take somebody's place.
    pub(crate) fn is_taken(&self, claims: &Claims) -> bool {
        let participants = self.participants.values();
        let mut same = participants.filter(|participant| participant.identity == claims.identity());
        let is_agent = |claims: &Claims| claims.participant_kind() == ParticipantKind::Agent;
        is_agent(claims) && same.any(|participant| !is_agent(&participant.claims))
    }

    /// Whether somebody records, seen or not.
    fn is_recorded(&self) -> bool {
        self.participants
            .values()
            .any(|participant| participant.permission.recorder)
    }

    fn participant_ref(&self, participant: ParticipantKey) -> ParticipantRef {
        ParticipantRef {
            room: self.key,
            participant,
        }
    }

    /// The node that its participants are on, if there are any.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.participants.values().next().map(|participant| participant.node)
    }

    /// The node of a participant, while it is there.
    fn node_of(&self, ctx: &Context<'_>, key: ParticipantKey) -> Option<Node> {
        let participant = self.participants.get(&key)?;
        ctx.core.nodes.get(participant.node).cloned()
    }

    /// Commands the node of a participant.
    fn command(&self, ctx: &mut Context<'_>, key: ParticipantKey, command: Command) {
        if let Some(participant) = self.participants.get(&key) {
            ctx.command(participant.node, command);
        }
    }

    /// Commands the node that a track arrives at. Of one that is gone there is nothing to say.
    fn command_about(&self, ctx: &mut Context<'_>, track: TrackId, command: Command) {
        if let Some(publisher) = ctx.core.index.tracks.get(&track).copied() {
            self.command(ctx, publisher.participant, command);
        }
    }

    pub(crate) fn by_identity(&self, identity: &str) -> Option<ParticipantKey> {
        self.participants
            .values()
            .find(|participant| participant.identity == identity)
            .map(|found| found.key)
    }

    fn by_sid(&self, sid: &str) -> Option<ParticipantKey> {
        self.participants
            .values()
            .find(|participant| participant.sid == sid)
            .map(|found| found.key)
    }

    /// Tells several participants the same; those without a connection are left out.
    fn notify_many<'a>(
        &'a self,
        ctx: &mut Context<'_>,
        participants: impl Iterator<Item = &'a Participant>,
        notification: Notification,
    ) {
        let connections: Vec<_> = participants.filter_map(Participant::connection).collect();
        if !connections.is_empty() {
            ctx.out.push(Output::NotifyMany {
                connections,
                notification,
            });
        }
    }

    fn others(&self, key: ParticipantKey) -> Vec<ParticipantKey> {
        self.participants
            .keys()
            .copied()
            .filter(|other| *other != key)
            .collect()
    }
}
