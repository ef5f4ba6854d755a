//! The links that this node makes to others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use southbound::{
    FailedLink, LinkHello, LinkMessage, LinkReply, LinkWelcome, Linked, LinkedMessage, MessageId, NodeId, Notice,
    Versions,
};

use super::LinkOutput;
use crate::fence::Output;
use crate::limits::{LINK_BYTES_MAX, LINK_MESSAGES_MAX, LINKED_COST};

/// All links, by the nodes at their other ends.
#[derive(Debug, Default)]
pub(in crate::fence) struct Outgoing {
    links: BTreeMap<NodeId, Link>,
    /// The series that was begun last. Those of all links are told apart.
    last_series: u64,
}

#[derive(Debug)]
struct Link {
    /// The rooms that send messages over it.
    rooms: usize,
    state: State,
    series: u64,
    /// The number of the last message of the series.
    last: u64,
    /// Those that the other end has not taken, in their order.
    unacknowledged: VecDeque<Unacknowledged>,
    bytes: usize,
    /// Messages whose senders are held back.
    held: BTreeSet<MessageId>,
    /// How often the other end has told of receivers that have messages.
    answers: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has failed, or has not been made. Controllers pass messages on.
    Failed,
    /// It is connected for the first time in its series, and the other end has not answered.
    Begun,
    /// Messages go over it.
    Open,
    /// The connection is lost, and is expected to be made again.
    Broken,
    /// The connection was made again, and the other end has not answered.
    Resumed,
}

/// A message that the other end may not have.
#[derive(Debug)]
struct Unacknowledged {
    linked: Arc<LinkedMessage>,
    /// The message as it arrived, for a controller; `None` for one that is sent again.
    arrived: Option<Arc<Notice>>,
}

impl Unacknowledged {
    fn cost(&self) -> usize {
        // The message as it arrived is about as long.
        2 * self.linked.payload.len() + LINKED_COST
    }
}

/// The messages that are left of a link that has failed, by the names of their rooms.
pub(in crate::fence) type Unsent = Vec<(Arc<str>, Left)>;

/// A message that is left of a link, for the owner of its room.
pub(in crate::fence) enum Left {
    /// As it has arrived.
    Arrived(Notice),
    /// One that was sent again to somebody who came back.
    Missed(LinkedMessage),
}

impl Outgoing {
    /// One more room sends messages to a node, or one less.
    pub(in crate::fence) fn want(&mut self, node: NodeId, is_wanted: bool) {
        let link = self.links.entry(node).or_insert_with(Link::new);
        match is_wanted {
            true => link.rooms += 1,
            false => link.rooms = link.rooms.saturating_sub(1),
        }
        if link.rooms == 0 && link.state == State::Failed {
            self.links.remove(&node);
        }
    }

    /// The nodes that messages are to be sent to.
    pub(in crate::fence) fn wanted(&self) -> BTreeSet<NodeId> {
        let wanted = self.links.iter().filter(|(_, link)| link.rooms > 0);
        wanted.map(|(node, _)| *node).collect()
    }

    /// The series of the link to a node, if messages go over it now or as soon as it is back.
    pub(in crate::fence) fn series(&self, node: NodeId) -> Option<u64> {
        let link = self.links.get(&node)?;
        let is_open = matches!(link.state, State::Open | State::Broken | State::Resumed);
        is_open.then_some(link.series)
    }

    /// Whether messages are sent over the link to a node at once.
    pub(in crate::fence) fn is_open(&self, node: NodeId) -> bool {
        self.links.get(&node).is_some_and(|link| link.state == State::Open)
    }

    /// The links that have as much unacknowledged as they may.
    pub(in crate::fence) fn full(&self) -> Option<NodeId> {
        let mut links = self.links.iter();
        links.find(|(_, link)| link.is_full()).map(|(node, _)| *node)
    }

    /// A link is connected. Returns what is to be said first; `None` if nobody wants it.
    pub(in crate::fence) fn connected(&mut self, own: NodeId, versions: Versions, node: NodeId) -> Option<LinkHello> {
        let link = self.links.get_mut(&node).filter(|link| link.rooms > 0)?;
        match link.state {
            State::Failed | State::Begun => {
                self.last_series += 1;
                (link.series, link.last, link.state) = (self.last_series, 0, State::Begun);
            }
            State::Open | State::Broken | State::Resumed => link.state = State::Resumed,
        }
        Some(LinkHello {
            versions,
            node: own,
            series: link.series,
        })
    }

    /// The links that hold senders back, with the counts of their answers.
    pub(in crate::fence) fn holding(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let holding = self.links.iter().filter(|(_, link)| !link.held.is_empty());
        holding.map(|(node, link)| (*node, link.answers))
    }

    /// The links that messages go over, and the bytes that other ends have not taken.
    pub(in crate::fence) fn figures(&self) -> (usize, usize) {
        let open = self.links.values().filter(|link| link.state == State::Open);
        (open.count(), self.links.values().map(|link| link.bytes).sum())
    }

    /// The connection of a link is lost. Senders do not wait for answers that cannot come.
    pub(in crate::fence) fn disconnected(&mut self, node: NodeId, out: &mut Output) {
        if let Some(link) = self.links.get_mut(&node) {
            out.released.extend(std::mem::take(&mut link.held));
            link.state = match link.state {
                State::Failed | State::Begun => State::Failed,
                State::Open | State::Broken | State::Resumed => State::Broken,
            };
        }
    }

    /// The other end of a link answers. Returns whether messages go over it from now on.
    ///
    /// Errors: it breaks the protocol.
    pub(in crate::fence) fn replied(
        &mut self,
        node: NodeId,
        reply: LinkReply,
        out: &mut Output,
    ) -> Result<bool, BrokenLink> {
        let link = self.links.get_mut(&node).ok_or(BrokenLink)?;
        match (reply, link.state) {
            (LinkReply::Welcome(welcome), State::Begun | State::Resumed) => link.welcomed(node, welcome, out),
            (LinkReply::Taken { number }, State::Open) => link.taken(number).map(|()| false),
            (LinkReply::Delivered { messages }, State::Open) => {
                let released = messages.into_iter().filter(|message| link.held.remove(message));
                let before = out.released.len();
                out.released.extend(released);
                link.answers += u64::from(out.released.len() > before);
                Ok(false)
            }
            _ => Err(BrokenLink),
        }
    }

    /// Sends a message over the link to a node, which is open. `linked` has no number yet.
    pub(in crate::fence) fn send(
        &mut self,
        node: NodeId,
        mut linked: LinkedMessage,
        arrived: Option<Arc<Notice>>,
        is_reliable: bool,
        out: &mut Output,
    ) {
        let Some(link) = self.links.get_mut(&node) else {
            return;
        };
        if !is_reliable {
            if link.state == State::Open {
                let message = LinkMessage::Message(Arc::new(linked));
                out.links.push(LinkOutput::Send(node, message));
            }
            return;
        }
        link.last += 1;
        linked.number = link.last;
        if let Some(message) = linked.message
            && link.state == State::Open
            && link.held.insert(message)
        {
            out.held.push(message);
        }
        let linked = Arc::new(linked);
        if link.state == State::Open {
            let message = LinkMessage::Message(linked.clone());
            out.links.push(LinkOutput::Send(node, message));
        }
        let unacknowledged = Unacknowledged { linked, arrived };
        link.bytes += unacknowledged.cost();
        link.unacknowledged.push_back(unacknowledged);
    }

    /// Gives a link up. Returns the messages that controllers have to pass on instead, in their
    /// order.
    pub(in crate::fence) fn fail(&mut self, node: NodeId, out: &mut Output) -> Unsent {
        let Some(link) = self.links.get_mut(&node) else {
            return Vec::new();
        };
        link.state = State::Failed;
        link.bytes = 0;
        out.released.extend(std::mem::take(&mut link.held));
        let series = link.series;
        let unacknowledged = std::mem::take(&mut link.unacknowledged);
        if link.rooms == 0 {
            self.links.remove(&node);
        }
        let unsent = unacknowledged.into_iter().map(|unacknowledged| {
            let room = unacknowledged.linked.room.clone();
            let Some(arrived) = unacknowledged.arrived else {
                let missed = Arc::unwrap_or_clone(unacknowledged.linked);
                return (room, Left::Missed(missed));
            };
            let mut notice = Arc::unwrap_or_clone(arrived);
            if let Notice::MessageReceived { linked, .. } = &mut notice {
                *linked = Linked {
                    nodes: Vec::new(),
                    failed: Some(FailedLink {
                        node,
                        series,
                        number: unacknowledged.linked.reach,
                    }),
                };
            }
            (room, Left::Arrived(notice))
        });
        unsent.collect()
    }
}

impl Link {
    fn new() -> Self {
        Self {
            rooms: 0,
            state: State::Failed,
            series: 0,
            last: 0,
            unacknowledged: VecDeque::new(),
            bytes: 0,
            held: BTreeSet::new(),
            answers: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.unacknowledged.len() >= LINK_MESSAGES_MAX || self.bytes >= LINK_BYTES_MAX
    }

    /// Repeats what the other end has not taken.
    fn welcomed(&mut self, node: NodeId, welcome: LinkWelcome, out: &mut Output) -> Result<bool, BrokenLink> {
        let is_new = self.state == State::Begun;
        if welcome.node != node || is_new && welcome.taken > 0 {
            return Err(BrokenLink);
        }
        self.taken(welcome.taken)?;
        self.state = State::Open;
        let repeated = self.unacknowledged.iter();
        let repeated = repeated.map(|message| LinkMessage::Message(message.linked.clone()));
        out.links
            .extend(repeated.map(|message| LinkOutput::Send(node, message)));
        Ok(is_new)
    }

    /// The other end has taken the messages up to a number.
    fn taken(&mut self, number: u64) -> Result<(), BrokenLink> {
        if number > self.last {
            return Err(BrokenLink);
        }
        while let Some(first) = self.unacknowledged.front()
            && first.linked.number <= number
        {
            self.bytes -= first.cost();
            self.unacknowledged.pop_front();
        }
        Ok(())
    }
}

/// The other end of a link broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fence) struct BrokenLink;
