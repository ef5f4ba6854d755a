//! The fence: of several controllers that believe they own a room, the node obeys the last one.
//!
//! A [`Fence`] stands before an [`Agent`](crate::Agent) that several controllers reach. It takes
//! their [`RoomMessage`]s and hands on those commands that the owner of the room gave. It remembers
//! the belongings of each room, so that a new owner may say everything that there is, and the rest
//! ends. No consensus is needed for that, and no clock: an owner has a higher epoch than those
//! before it.
//!
//! In the other direction it takes the agent's notices and says which controller gets each. It
//! keeps the parts of a room's snapshot for the room's next owner, and passes on messages of data
//! channels between participants of the node by itself.

mod belongings;
mod counters;
mod distant;
mod endpoints;
mod linking;
mod links;
mod messages;
mod missed;
mod newcomers;
mod notices;
mod output;
mod passing;
mod places;
mod snapshot;
mod sources;
mod states;
mod term;

use std::collections::BTreeMap;
use std::sync::Arc;

use slots::Storage;
use southbound::{
    Command, ControllerId, Epoch, MessageProtocol, Node, NodeId, NodeMessage, Refusal, RoomContent, RoomMessage,
    RoomState, Versions,
};

use crate::limits::{ROOMS_MAX, SENT_MESSAGES_BYTES_MAX, TRANSPORTS_MAX};
pub use counters::{Counter, Counters};
use linking::Links;
pub use links::{LinkFigures, LinkOutput, PacketQueue};
pub use output::Output;
use places::Places;
use term::Term;

/// The rooms of a node, and their owners.
#[derive(Debug)]
pub struct Fence {
    rooms: BTreeMap<Arc<str>, Term>,
    places: Places,
    /// The controllers that get notices, with the version of the protocol that each speaks.
    connected: BTreeMap<ControllerId, u32>,
    /// The addresses and the certificate as the node said them last.
    node: Option<Node>,
    /// Counts claims, to find the oldest.
    claims: u64,
    /// The cost of the parts of all rooms, in bytes.
    parts_bytes: usize,
    /// The cost of the messages that all rooms keep, in bytes.
    message_bytes: usize,
    /// The protocol of messages; without one none is passed on here.
    protocol: Option<Box<dyn MessageProtocol>>,
    /// Of the messages that are remembered for receivers that come back.
    sent: Storage,
    links: Links,
    counters: Counters,
}

impl Default for Fence {
    /// One that leaves all messages of data channels to controllers.
    fn default() -> Self {
        Self {
            rooms: BTreeMap::new(),
            places: Places::default(),
            connected: BTreeMap::new(),
            node: None,
            claims: 0,
            parts_bytes: 0,
            message_bytes: 0,
            protocol: None,
            sent: Storage::new(SENT_MESSAGES_BYTES_MAX),
            links: Links::new(NodeId(0)),
            counters: Counters::default(),
        }
    }
}

impl Fence {
    /// That of a node, which passes on the messages of a protocol.
    pub fn new(node: NodeId, protocol: Box<dyn MessageProtocol>) -> Self {
        Self {
            protocol: Some(protocol),
            links: Links::new(node),
            ..Self::default()
        }
    }

    /// The same of a node that speaks these versions of the protocol.
    pub fn speaking(mut self, versions: Versions) -> Self {
        self.links.versions = versions;
        self
    }

    /// Takes a message of a controller.
    ///
    /// Errors: any [`Refusal`], with nothing changed; it is counted.
    pub fn take(&mut self, from: ControllerId, message: RoomMessage, out: &mut Output) -> Result<(), Refusal> {
        let taken = self.take_uncounted(from, message, out);
        if let Err(refusal) = taken {
            self.counters.count(refusal.into());
        }
        taken
    }

    /// The counts since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The states of all rooms.
    pub fn rooms(&self) -> impl Iterator<Item = RoomState> {
        self.rooms.iter().map(|(room, term)| term.state(room))
    }

    fn take_uncounted(&mut self, from: ControllerId, message: RoomMessage, out: &mut Output) -> Result<(), Refusal> {
        let RoomMessage {
            room,
            epoch,
            revision,
            content,
        } = message;
        if content == RoomContent::Claim {
            return self.claim(from, room, epoch, revision, out);
        }
        let term = self.rooms.get_mut(&room).ok_or(Refusal::Unclaimed)?;
        term.check(from, epoch)?;
        if epoch != term.epoch {
            return Err(Refusal::Unclaimed);
        }
        let is_end = content == RoomContent::End;
        match content {
            RoomContent::Claim => {}
            // Ports of relayed calls are of the node's own controller of calls, and of no room.
            RoomContent::Command(Command::Relay(_)) => self.counters.count(Counter::Relay),
            RoomContent::Command(command) => {
                // The agent refuses one more, with a notice.
                if !is_beyond(&self.places, &command) {
                    term.belongings.note(&command);
                }
                let is_answer = matches!(command, Command::MessageHandled { .. });
                if let Command::MessageHandled { message } = command {
                    term.messages.answered(message, &mut self.message_bytes);
                }
                let parts = (&mut self.links, &mut self.counters);
                let command = term.take_for_endpoints(&room, command, parts, out);
                out.commands.extend(command);
                if is_answer {
                    term.serve_newcomers(out);
                }
            }
            RoomContent::Complete => {
                term.belongings.end_unsaid(&mut out.commands);
                term.states.complete();
                let unwanted = term.distant.end_unsaid();
                unwanted
                    .into_iter()
                    .for_each(|node| self.links.outgoing.want(node, false));
            }
            RoomContent::End => {
                term.belongings.end_all(&mut out.commands);
                term.states.complete();
                term.snapshot.clear(&mut self.parts_bytes);
                term.messages.end(&mut self.message_bytes, &mut out.commands);
                term.serve_newcomers(out);
                term.end_links(&mut self.links);
                term.has_ended = true;
            }
            RoomContent::Save { part, blob } => term.snapshot.save(part, blob, &mut self.parts_bytes)?,
            RoomContent::Forget { part } => term.snapshot.forget(&part, &mut self.parts_bytes),
        }
        term.revision = revision;
        self.apply_changes(&room, out);
        if is_end {
            self.announce(from, &room, &mut out.messages);
        }
        Ok(())
    }

    fn claim(
        &mut self,
        from: ControllerId,
        room: Arc<str>,
        epoch: Epoch,
        revision: u64,
        out: &mut Output,
    ) -> Result<(), Refusal> {
        match self.rooms.get(&room) {
            Some(term) => term.check(from, epoch)?,
            None => self.make_place()?,
        }
        self.claims += 1;
        let claimed = self.claims;
        let sent = &mut self.sent;
        let term = self.rooms.entry(room.clone());
        let term = term.or_insert_with(|| Term::new(from, sent.account("")));
        if term.owner != from {
            term.lose_owner(&mut self.counters, out);
            // It would learn of its successor only by its next message.
            let superseded = NodeMessage::Refused {
                room: room.clone(),
                epoch: term.epoch,
                revision: term.revision,
                why: Refusal::Outdated(epoch),
            };
            out.messages.push((term.owner, superseded));
        }
        let before = std::mem::replace(&mut term.revision, revision);
        (term.owner, term.epoch, term.claimed) = (from, epoch, claimed);
        term.has_ended = false;
        term.newcomers.set_owner_away(false, &mut self.counters, out);
        term.belongings.begin();
        term.endpoints.begin();
        term.owner_version = self.connected.get(&from).copied().unwrap_or(0);
        term.distant.begin();
        if !term.owner_knows_links() {
            term.end_links(&mut self.links);
        }
        term.answer_claim(&room, before, &mut out.messages);
        term.send_missed_over_links(&mut self.links, out);
        self.take_waiting_links(&room, out);
        self.announce(from, &room, &mut out.messages);
        Ok(())
    }

    /// Tells all other controllers of a room that one has claimed or ended.
    fn announce(&self, from: ControllerId, room: &Arc<str>, out: &mut Vec<(ControllerId, NodeMessage)>) {
        let Some(term) = self.rooms.get(room) else {
            return;
        };
        let others = self.connected.keys().filter(|controller| **controller != from);
        out.extend(others.map(|controller| {
            let rooms = vec![term.state(room)];
            (*controller, NodeMessage::Rooms { rooms, is_last: true })
        }));
    }

    /// At the limit forgets the room of which there is nothing and whose claim is the oldest. One
    /// of which there is something is never forgotten.
    fn make_place(&mut self) -> Result<(), Refusal> {
        if self.rooms.len() < ROOMS_MAX {
            return Ok(());
        }
        let empty = self.rooms.iter().filter(|(_, term)| term.is_empty());
        let oldest = empty.min_by_key(|(_, term)| term.claimed);
        let oldest = oldest.map(|(room, _)| room.clone()).ok_or(Refusal::Full)?;
        if let Some(mut term) = self.rooms.remove(&oldest) {
            term.end_links(&mut self.links);
        }
        Ok(())
    }

    /// Brings the other tables to what belongs to a room now.
    fn apply_changes(&mut self, room: &Arc<str>, out: &mut Output) {
        let Some(term) = self.rooms.get_mut(room) else {
            return;
        };
        for change in term.belongings.take_changes() {
            term.states.apply(change);
            term.change_endpoints(change, out);
            self.places.apply(change, room);
        }
    }
}

/// Whether a command opens a transport more than the node can have.
fn is_beyond(places: &Places, command: &Command) -> bool {
    let transport = match command {
        Command::Open(open) => open.transport,
        Command::OpenDirect(open) => open.transport,
        _ => return false,
    };
    places.transports.len() >= TRANSPORTS_MAX && !places.transports.contains_key(&transport)
}

#[cfg(test)]
mod tests;
