//! Events of media nodes.

use std::sync::Arc;
use std::time::Instant;

use southbound::{Epoch, NodeId, Refusal, RoomContent, RoomState};

use super::{Cluster, say};
use crate::io::{Event, LostReason, NodeEvent, Output, Part};
use crate::rooms::Room;

impl Cluster {
    pub(super) fn node_event(&mut self, now: Instant, node: NodeId, event: NodeEvent, out: &mut Vec<Output>) {
        match event {
            NodeEvent::Connected { rooms } => self.node_connected(node, rooms, out),
            NodeEvent::Rooms { rooms } => {
                for state in rooms {
                    let room = state.room.clone();
                    self.nodes.claimed(node, state);
                    self.compare(node, &room, out);
                }
            }
            NodeEvent::Saved { room, epoch, part } => self.part_saved(node, room, epoch, part, out),
            NodeEvent::Claimed { room, epoch } => self.node_claimed(node, room, epoch, out),
            NodeEvent::Refused { room, epoch, refusal } => self.refused(now, node, room, epoch, refusal, out),
            NodeEvent::Lost => self.node_lost(node, out),
        }
    }

    pub(super) fn node_lost(&mut self, node: NodeId, out: &mut Vec<Output>) {
        self.nodes.lost(node);
        let adopting = self.rooms.iter_mut().filter_map(|(name, room)| {
            let Room::Adopting(adoption) = room else { return None };
            adoption.waiting.remove(&node)?;
            adoption.ownership.sent.remove(&node);
            adoption.waiting.is_empty().then(|| name.clone())
        });
        for room in adopting.collect::<Vec<_>>() {
            self.finish(room, out);
        }
    }

    fn node_connected(&mut self, node: NodeId, rooms: Vec<RoomState>, out: &mut Vec<Output>) {
        let named: Vec<_> = rooms.iter().map(|state| state.room.clone()).collect();
        self.nodes.connected(node, rooms);
        for room in named {
            self.compare(node, &room, out);
        }
        let missing = self.rooms.iter().filter(|(name, room)| {
            let was_there = matches!(room, Room::Owned(ownership) if ownership.sent.contains_key(&node));
            was_there && self.nodes.followed(node, name).is_none()
        });
        let missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        for room in missing {
            self.say_again(node, &room, out);
        }
    }

    /// Compares how far a node has followed with what it was sent.
    fn compare(&mut self, node: NodeId, room: &Arc<str>, out: &mut Vec<Output>) {
        let Some(followed) = self.nodes.followed(node, room) else {
            return;
        };
        match self.rooms.get_mut(room) {
            Some(Room::Owned(ownership)) => {
                let is_same = ownership.sent.get(&node) == Some(&followed.revision);
                if followed.epoch > ownership.epoch {
                    self.lose(room.clone(), LostReason::Fenced, out);
                } else if followed.epoch < ownership.epoch || !is_same {
                    self.say_again(node, room, out);
                }
            }
            Some(Room::Adopting(adoption)) if followed.epoch < adoption.ownership.epoch => {
                adoption.waiting.insert(node, followed);
                say(&mut adoption.ownership, room, node, RoomContent::Claim, out);
                let epoch = adoption.ownership.epoch;
                self.nodes.note(node, room, epoch);
            }
            _ => {}
        }
    }

    fn say_again(&mut self, node: NodeId, room: &Arc<str>, out: &mut Vec<Output>) {
        if let Some(Room::Owned(ownership)) = self.rooms.get_mut(room) {
            say(ownership, room, node, RoomContent::Claim, out);
            self.nodes.note(node, room, ownership.epoch);
            let room = room.clone();
            out.push(Output::Resync { room, node });
        }
    }

    fn part_saved(&mut self, node: NodeId, room: Arc<str>, epoch: Epoch, part: Part, out: &mut Vec<Output>) {
        match self.rooms.get_mut(&room) {
            Some(Room::Adopting(adoption)) if adoption.ownership.epoch == epoch => {
                let followed = adoption.waiting.get(&node).copied().unwrap_or_default();
                let is_kept = adoption.parts.add(followed, part);
                out.extend((!is_kept).then_some(Output::Event(Event::PartsDropped { room })));
            }
            // The claim was for saying everything again, or the answer came late.
            Some(Room::Owned(ownership)) if ownership.epoch == epoch => {
                out.push(Output::KeptPart { room, node, part });
            }
            _ => {}
        }
    }

    fn node_claimed(&mut self, node: NodeId, room: Arc<str>, epoch: Epoch, out: &mut Vec<Output>) {
        if let Some(Room::Adopting(adoption)) = self.rooms.get_mut(&room)
            && adoption.ownership.epoch == epoch
            && adoption.waiting.remove(&node).is_some()
            && adoption.waiting.is_empty()
        {
            self.finish(room, out);
        }
    }

    fn refused(
        &mut self,
        now: Instant,
        node: NodeId,
        room: Arc<str>,
        epoch: Epoch,
        refusal: Refusal,
        out: &mut Vec<Output>,
    ) {
        match refusal {
            Refusal::Outdated(held) => self.nodes.note(node, &room, held),
            Refusal::Taken => self.nodes.note(node, &room, epoch),
            Refusal::Full => self.nodes.forget(node, &room),
            // The claim was refused before, and its refusal has been dealt with.
            Refusal::Unclaimed => {}
            Refusal::LongPart | Refusal::FullRoom | Refusal::FullNode => {
                return out.push(Output::Event(Event::PartRefused { node, room, refusal }));
            }
        }
        match (self.rooms.get_mut(&room), refusal) {
            (Some(Room::Adopting(adoption)), Refusal::Full) if adoption.ownership.epoch == epoch => {
                adoption.ownership.sent.remove(&node);
                let is_last = adoption.waiting.remove(&node).is_some() && adoption.waiting.is_empty();
                let full = room.clone();
                out.push(Output::Event(Event::NodeFull { node, room: full }));
                if is_last {
                    self.finish(room, out);
                }
            }
            (Some(Room::Adopting(adoption)), Refusal::Outdated(_)) if adoption.ownership.epoch == epoch => {
                // Another controller has claimed it since, and has it unless it is gone.
                let (attempt, stored) = (adoption.attempt, adoption.ownership.stored);
                self.unclaim(&room, stored, out);
                self.pause(now, room, attempt, out);
            }
            (Some(Room::Adopting(adoption)), Refusal::Taken) if adoption.ownership.epoch == epoch => {
                let (attempt, stored) = (adoption.attempt, adoption.ownership.stored);
                self.raise(now, room, attempt, epoch, stored, out);
            }
            (Some(Room::Owned(ownership)), Refusal::Full) if ownership.epoch == epoch => {
                ownership.sent.remove(&node);
                out.push(Output::Event(Event::NodeFull { node, room }));
            }
            (Some(Room::Owned(ownership)), _) if ownership.epoch == epoch => {
                self.lose(room, LostReason::Fenced, out);
            }
            _ => {}
        }
    }
}
