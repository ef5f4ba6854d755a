//! The media nodes of participants, and the way off a node that drains.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use southbound::NodeId;

use super::Controller;
use crate::context::{Core, Timer};
use crate::ids::{ParticipantKey, RoomKey};
use crate::limits::MOVING_MAX;
use crate::nodes::{Need, SMALL_ROOM_MAX};
use crate::participant::Participant;
use crate::room::Room;
use crate::room::moving::{begin_move, can_move};
use crate::{Config, Counter, EndAction, EndReason, NoNode, NodeStanding, Output, PinnedRooms};

/// How often participants leave a node that drains, at most.
const STEP_MIN: Duration = Duration::from_millis(100);

/// How often a node that drains is looked at while nobody can leave it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The media nodes of a controller, as far as they decide where participants are.
pub struct Placement<'a>(&'a mut Controller);

/// Participants of a room that leave a node together.
struct Party {
    room: RoomKey,
    members: Vec<ParticipantKey>,
    /// The room has nobody elsewhere.
    is_whole: bool,
    /// They move. Others join again.
    can_move: bool,
}

/// The participants of a node that drains.
#[derive(Default)]
struct Leavers {
    /// Those who can leave, the next ones first.
    parties: Vec<Party>,
    /// Those who are on their way.
    moving: usize,
    /// All who are there.
    here: usize,
}

/// The nodes of a room that somebody joins.
#[derive(Default)]
struct There {
    on: BTreeSet<NodeId>,
    participants: usize,
    /// That of the participant of the same identity.
    replaced_on: Option<NodeId>,
}

impl There {
    fn of(room: Option<&Room>, identity: &str) -> Self {
        let Some(roster) = room.map(Room::roster) else {
            return Self::default();
        };
        let replaced = roster.by_identity(identity).and_then(|key| roster.get(key));
        Self {
            on: roster.nodes(),
            participants: roster.len(),
            replaced_on: replaced.map(|participant| participant.media.node),
        }
    }
}

fn need<'a>(config: &'a Config, room: &str, region: Option<&'a str>, there: &'a There) -> Need<'a> {
    Need {
        pinned: config.regions_of(room),
        region,
        on: &there.on,
        participants: there.participants,
        replaced_on: there.replaced_on,
    }
}

/// Whether a media node takes somebody of this identity who joins a room.
///
/// Errors: the reason why there is none.
pub(super) fn check(rooms: &Controller, room: &str, identity: &str) -> Result<(), NoNode> {
    let there = There::of(rooms.named(room), identity);
    rooms.core.nodes.check(&need(&rooms.core.config, room, None, &there))
}

impl Controller {
    /// The media nodes that participants may be on.
    pub fn placement(&mut self) -> Placement<'_> {
        Placement(self)
    }
}

impl Placement<'_> {
    /// The media node for somebody of this identity and of a region who joins a room.
    ///
    /// Errors: the reason why there is none.
    pub(super) fn place(&mut self, room: &str, identity: &str, region: Option<&str>) -> Result<NodeId, NoNode> {
        let there = There::of(self.0.named(room), identity);
        let Core {
            config, nodes, random, ..
        } = &mut self.0.core;
        let node = nodes.place(&need(config, room, region, &there), random)?;
        nodes.placed(node);
        Ok(node)
    }

    /// Has the rooms be in these regions from now on. Participants stay where they are.
    pub fn set_pinned(&mut self, pinned: Vec<PinnedRooms>) {
        self.0.core.config.pinned = pinned;
    }

    /// Notes the standing of a node that has said where it is. Newcomers are placed by it, and the
    /// participants of one that drains leave it.
    pub fn set_standing(&mut self, now: Instant, node: NodeId, standing: NodeStanding) {
        if self.0.core.nodes.set_standing(now, node, standing) {
            self.0.core.timers.insert(now, Timer::Node(node));
        }
    }

    /// Has participants leave a node that drains, as many as are due, spread over the time that is
    /// left. Those whose clients can do it move one after the other while their media flows, few at
    /// a time. The others join again, and are placed as newcomers: those of a small room at once,
    /// those of a large one one after the other. Rooms that are on other nodes already go first.
    ///
    /// Nobody leaves whom no other node takes: the calls may end before the node does. When the
    /// time is over, those who are left join again.
    pub(super) fn leave(&mut self, now: Instant, node: NodeId, out: &mut Vec<Output>) {
        let Some(until) = self.0.core.nodes.empty_at(node) else {
            return;
        };
        let Leavers { parties, moving, here } = Leavers::of(self.0, node);
        if parties.is_empty() {
            if here > moving {
                self.0.core.nodes.postpone(node, LOOK_EVERY);
            }
            return self.0.core.timers.insert(now + LOOK_EVERY, Timer::Node(node));
        }
        let left = until.saturating_duration_since(now);
        let due = match left.is_zero() {
            true => here,
            false => here * STEP_MIN.as_millis() as usize / left.as_millis().max(1) as usize,
        };
        let (mut gone, mut moving) = (0, moving);
        for party in parties {
            if party.can_move && !left.is_zero() {
                if moving >= MOVING_MAX {
                    continue;
                }
                moving += 1;
            }
            gone += party.members.len();
            for participant in &party.members {
                out.push(Output::Count(Counter::MovedParticipant));
                let to = (party.can_move && !left.is_zero())
                    .then(|| self.next_node(party.room, *participant, node))
                    .flatten();
                self.0.in_room(now, party.room, out, |room, ctx| match to {
                    Some(to) => begin_move(room, ctx, *participant, to),
                    None => room.dismiss(ctx, *participant, EndReason::Migration, EndAction::Reconnect),
                });
            }
            if gone >= due.max(1) {
                break;
            }
        }
        let pause = left * gone as u32 / here.max(1) as u32;
        let next = now + pause.clamp(STEP_MIN, LOOK_EVERY.max(left));
        self.0.core.timers.insert(next, Timer::Node(node));
    }

    /// The node that a participant moves to, of the region that it is in; `None` if it has to join
    /// again.
    fn next_node(&mut self, room: RoomKey, participant: ParticipantKey, from: NodeId) -> Option<NodeId> {
        let found = self.0.rooms.get(&room)?;
        let name = found.profile().shared_name();
        let identity = found.roster().get(participant)?.profile.identity.clone();
        let region = self.0.core.nodes.region_of(from);
        let to = self.place(&name, &identity, region.as_deref()).ok()?;
        self.0.core.nodes.takes_moves(to).then_some(to)
    }
}

impl Leavers {
    /// Those who can leave a node, in the order in which they do.
    fn of(controller: &Controller, node: NodeId) -> Self {
        let mut leavers = Self::default();
        for (key, room) in &controller.rooms {
            let roster = room.roster();
            let members = roster.all().filter(|participant| participant.media.node == node);
            let (moving, members): (Vec<_>, Vec<_>) =
                members.partition(|participant| participant.media.relocation.is_some());
            leavers.here += moving.len() + members.len();
            leavers.moving += moving.len();
            // A controller that drains takes nobody back.
            let is_movable = !members.is_empty() && !controller.core.is_draining;
            if !is_movable || check(controller, room.profile().name(), "").is_err() {
                continue;
            }
            let is_whole = moving.len() + members.len() == roster.len();
            let party = |members: Vec<&Participant>, can_move| Party {
                room: *key,
                members: members.into_iter().map(|member| member.key).collect(),
                is_whole,
                can_move,
            };
            let (movers, others): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| can_move(member));
            leavers
                .parties
                .extend(movers.into_iter().map(|member| party(vec![member], true)));
            match roster.len() {
                _ if others.is_empty() => {}
                0..=SMALL_ROOM_MAX => leavers.parties.push(party(others, false)),
                _ => leavers
                    .parties
                    .extend(others.into_iter().map(|member| party(vec![member], false))),
            }
        }
        leavers
            .parties
            .sort_by_key(|party| (party.is_whole, party.members.len(), party.room));
        leavers
    }
}
