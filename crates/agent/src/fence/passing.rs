//! The commands and messages that concern the endpoints of a room.

use std::sync::Arc;

use southbound::{
    Command, ControllerId, Linked, LinkedMessage, MessageProtocol, NodeId, NodeMessage, Notice, SignedMessage,
    TransportId,
};

use super::belongings::{Belonging, Change};
use super::distant::Reached;
use super::endpoints::{Arrived, Beyond, Onward, Passing, TrackPacket};
use super::linking::Links;
use super::{Counter, Counters, Output, Term};
use crate::limits::MISSED_BYTES_MAX;

impl Term {
    /// Takes a command that is for the endpoints. Returns any other, which is for the agent.
    pub(super) fn take_for_endpoints(
        &mut self,
        room: &Arc<str>,
        command: Command,
        (links, counters): (&mut Links, &mut Counters),
        out: &mut Output,
    ) -> Option<Command> {
        match command {
            Command::SetEndpoint(endpoint) => {
                if self.belongings.has(Belonging::Endpoint(endpoint.transport)) {
                    let transport = endpoint.transport;
                    if self.endpoints.number(transport) != endpoint.number {
                        self.welcome(transport);
                    }
                    self.endpoints.set(*endpoint);
                }
            }
            Command::SetElsewhere { elsewhere } => self.endpoints.set_elsewhere(elsewhere),
            Command::SetDataTrack(route) => {
                if self.belongings.has(Belonging::DataTrack(route.endpoint, route.handle)) {
                    self.endpoints.set_track(*route);
                }
            }
            Command::Resend { transport, received } => {
                self.endpoints.resend(transport, &received, &mut out.commands);
                self.resend_over_link(room, (transport, &received), (links, counters), out);
            }
            Command::SetDistantEndpoint(endpoint) => {
                if endpoint.node != links.own && !self.distant.set(*endpoint) {
                    counters.count(Counter::DistantFull);
                }
            }
            Command::RemoveDistantEndpoint { transport } => {
                self.distant.remove(transport);
                self.missed.forget(transport);
            }
            Command::SetDistantTrack(track) => {
                if !self.distant.set_track(*track) {
                    counters.count(Counter::DistantFull);
                }
            }
            Command::RemoveDistantTrack { handle } => self.distant.remove_track(handle),
            Command::SetReach { node, number } if node != links.own => {
                self.set_reach(room, (node, number), links, out);
            }
            Command::SetSource { node, series, number } if node != links.own => {
                self.set_source(node, (series, number), (links, counters), out);
            }
            Command::SetReach { .. } | Command::SetSource { .. } => {}
            Command::Send { .. } => return links.without_repeated(command, &self.endpoints, counters),
            // They end with what belongs to the room.
            Command::RemoveEndpoint { .. } | Command::RemoveDataTrack { .. } => {}
            command => return Some(command),
        }
        None
    }

    /// Brings the endpoints to what belongs to the room.
    pub(super) fn change_endpoints(&mut self, change: Change, out: &mut Output) {
        match change {
            Change::Ended(Belonging::Endpoint(transport)) => {
                self.endpoints.remove(transport);
                self.newcomers.remove(transport, out);
            }
            Change::Ended(Belonging::DataTrack(endpoint, handle)) => self.endpoints.remove_track(endpoint, handle),
            Change::Begun(_) | Change::Ended(_) => {}
        }
    }

    fn set_reach(&mut self, room: &Arc<str>, (node, number): (NodeId, u64), links: &mut Links, out: &mut Output) {
        let had = self.distant.set_reach(node, number);
        if had != (number > 0) {
            links.outgoing.want(node, !had);
        }
        out.messages.extend(self.reaches(room, node, links));
    }

    /// Tells the owner that messages go to a node over a link, if they do.
    pub(super) fn reaches(&self, room: &Arc<str>, node: NodeId, links: &Links) -> Option<(ControllerId, NodeMessage)> {
        let series = links.outgoing.series(node)?;
        let number = self.distant.reach(node)?;
        Some(self.tell_reach(room, (node, series), number))
    }

    /// Tells the owner that a link has failed, if messages went over it.
    pub(super) fn reaches_no_more(
        &self,
        room: &Arc<str>,
        (node, series): (NodeId, u64),
    ) -> Option<(ControllerId, NodeMessage)> {
        self.distant.reach(node)?;
        Some(self.tell_reach(room, (node, series), 0))
    }

    fn tell_reach(&self, room: &Arc<str>, (node, series): (NodeId, u64), number: u64) -> (ControllerId, NodeMessage) {
        let notice = Notice::Reaches {
            room: room.clone(),
            node,
            series,
            number,
        };
        let room = Some(room.clone());
        (self.owner, NodeMessage::Notice { room, notice })
    }

    /// Passes on a message of a data channel to those of the node that it is for, and over links.
    /// Returns the notice unless its owner need not know of it.
    pub(super) fn pass_on(
        &mut self,
        (room, protocol): (&Arc<str>, &dyn MessageProtocol),
        mut notice: Notice,
        (links, counters): (&mut Links, &mut Counters),
        out: &mut Output,
    ) -> Option<Notice> {
        let Notice::MessageReceived {
            transport,
            label,
            payload,
            message,
            ..
        } = &notice
        else {
            return Some(notice);
        };
        let message = *message;
        let arrived = Arrived {
            transport: *transport,
            label,
            payload,
            message,
        };
        let sender = self.endpoints.sender(*transport);
        let sender = sender.map(|sender| (sender.number, sender.sid.clone()));
        let reached = match &sender {
            Some((number, _)) => self.distant.reached(*number, &links.outgoing),
            None => Reached::new(),
        };
        let beyond = Beyond {
            distant: &self.distant,
            links: &links.outgoing,
            reached,
        };
        let mut passed = Output::default();
        let (passing, onward) = self
            .endpoints
            .pass_on(protocol, &arrived, &beyond, &mut passed.commands);
        self.newcomers.delay(counters, &mut passed);
        out.commands.extend(passed.commands);
        out.held.extend(passed.held);
        let reached = beyond.reached;
        if let Passing::Some(number) = passing {
            let linked = match &onward {
                Some(Onward::Message(_)) => reached.iter().map(|(node, reach)| (*node, *reach)).collect(),
                Some(Onward::Packet(packet)) => packet.nodes.clone(),
                None => Vec::new(),
            };
            note_passing(&mut notice, number, linked);
        }
        match (sender, onward) {
            (Some((_, sid)), Some(Onward::Message(signed))) => {
                let nodes = self.distant.nodes_for(&signed, &reached);
                send_over_links(room, &sid, &signed, &notice, &nodes, (links, counters), out);
            }
            (Some((_, sid)), Some(Onward::Packet(packet))) => {
                send_packet(room, &sid, &packet, &notice, (links, counters), out);
            }
            (None, _) | (_, None) => {}
        }
        let counter = match passing {
            Passing::None | Passing::Some(_) => return Some(notice),
            Passing::All => Counter::PassedOn,
            Passing::Repeated => Counter::Repeated,
        };
        counters.count(counter);
        out.commands.push(Command::MessageHandled { message });
        None
    }

    /// Sends somebody on another node again what it has missed.
    fn resend_over_link(
        &mut self,
        room: &Arc<str>,
        (transport, received): (TransportId, &[(Arc<str>, u32)]),
        (links, counters): (&mut Links, &mut Counters),
        out: &mut Output,
    ) {
        let Some(to) = self.distant.get(transport) else {
            return;
        };
        let node = to.node;
        let Some(reach) = self.distant.reach(node) else {
            return;
        };
        let is_linked = links.outgoing.series(node).is_some();
        let mut bytes = 0;
        for (sender, signed) in self.endpoints.missed(to, received) {
            let linked = LinkedMessage {
                only: Some(transport),
                ..linked(room, &sender, &signed, reach)
            };
            if is_linked {
                links.outgoing.send(node, linked, None, true, out);
                continue;
            }
            bytes += signed.payload.len();
            match bytes <= MISSED_BYTES_MAX {
                true => self.give_missed(room, (node, linked), true, counters, out),
                false => counters.count(Counter::LinkLost),
            }
        }
    }
}

/// Notes how far a message was passed on.
fn note_passing(notice: &mut Notice, number: u64, nodes: Vec<(NodeId, u64)>) {
    if let Notice::MessageReceived { passed_on, linked, .. } = notice {
        *passed_on = Some(number);
        *linked = Linked { nodes, failed: None };
    }
}

/// Sends a packet of a data track to other nodes. It names nobody: they know its receivers.
fn send_packet(
    room: &Arc<str>,
    sender: &Arc<str>,
    packet: &TrackPacket,
    notice: &Notice,
    (links, counters): (&mut Links, &mut Counters),
    out: &mut Output,
) {
    let Notice::MessageReceived { label, .. } = notice else {
        return;
    };
    for (node, reach) in &packet.nodes {
        let linked = LinkedMessage {
            number: 0,
            room: room.clone(),
            reach: *reach,
            sender: sender.clone(),
            message: None,
            label: label.clone(),
            payload: packet.payload.clone(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: None,
            track: Some(packet.handle),
        };
        counters.count(Counter::Linked);
        links.outgoing.send(*node, linked, None, false, out);
    }
}

fn send_over_links(
    room: &Arc<str>,
    sender: &Arc<str>,
    signed: &SignedMessage,
    notice: &Notice,
    nodes: &[(NodeId, u64)],
    (links, counters): (&mut Links, &mut Counters),
    out: &mut Output,
) {
    let Notice::MessageReceived { message, .. } = notice else {
        return;
    };
    let arrived = (signed.reliable && !nodes.is_empty()).then(|| Arc::new(notice.clone()));
    for (node, reach) in nodes {
        if !signed.reliable && !links.outgoing.is_open(*node) {
            counters.count(Counter::LinkCongested);
            continue;
        }
        let linked = LinkedMessage {
            message: Some(*message),
            ..linked(room, sender, signed, *reach)
        };
        counters.count(Counter::Linked);
        links
            .outgoing
            .send(*node, linked, arrived.clone(), signed.reliable, out);
    }
}

fn linked(room: &Arc<str>, sender: &Arc<str>, signed: &SignedMessage, reach: u64) -> LinkedMessage {
    LinkedMessage {
        number: 0,
        room: room.clone(),
        reach,
        sender: sender.clone(),
        message: None,
        label: signed.label.into(),
        payload: signed.payload.clone(),
        identities: signed.identities.clone(),
        sids: signed.sids.clone(),
        only: None,
        track: None,
    }
}
