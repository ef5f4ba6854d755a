//! Messages between this node and others, over links.

use std::collections::BTreeSet;
use std::sync::Arc;

use southbound::{Command, LinkHello, LinkMessage, LinkReply, LinkWelcome, LinkedMessage, MessageId, NodeId, Versions};

use super::endpoints::Endpoints;
use super::links::early::Early;
use super::links::incoming::{Incoming, Taking};
use super::links::outgoing::{Left, Outgoing};
use super::links::{LinkFigures, LinkOutput};
use super::sources::WaitingBytes;
use super::{Counter, Counters, Fence, Output, Term};

/// The links of the node in both directions.
#[derive(Debug)]
pub(super) struct Links {
    /// The id of this node.
    pub(super) own: NodeId,
    /// The versions of the protocol that it speaks.
    pub(super) versions: Versions,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    pub(super) early: Early,
    /// The bytes of messages that came over links and wait, of all rooms.
    pub(super) waiting: WaitingBytes,
}

impl Links {
    /// Those of a node, of which there are none yet.
    pub(super) fn new(own: NodeId) -> Self {
        Self {
            own,
            versions: Versions::OURS,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            early: Early::default(),
            waiting: WaitingBytes::default(),
        }
    }

    /// A command that sends a message, without the receivers that have got it over a link. `None`
    /// if there are no others.
    pub(super) fn without_repeated(
        &self,
        mut command: Command,
        endpoints: &Endpoints,
        counters: &mut Counters,
    ) -> Option<Command> {
        let Command::Send {
            to,
            message: Some(message),
            ..
        } = &mut command
        else {
            return Some(command);
        };
        let delivered = self.incoming.delivered(*message);
        if delivered == 0 {
            return Some(command);
        }
        to.retain(|transport| {
            let number = endpoints.number(*transport);
            number == 0 || number > delivered
        });
        if to.is_empty() {
            counters.count(Counter::LinkRepeated);
            return None;
        }
        Some(command)
    }
}

impl Fence {
    /// The nodes that links are to be made to.
    pub fn wanted_links(&self) -> BTreeSet<NodeId> {
        self.links.outgoing.wanted()
    }

    /// A link to a node is connected. Returns false if nobody wants it any more.
    pub fn link_connected(&mut self, node: NodeId, out: &mut Output) -> bool {
        let hello = self.links.outgoing.connected(self.links.own, self.links.versions, node);
        let hello = hello.map(|hello| LinkOutput::Send(node, LinkMessage::Hello(hello)));
        let is_wanted = hello.is_some();
        out.links.extend(hello);
        is_wanted
    }

    /// The node at the other end of a link answers.
    pub fn link_replied(&mut self, node: NodeId, reply: LinkReply, out: &mut Output) {
        match self.links.outgoing.replied(node, reply, out) {
            Ok(false) => {}
            Ok(true) => {
                let rooms = self.rooms.iter();
                let reaches = rooms.filter_map(|(room, term)| term.reaches(room, node, &self.links));
                let reaches = reaches.filter(|(owner, _)| self.connected.contains_key(owner));
                out.messages.extend(reaches);
                for term in self.rooms.values_mut() {
                    term.send_missed_over_links(&mut self.links, out);
                }
            }
            Err(_) => {
                self.counters.count(Counter::LinkMalformed);
                out.links.push(LinkOutput::Reset(node));
                self.fail_link(node, out);
            }
        }
    }

    /// The connection of a link is lost. It is expected to be made again: if not,
    /// [`fail_link`](Self::fail_link) is due.
    pub fn link_disconnected(&mut self, node: NodeId, out: &mut Output) {
        self.links.outgoing.disconnected(node, out);
    }

    /// The numbers and bytes of links at this moment.
    pub fn link_figures(&self) -> LinkFigures {
        let (to, untaken_bytes) = self.links.outgoing.figures();
        LinkFigures {
            to,
            from: self.links.incoming.connected_count(),
            untaken_bytes,
            waiting_bytes: self.links.waiting.all() + self.links.early.bytes(),
        }
    }

    /// Gives up a link for now. Owners of rooms pass messages on again, those first that the other
    /// node may not have.
    pub fn fail_link(&mut self, node: NodeId, out: &mut Output) {
        // Messages that wait at the other node come before those that owners pass on from here.
        let series = self.links.outgoing.series(node);
        for (room, term) in &self.rooms {
            let ended = series.filter(|_| self.connected.contains_key(&term.owner));
            out.messages
                .extend(ended.and_then(|series| term.reaches_no_more(room, (node, series))));
        }
        for (room, left) in self.links.outgoing.fail(node, out) {
            let takes = |term: &&mut Term| !term.has_ended && term.owner_knows_links();
            let Some(term) = self.rooms.get_mut(&room).filter(takes) else {
                self.counters.count(Counter::LinkLost);
                continue;
            };
            match left {
                Left::Arrived(notice) => {
                    self.counters.count(Counter::LinkFailed);
                    self.give_to_owner(&room, notice, out);
                }
                Left::Missed(linked) => {
                    let is_owner_there = self.connected.contains_key(&term.owner);
                    term.give_missed(&room, (node, linked), is_owner_there, &mut self.counters, out);
                }
            }
        }
    }

    /// Fails links that have as much as they may.
    pub(super) fn shed_full_links(&mut self, out: &mut Output) {
        while let Some(node) = self.links.outgoing.full() {
            out.links.push(LinkOutput::Reset(node));
            self.fail_link(node, out);
        }
    }

    /// A message that may be lost found the queue of its link full.
    pub fn dropped_lossy(&mut self) {
        self.counters.count(Counter::LinkCongested);
    }

    /// So many packets of data tracks were dropped for later ones of a link with too much to send.
    pub fn dropped_packets(&mut self, count: usize) {
        self.counters[Counter::LinkOutpaced] += count as u64;
    }

    /// A node has made a link to this one. An earlier one of it is over. Returns false if it is
    /// refused.
    pub fn origin_connected(&mut self, hello: &LinkHello, out: &mut Output) -> bool {
        let is_own = hello.node == self.links.own;
        let taken = (!is_own).then(|| self.links.incoming.connected(hello)).flatten();
        let welcome = taken.map(|taken| LinkWelcome {
            versions: self.links.versions,
            node: self.links.own,
            taken,
        });
        let reply = welcome.map(|welcome| LinkOutput::Reply(hello.node, LinkReply::Welcome(welcome)));
        out.links.extend(reply);
        taken.is_some()
    }

    /// The link of a node to this one is lost.
    pub fn origin_disconnected(&mut self, node: NodeId) {
        self.links.incoming.disconnected(node);
    }

    /// Whether messages are to be taken from the link of a node. Otherwise they wait there, and
    /// their senders are held back.
    pub fn has_room_for(&self, node: NodeId) -> bool {
        !self.links.incoming.is_full(node)
    }

    /// The links that hold senders back, each with a number that grows with every answer about
    /// receivers.
    pub fn holding_links(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.links.outgoing.holding()
    }

    /// Takes a message that came over the link of a node.
    pub fn take_linked(&mut self, node: NodeId, linked: &Arc<LinkedMessage>, out: &mut Output) {
        let series = match self.links.incoming.take(node, linked) {
            Taking::New { series } => series,
            Taking::Repeated => {
                self.counters.count(Counter::LinkRepeated);
                return self.acknowledge(node, out);
            }
            Taking::Late => return self.counters.count(Counter::LinkLate),
            Taking::Refused => {
                self.counters.count(Counter::LinkMalformed);
                self.links.incoming.disconnected(node);
                return out.links.push(LinkOutput::Cut(node));
            }
        };
        match self.rooms.get_mut(&linked.room).filter(|term| !term.has_ended) {
            Some(term) => term.take_linked(node, series, linked, (&mut self.links, &mut self.counters), out),
            None if linked.is_reliable() => self.take_early(node, series, linked, out),
            None => refuse(node, linked, &mut self.counters, out),
        }
        if linked.is_reliable() {
            self.acknowledge(node, out);
        }
    }

    /// Keeps a message for a room that no owner has claimed yet. Its sender does not wait for that.
    fn take_early(&mut self, node: NodeId, series: u64, linked: &Arc<LinkedMessage>, out: &mut Output) {
        if let Some(message) = linked.message {
            tell_delivered(node, message, out);
        }
        let given_up = self.links.early.add(node, (series, linked.clone()));
        self.counters[Counter::LinkStranger] += given_up as u64;
    }

    /// A room is claimed, and gets the messages that came too early.
    pub(super) fn take_waiting_links(&mut self, room: &Arc<str>, out: &mut Output) {
        for (node, (series, linked)) in self.links.early.take(room) {
            if let Some(term) = self.rooms.get_mut(room) {
                term.take_linked(node, series, &linked, (&mut self.links, &mut self.counters), out);
            }
        }
    }

    /// The agent has given messages that came over links to all of their receivers.
    pub fn delivered(&mut self, messages: Vec<MessageId>, out: &mut Output) {
        for message in messages {
            self.links.incoming.delivered_to_all(message);
            if self.links.incoming.is_connected(message.node) {
                tell_delivered(message.node, message, out);
            }
        }
    }

    fn acknowledge(&self, node: NodeId, out: &mut Output) {
        let number = self.links.incoming.taken(node);
        out.links.push(LinkOutput::Reply(node, LinkReply::Taken { number }));
    }
}

impl Term {
    fn take_linked(
        &mut self,
        node: NodeId,
        series: u64,
        linked: &Arc<LinkedMessage>,
        (links, counters): (&mut Links, &mut Counters),
        out: &mut Output,
    ) {
        if linked.track.is_some() {
            return self.deliver_packet(node, linked, counters, out);
        }
        let upto = self.sources.number(node, series);
        if upto > 0 {
            self.deliver(node, linked, (0, upto), (&mut links.incoming, counters), out);
        }
        if linked.is_reliable() && linked.reach > upto {
            let (linked, waiting) = (linked.clone(), &mut links.waiting);
            let message = linked.message;
            if !self.sources.wait(node, linked, (series, upto), waiting) {
                counters.count(Counter::LinkFull);
                if upto == 0 {
                    out.links.extend(message.map(|message| delivered_reply(node, message)));
                }
            }
        }
    }

    /// Sends a packet of a data track that came over a link to its receivers here. Packets have no
    /// order, and wait for nothing.
    fn deliver_packet(&self, node: NodeId, linked: &LinkedMessage, counters: &mut Counters, out: &mut Output) {
        if !self.distant.is_on(&linked.sender, node) {
            return refuse(node, linked, counters, out);
        }
        let Some(receivers) = self.distant.track_receivers(linked) else {
            return counters.count(Counter::LinkTrackless);
        };
        counters.count(Counter::LinkTaken);
        let to = self.endpoints.up_to(receivers, linked.reach);
        if !to.is_empty() {
            out.commands.push(Command::Send {
                to,
                label: linked.label.clone(),
                payload: linked.payload.clone(),
                reliable: false,
                message: None,
            });
        }
    }

    /// Lets messages that came over a link go on: those that went by the owner have arrived.
    pub(super) fn set_source(
        &mut self,
        node: NodeId,
        (series, number): (u64, u64),
        (links, counters): (&mut Links, &mut Counters),
        out: &mut Output,
    ) {
        // The node has given up the series: no further message of it comes.
        let until = match number {
            0 => {
                links.incoming.end_series(node, series);
                (series.saturating_add(1), 0)
            }
            number => (series, number),
        };
        for (waiting, upto) in self.sources.set(node, until, &mut links.waiting) {
            let range = (waiting.after, upto);
            self.deliver(node, &waiting.linked, range, (&mut links.incoming, counters), out);
        }
    }

    /// Sends a message that came over a link to the endpoints that it is for, of those with numbers
    /// after one and up to another.
    fn deliver(
        &self,
        node: NodeId,
        linked: &LinkedMessage,
        (after, upto): (u64, u64),
        (incoming, counters): (&mut Incoming, &mut Counters),
        out: &mut Output,
    ) {
        if !self.distant.is_on(&linked.sender, node) {
            return refuse(node, linked, counters, out);
        }
        counters.count(Counter::LinkTaken);
        let to = self.endpoints.linked_receivers(linked, (after, upto.min(linked.reach)));
        let message = linked.message.filter(|_| linked.is_reliable());
        if let Some(message) = message {
            incoming.opened(message, linked.payload.len());
            out.opened.push((message, linked.payload.len()));
        }
        if !to.is_empty() {
            out.commands.push(Command::Send {
                to,
                label: linked.label.clone(),
                payload: linked.payload.clone(),
                reliable: linked.is_reliable(),
                message,
            });
        }
        out.commands
            .extend(message.map(|message| Command::MessageHandled { message }));
    }
}

fn refuse(node: NodeId, linked: &LinkedMessage, counters: &mut Counters, out: &mut Output) {
    counters.count(Counter::LinkStranger);
    if let Some(message) = linked.message.filter(|_| linked.is_reliable()) {
        tell_delivered(node, message, out);
    }
}

/// The sender of a message need not wait for its receivers behind a link.
fn tell_delivered(node: NodeId, message: MessageId, out: &mut Output) {
    out.links.push(delivered_reply(node, message));
}

fn delivered_reply(node: NodeId, message: MessageId) -> LinkOutput {
    let messages = vec![message];
    LinkOutput::Reply(node, LinkReply::Delivered { messages })
}
