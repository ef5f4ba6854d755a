//! Everybody in a room.

mod store;
mod unsaved;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;
use std::time::Instant;

use access::{Claims, ParticipantKind};
use slots::Account;
use southbound::{Command, Node, NodeId, TrackId};

use crate::context::{Context, Timer};
use crate::ids::{ParticipantKey, ParticipantRef, RoomKey};
use crate::limits::PARTICIPANTS_MAX;
use crate::participant::{Participant, Relocation, StoredBytes};
use crate::{Config, Counter, Notification, Output, RefusalReason, Request, Resume};

pub(in crate::room) use self::store::{STORE_FULL, list_len};
pub use self::unsaved::ParticipantChanges;
use self::unsaved::Unsaved;

/// A room of more participants than this is large.
const LARGE_FROM: usize = 50;

/// The participants of a room, in the order they joined.
pub(crate) struct Roster {
    room: RoomKey,
    participants: BTreeMap<ParticipantKey, Participant>,
    /// The nodes that they are on, with the number of those who are there.
    nodes: BTreeMap<NodeId, usize>,
    /// The most participants it takes, agents and recorders apart.
    participants_max: usize,
    /// Of what participants store beyond their shares.
    account: Account,
    /// Those who came, left, or may send other messages or on other transports than before.
    changed: BTreeSet<ParticipantKey>,
    unsaved: Unsaved,
}

impl Roster {
    pub(in crate::room) fn new(room: RoomKey, account: Account, participants_max: usize) -> Self {
        Self {
            room,
            participants: BTreeMap::new(),
            nodes: BTreeMap::new(),
            participants_max,
            account,
            changed: BTreeSet::new(),
            unsaved: Unsaved::default(),
        }
    }

    pub(crate) fn get(&self, key: ParticipantKey) -> Option<&Participant> {
        self.participants.get(&key)
    }

    pub(in crate::room) fn get_mut(&mut self, key: ParticipantKey) -> Option<&mut Participant> {
        self.unsaved.note(key);
        self.participants.get_mut(&key)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Participant> + Clone {
        self.participants.values()
    }

    pub(in crate::room) fn all_mut(&mut self) -> impl Iterator<Item = &mut Participant> {
        self.unsaved.note_all();
        self.participants.values_mut()
    }

    /// Everybody, for changes that are not saved.
    pub(in crate::room) fn all_in_passing(&mut self) -> impl Iterator<Item = &mut Participant> {
        self.participants.values_mut()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = ParticipantKey> {
        self.participants.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.participants.len()
    }

    /// Whether updates to everybody are batched.
    pub(in crate::room) fn is_large(&self) -> bool {
        self.participants.len() > LARGE_FROM
    }

    pub(in crate::room) fn insert(&mut self, mut participant: Participant) {
        participant.storage = StoredBytes::new(&self.account);
        participant.weigh();
        *self.nodes.entry(participant.media.node).or_default() += 1;
        self.changed.insert(participant.key);
        self.unsaved.note(participant.key);
        self.participants.insert(participant.key, participant);
    }

    pub(in crate::room) fn remove(&mut self, key: ParticipantKey) -> Option<Participant> {
        let removed = self.participants.remove(&key)?;
        self.changed.insert(key);
        self.unsaved.note_departure(&removed);
        for node in [Some(removed.media.node), removed.media.target()].into_iter().flatten() {
            self.leave_node(node);
        }
        Some(removed)
    }

    fn leave_node(&mut self, node: NodeId) {
        if let Some(there) = self.nodes.get_mut(&node) {
            *there -= 1;
        }
        self.nodes.retain(|_, there| *there > 0);
    }

    /// A participant is to move to another node: the room is there from now on.
    pub(in crate::room) fn expect(&mut self, key: ParticipantKey, to: NodeId, tell_at: Instant) {
        if let Some(participant) = self.get_mut(key) {
            participant.media.relocation = Some(Relocation::Prepared { to, tell_at });
            *self.nodes.entry(to).or_default() += 1;
        }
    }

    /// A participant is on the node that it was to move to. Returns that before and this one.
    pub(in crate::room) fn arrive(&mut self, key: ParticipantKey) -> Option<(NodeId, NodeId)> {
        let media = &mut self.get_mut(key)?.media;
        let to = media.target()?;
        let from = std::mem::replace(&mut media.node, to);
        media.relocation = None;
        self.leave_node(from);
        Some((from, to))
    }

    /// The endpoint of its messages may have to be another one.
    pub(in crate::room) fn note_change(&mut self, key: ParticipantKey) {
        self.changed.insert(key);
    }

    /// Those whose endpoints may have to be others.
    pub(in crate::room) fn take_changed(&mut self) -> BTreeSet<ParticipantKey> {
        std::mem::take(&mut self.changed)
    }

    pub(in crate::room) fn others(&self, key: ParticipantKey) -> Vec<ParticipantKey> {
        self.keys().filter(|other| *other != key).collect()
    }

    pub(crate) fn by_identity(&self, identity: &str) -> Option<ParticipantKey> {
        let found = self.all().find(|participant| participant.profile.identity == identity);
        found.map(|found| found.key)
    }

    pub(in crate::room) fn by_sid(&self, sid: &str) -> Option<ParticipantKey> {
        let found = self.all().find(|participant| participant.profile.sid == sid);
        found.map(|found| found.key)
    }

    /// The participant a client says it is, if it is still here and may be it.
    pub(crate) fn returning(&self, resume: &Resume) -> Option<ParticipantKey> {
        let found = self
            .all()
            .find(|participant| participant.profile.identity == resume.claims.identity())?;
        (found.profile.sid == resume.sid && found.media.mode == resume.mode).then_some(found.key)
    }

    /// The participant with this id of its stay.
    pub(crate) fn with_sid(&self, sid: &str) -> Option<ParticipantKey> {
        let found = self.all().find(|participant| participant.profile.sid == sid)?;
        Some(found.key)
    }

    pub(in crate::room) fn participant_ref(&self, participant: ParticipantKey) -> ParticipantRef {
        ParticipantRef {
            room: self.room,
            participant,
        }
    }

    pub(crate) fn room(&self) -> RoomKey {
        self.room
    }

    /// The timer of the room.
    pub(in crate::room) fn timer(&self) -> Timer {
        Timer::Room(self.room)
    }

    /// Whether nobody is here whom the room stays for.
    pub(in crate::room) fn is_deserted(&self) -> bool {
        self.all().all(Participant::is_dependent)
    }

    /// Whether somebody records, seen or not.
    pub(in crate::room) fn is_recorded(&self) -> bool {
        self.all()
            .any(|participant| participant.authorization.permission.recorder)
    }

    pub(in crate::room) fn participants_max(&self) -> usize {
        self.participants_max
    }

    /// Limits the room to so many participants, and to as many as the operator permits.
    pub(in crate::room) fn limit(&mut self, config: &Config, max: u32) {
        self.participants_max = (max as usize).min(config.participants_max);
    }

    /// Whether it takes nobody who is not in it. Agents and recorders do not count for the room's
    /// own limit, and are bounded together with all others.
    pub(crate) fn is_full(&self, config: &Config, is_dependent: bool) -> bool {
        let others = self.all().filter(|other| !other.is_dependent());
        self.participants.len() >= config.participants_max.max(PARTICIPANTS_MAX)
            || (!is_dependent && others.count() >= self.participants_max.min(config.participants_max))
    }

    /// The participant whose media should have connected longest ago, to be removed for somebody
    /// else. One that counts for the room's own limit gives way to another that does.
    pub(crate) fn unconnected(&self, now: Instant, is_dependent: bool) -> Option<ParticipantKey> {
        let alike = self
            .all()
            .filter(|participant| is_dependent || !participant.is_dependent());
        let idle = alike.filter_map(|participant| Some((participant.idle_since(now)?, participant.key)));
        idle.min().map(|(_, key)| key)
    }

    /// Whether the identity of a token is taken: an agent replaces no other participant, so that a
    /// worker cannot take somebody's place.
    pub(crate) fn is_taken(&self, claims: &Claims) -> bool {
        let mut same = self
            .all()
            .filter(|participant| participant.profile.identity == claims.identity());
        let is_agent = |claims: &Claims| claims.participant_kind() == ParticipantKind::Agent;
        is_agent(claims) && same.any(|participant| !is_agent(&participant.authorization.claims))
    }

    /// The nodes that its participants are on.
    pub(crate) fn nodes(&self) -> BTreeSet<NodeId> {
        self.nodes.keys().copied().collect()
    }

    /// Whether any of its participants are on a node.
    pub(in crate::room) fn is_on(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Whether its participants are on more than one node.
    pub(in crate::room) fn is_on_several_nodes(&self) -> bool {
        self.nodes.len() > 1
    }

    /// The node of a participant, while it is there.
    pub(in crate::room) fn node_of(&self, ctx: &Context<'_>, key: ParticipantKey) -> Option<Node> {
        let participant = self.get(key)?;
        ctx.core.nodes.get(participant.media.node).cloned()
    }

    /// Commands the node of a participant.
    pub(in crate::room) fn command(&self, ctx: &mut Context<'_>, key: ParticipantKey, command: Command) {
        if let Some(participant) = self.get(key) {
            ctx.command(participant.media.node, command);
        }
    }

    /// Commands the node that a track arrives at. Of one that is gone there is nothing to say.
    pub(in crate::room) fn command_about(&self, ctx: &mut Context<'_>, track: TrackId, command: Command) {
        if let Some(publisher) = ctx.core.index.tracks.get(&track).copied() {
            self.command(ctx, publisher.participant, command);
        }
    }

    /// Commands all nodes of the room.
    pub(in crate::room) fn command_all(&self, ctx: &mut Context<'_>, command: &Command) {
        for node in self.nodes.keys() {
            ctx.command(*node, command.clone());
        }
    }

    /// Tells a participant something, while it is there.
    pub(in crate::room) fn notify(&self, ctx: &mut Context<'_>, key: ParticipantKey, notification: Notification) {
        if let Some(participant) = self.get(key) {
            participant.notify(ctx, notification);
        }
    }

    /// Tells a client that a request is not granted.
    pub(in crate::room) fn refuse(
        &self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        reason: RefusalReason,
        message: &'static str,
        request: Request,
    ) {
        ctx.count(match reason {
            RefusalReason::NotFound => Counter::NotFound,
            RefusalReason::LimitExceeded => Counter::LimitExceeded,
            RefusalReason::NotAllowed
            | RefusalReason::UnsupportedType
            | RefusalReason::InvalidRequest
            | RefusalReason::InvalidHandle
            | RefusalReason::InvalidName
            | RefusalReason::DuplicateHandle
            | RefusalReason::DuplicateName => Counter::NotAllowed,
        });
        let refused = Notification::Refused {
            request,
            reason,
            message,
        };
        self.notify(ctx, key, refused);
    }
}

/// Tells several participants the same; those without a connection are left out.
pub(in crate::room) fn notify_many<'a>(
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

impl Index<ParticipantKey> for Roster {
    type Output = Participant;

    fn index(&self, key: ParticipantKey) -> &Participant {
        &self.participants[&key]
    }
}
