//! The way of notices to the owners of rooms, and controllers that come and go.

use std::collections::BTreeMap;
use std::sync::Arc;

use southbound::{AudioActivity, Command, ControllerId, NodeMessage, Notice};

use super::{Counter, Fence, Output};
use crate::limits::ROOMS_PER_PAGE;

impl Fence {
    /// A controller takes messages of this version of the protocol from now on. It is told the
    /// rooms, in pages, and what the node has said of itself.
    pub fn connect(&mut self, controller: ControllerId, version: u32, out: &mut Output) {
        self.connected.insert(controller, version);
        for term in self.rooms.values_mut().filter(|term| term.owner == controller) {
            term.newcomers.set_owner_away(false, &mut self.counters, out);
        }
        let mut rooms: Vec<_> = self.rooms().collect();
        loop {
            let rest = rooms.split_off(rooms.len().min(ROOMS_PER_PAGE));
            let is_last = rest.is_empty();
            out.messages.push((controller, NodeMessage::Rooms { rooms, is_last }));
            if is_last {
                break;
            }
            rooms = rest;
        }
        if let Some(node) = self.node.clone() {
            out.messages.push((controller, about_node(Notice::Node(node))));
        }
    }

    /// A controller takes no messages any more. It stays the owner of its rooms.
    pub fn disconnect(&mut self, controller: ControllerId, out: &mut Output) {
        self.connected.remove(&controller);
        for term in self.rooms.values_mut().filter(|term| term.owner == controller) {
            term.lose_owner(&mut self.counters, out);
        }
    }

    /// Takes a notice of the agent. A notice about a room goes to its owner. While that is not
    /// connected, states and messages that must arrive are remembered, and the rest is dropped.
    ///
    /// A notice about a relayed call is not for controllers of rooms, and is dropped.
    pub fn notice(&mut self, notice: Notice, out: &mut Output) {
        match notice {
            Notice::Node(node) => {
                self.node = Some(node.clone());
                let to_all = self.connected.keys();
                let messages = to_all.map(|controller| (*controller, about_node(Notice::Node(node.clone()))));
                out.messages.extend(messages);
            }
            Notice::Audio(activities) => self.audio(activities, out),
            Notice::Relay(_) => {}
            notice => match self.places.of_notice(&notice).cloned() {
                Some(room) => self.tell(&room, notice, out),
                None => {
                    self.counters.count(Counter::Homeless);
                    self.release(&notice, out);
                }
            },
        }
    }

    /// Tells each room its own voices.
    fn audio(&mut self, activities: Vec<AudioActivity>, out: &mut Output) {
        let mut by_room: BTreeMap<Arc<str>, Vec<AudioActivity>> = BTreeMap::new();
        for activity in activities {
            match self.places.of_track(activity.track) {
                Some(room) => by_room.entry(room.clone()).or_default().push(activity),
                None => self.counters.count(Counter::Homeless),
            }
        }
        for (room, activities) in by_room {
            self.tell(&room, Notice::Audio(activities), out);
        }
    }

    fn tell(&mut self, room: &Arc<str>, notice: Notice, out: &mut Output) {
        self.shed_full_links(out);
        let Some(term) = self.rooms.get_mut(room) else {
            return self.release(&notice, out);
        };
        let notice = match &self.protocol {
            Some(protocol) => {
                let parts = (&mut self.links, &mut self.counters);
                term.pass_on((room, &**protocol), notice, parts, out)
            }
            None => Some(notice),
        };
        if let Some(notice) = notice {
            self.give_to_owner(room, notice, out);
        }
    }

    /// A notice goes to the owner of its room.
    pub(super) fn give_to_owner(&mut self, room: &Arc<str>, notice: Notice, out: &mut Output) {
        let Some(term) = self.rooms.get_mut(room) else {
            return self.release(&notice, out);
        };
        let is_state = term.states.note(&notice);
        if let Notice::Closed { transport, .. } = notice {
            term.belongings.note(&Command::Close { transport });
        }
        let owner = term.owner;
        let version = self.connected.get(&owner);
        let is_known =
            |version: u32| !matches!(&notice, Notice::Observation(observation) if version < observation.version());
        let is_connected = version.is_some_and(|version| is_known(*version));
        let is_kept = match notice {
            Notice::MessageReceived { message, .. } if !term.has_ended => {
                term.messages
                    .add(message, &notice, is_connected, &mut self.message_bytes)
            }
            _ => is_state,
        };
        if is_connected {
            let room = Some(room.clone());
            out.messages.push((owner, NodeMessage::Notice { room, notice }));
        } else if !is_kept {
            self.counters.count(Counter::Dropped);
            self.release(&notice, out);
        } else if let Notice::MessageReceived { message, .. } = notice {
            out.parked.push(message);
        }
        self.apply_changes(room, out);
    }

    /// Answers a message of a data channel that no controller gets: its sender would wait for ever.
    fn release(&mut self, notice: &Notice, out: &mut Output) {
        if let Notice::MessageReceived { message, .. } = notice {
            self.counters.count(Counter::LostMessage);
            out.commands.push(Command::MessageHandled { message: *message });
        }
    }
}

fn about_node(notice: Notice) -> NodeMessage {
    NodeMessage::Notice { room: None, notice }
}
