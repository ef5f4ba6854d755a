//! Events of media nodes.

use std::sync::Arc;
use std::time::Instant;

use southbound::{Epoch, NodeId, Refusal, RoomContent, RoomState};

use super::{Cluster, say};
use crate::io::{Event, Holder, LostReason, NodeEvent, Output, Part};
use crate::nodes::NodeRoom;
use crate::rooms::Room;

impl Cluster {
    pub(super) fn node_event(&mut self, now: Instant, node: NodeId, event: NodeEvent, out: &mut Vec<Output>) {
        match event {
            NodeEvent::Connected { rooms } => self.node_connected(now, node, rooms, out),
            NodeEvent::Rooms { rooms } => {
                for state in rooms {
                    let room = state.room.clone();
                    self.nodes.changed(node, state);
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

    fn node_connected(&mut self, now: Instant, node: NodeId, rooms: Vec<RoomState>, out: &mut Vec<Output>) {
        let named: Vec<_> = rooms.iter().map(|state| state.room.clone()).collect();
        self.nodes.connected(node, rooms);
        for room in named {
            self.compare(node, &room, out);
        }
        let missing = self.rooms.iter().filter(|(name, room)| {
            let was_there = matches!(room, Room::Owned(ownership) if ownership.sent.contains_key(&node));
            was_there && self.nodes.room(node, name).is_none()
        });
        let missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        for room in missing {
            self.say_again(node, &room, out);
        }
        self.expect_orphans(now);
    }

    /// Compares how far a node has followed with what it was sent.
    fn compare(&mut self, node: NodeId, room: &Arc<str>, out: &mut Vec<Output>) {
        let Some(at_node) = self.nodes.room(node, room) else {
            return;
        };
        let NodeRoom {
            owner,
            followed,
            has_ended,
        } = at_node;
        let is_ours = owner == self.config.controller;
        match self.rooms.get_mut(room) {
            Some(Room::Owned(ownership)) => {
                let is_same = ownership.sent.get(&node) == Some(&followed.revision);
                let is_taken = followed.epoch == ownership.epoch && !is_ours;
                if followed.epoch > ownership.epoch || is_taken {
                    let winner = Holder {
                        controller: Some(owner),
                        epoch: followed.epoch,
                    };
                    self.lose(room.clone(), winner, LostReason::Fenced, out);
                } else if has_ended && !ownership.sent.contains_key(&node) {
                    // It was over there before this controller claimed it.
                } else if followed.epoch < ownership.epoch || !is_same {
                    self.say_again(node, room, out);
                }
            }
            Some(Room::Adopting(adoption)) if followed.epoch < adoption.ownership.epoch && !has_ended => {
                adoption.waiting.insert(node, followed);
                say(&mut adoption.ownership, room, node, RoomContent::Claim, out);
                let epoch = adoption.ownership.epoch;
                self.nodes.note(node, room, self.config.controller, epoch);
            }
            _ => {}
        }
    }

    fn say_again(&mut self, node: NodeId, room: &Arc<str>, out: &mut Vec<Output>) {
        if let Some(Room::Owned(ownership)) = self.rooms.get_mut(room) {
            say(ownership, room, node, RoomContent::Claim, out);
            self.nodes.note(node, room, self.config.controller, ownership.epoch);
            let room = room.clone();
            out.push(Output::Resync { room, node });
        }
    }

    fn part_saved(&mut self, node: NodeId, room: Arc<str>, epoch: Epoch, part: Part, out: &mut Vec<Output>) {
        match self.rooms.get_mut(&room) {
            Some(Room::Adopting(adoption)) if adoption.ownership.epoch == epoch => {
                let followed = adoption.waiting.get(&node).copied().unwrap_or_default();
                let is_kept = adoption.parts.add(node, followed, part);
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
            Refusal::Outdated(held) => self.nodes.note_epoch(node, &room, held),
            Refusal::Taken => self.nodes.note_epoch(node, &room, epoch),
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
                out.push(claim_refused(node, &room, epoch, refusal));
                self.unclaim(&room, stored, out);
                self.pause(now, room, attempt, out);
            }
            (Some(Room::Adopting(adoption)), Refusal::Taken) if adoption.ownership.epoch == epoch => {
                let (attempt, stored) = (adoption.attempt, adoption.ownership.stored);
                out.push(claim_refused(node, &room, epoch, refusal));
                self.raise(now, room, attempt, epoch, stored, out);
            }
            (Some(Room::Owned(ownership)), Refusal::Full) if ownership.epoch == epoch => {
                ownership.sent.remove(&node);
                out.push(Output::Event(Event::NodeFull { node, room }));
            }
            (Some(Room::Owned(ownership)), _) if ownership.epoch == epoch => {
                // The node names its owner in a message of its own.
                let winner = Holder {
                    controller: None,
                    epoch: held(epoch, refusal),
                };
                self.lose(room, winner, LostReason::Fenced, out);
            }
            _ => {}
        }
    }
}

/// The epoch that a node has seen which refuses a message of this one.
fn held(epoch: Epoch, refusal: Refusal) -> Epoch {
    match refusal {
        Refusal::Outdated(held) => held,
        _ => epoch,
    }
}

fn claim_refused(node: NodeId, room: &Arc<str>, epoch: Epoch, refusal: Refusal) -> Output {
    Output::Event(Event::ClaimRefused {
        node,
        room: room.clone(),
        epoch,
        held: held(epoch, refusal),
    })
}
