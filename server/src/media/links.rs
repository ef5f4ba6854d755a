//! The links between this media node and others, as its thread sees them.
//!
//! The thread never waits for a link. One that takes nothing fills its queue, and its connection
//! ends.

mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::fence::{Fence, LinkOutput, Output};
use agent::limits::LINK_MESSAGES_MAX;
use southbound::{LinkHello, LinkMessage, LinkReply, LinkedMessage, NodeId};
use tokio::sync::{mpsc, watch};
use tracing::warn;

use super::waker::Waker;
use queue::LinkSender;
pub(crate) use queue::{LinkReceiver, link_queue};

/// Answers to a node that wait for its link; with one more the link ends.
pub(crate) const REPLIES_MAX: usize = 2 * LINK_MESSAGES_MAX;

/// Events that wait for the thread; then their connections wait.
const EVENTS_MAX: usize = 1_024;

/// Messages of another node that wait for the thread; then its connection waits.
pub(crate) const SAID_MAX: usize = 64;

/// Events, and messages of other nodes, that are taken before controllers have their turn.
const BATCH: usize = 64;

/// Messages of one node that are taken before another one has its turn.
const TURN: usize = 16;

/// How long a link may hold back senders without an answer about any receiver, which loses its
/// channels after 30 s. Then the owners of rooms pass messages on.
const STUCK_MAX: Duration = Duration::from_secs(60);

/// A connection among all that this process had.
pub(crate) type LinkId = u64;

/// One thing that happened to a link.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    /// A link to a node is connected. The queue takes its messages, and its end is that of the
    /// connection.
    Connected(NodeId, LinkId, LinkSender),
    /// The node at the other end answers.
    Replied(NodeId, LinkId, LinkReply),
    /// The connection of a link to a node is lost.
    Broken(NodeId, LinkId),
    /// A link to a node cannot be made for now.
    Failed(NodeId),
    /// A node has made a link. One queue takes the answers, and its end is that of the connection.
    /// The other one has the messages, which wait while receivers have as much as they may.
    Entered(LinkHello, LinkId, mpsc::Sender<LinkReply>, mpsc::Receiver<Said>),
    /// The link of a node is lost.
    Left(NodeId, LinkId),
}

/// A message that came over the link of a node.
pub(crate) type Said = Arc<LinkedMessage>;

/// The thread, as connections reach it. It is to be woken after each event and message. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub(crate) struct LinkEnds {
    /// Takes what happens to links.
    pub events: mpsc::Sender<LinkEvent>,
    /// The nodes that links are to be made to.
    pub wanted: watch::Receiver<BTreeSet<NodeId>>,
}

impl LinkEnds {
    /// Hands over an event. An error means that the node ends.
    pub(crate) async fn tell(&self, event: LinkEvent, waker: &Waker) -> Result<(), ()> {
        let told = self.events.send(event).await;
        waker.wake();
        told.map_err(drop)
    }
}

/// The links that are connected.
pub(super) struct Links {
    events: mpsc::Receiver<LinkEvent>,
    wanted: watch::Sender<BTreeSet<NodeId>>,
    made: BTreeMap<NodeId, (LinkId, LinkSender)>,
    entered: BTreeMap<NodeId, (LinkId, Origin)>,
    /// The node whose messages were taken last.
    last: NodeId,
    /// The links that hold senders back, with the counts of their answers and since when.
    holding: BTreeMap<NodeId, (u64, Instant)>,
}

/// The link of another node.
struct Origin {
    replies: mpsc::Sender<LinkReply>,
    said: mpsc::Receiver<Said>,
}

impl Links {
    /// None yet, and the ends for connections.
    pub(super) fn new() -> (Self, LinkEnds) {
        let (events, taken) = mpsc::channel(EVENTS_MAX);
        let (wanted, followed) = watch::channel(BTreeSet::new());
        let links = Self {
            events: taken,
            wanted,
            made: BTreeMap::new(),
            entered: BTreeMap::new(),
            last: NodeId(0),
            holding: BTreeMap::new(),
        };
        let ends = LinkEnds {
            events,
            wanted: followed,
        };
        (links, ends)
    }

    /// Takes a few of the events that wait, and then of the messages, if receivers have room. Says
    /// whether there may be more.
    pub(super) fn take(&mut self, fence: &mut Fence, has_room: bool, out: &mut Output) -> bool {
        let mut taken = 0;
        while taken < BATCH
            && let Ok(event) = self.events.try_recv()
        {
            self.event(event, fence, out);
            taken += 1;
        }
        if has_room {
            taken += self.take_said(BATCH.saturating_sub(taken), fence, out);
        }
        taken >= BATCH
    }

    /// Takes up to so many messages, of each node in turn. Returns how many were taken, which is
    /// less only if nothing waits that may be taken.
    fn take_said(&mut self, max: usize, fence: &mut Fence, out: &mut Output) -> usize {
        let (first, later): (Vec<_>, Vec<_>) = self.entered.keys().copied().partition(|node| *node <= self.last);
        let nodes = [later, first].concat();
        let mut taken = 0;
        loop {
            let before = taken;
            for node in &nodes {
                let end = max.min(taken + TURN);
                while taken < end
                    && fence.has_room_for(*node)
                    && let Some((_, origin)) = self.entered.get_mut(node)
                    && let Ok(linked) = origin.said.try_recv()
                {
                    fence.take_linked(*node, &linked, out);
                    self.last = *node;
                    taken += 1;
                }
            }
            if taken == before || taken == max {
                return taken;
            }
        }
    }

    /// Gives up links whose other ends leave senders waiting for ever.
    pub(super) fn review_holding(&mut self, now: Instant, fence: &mut Fence, out: &mut Output) {
        let holding: BTreeMap<_, _> = fence.holding_links().collect();
        self.holding
            .retain(|node, (answers, _)| holding.get(node) == Some(answers));
        for (node, answers) in holding {
            let (_, since) = *self.holding.entry(node).or_insert((answers, now));
            if now >= since + STUCK_MAX {
                warn!(node = node.0, "a media node does not say which receivers have messages");
                self.made.remove(&node);
                fence.fail_link(node, out);
            }
        }
    }

    fn event(&mut self, event: LinkEvent, fence: &mut Fence, out: &mut Output) {
        match event {
            LinkEvent::Connected(node, id, messages) => {
                if self.made.remove(&node).is_some() {
                    fence.link_disconnected(node, out);
                }
                if fence.link_connected(node, out) {
                    self.made.insert(node, (id, messages));
                }
            }
            LinkEvent::Replied(node, id, reply) if is_current(&self.made, node, id) => {
                fence.link_replied(node, reply, out);
            }
            LinkEvent::Broken(node, id) if is_current(&self.made, node, id) => {
                self.made.remove(&node);
                fence.link_disconnected(node, out);
            }
            LinkEvent::Failed(node) => {
                self.made.remove(&node);
                fence.fail_link(node, out);
            }
            LinkEvent::Entered(hello, id, replies, said) => {
                if fence.origin_connected(&hello, out) {
                    self.entered.insert(hello.node, (id, Origin { replies, said }));
                }
            }
            LinkEvent::Left(node, id) if is_current(&self.entered, node, id) => {
                self.entered.remove(&node);
                fence.origin_disconnected(node);
            }
            LinkEvent::Replied(..) | LinkEvent::Broken(..) | LinkEvent::Left(..) => {}
        }
    }

    /// Hands what is to be sent to the connections. Returns what follows from the end of some.
    pub(super) fn hand_out(&mut self, outputs: Vec<LinkOutput>, fence: &mut Fence) -> Output {
        let mut out = Output::default();
        for output in outputs {
            match output {
                LinkOutput::Send(node, message) => self.send(node, message, fence, &mut out),
                LinkOutput::Reply(node, reply) => {
                    let entered = self.entered.get(&node);
                    if entered.is_some_and(|(_, origin)| origin.replies.try_send(reply).is_err()) {
                        self.entered.remove(&node);
                        fence.origin_disconnected(node);
                    }
                }
                LinkOutput::Reset(node) => drop(self.made.remove(&node)),
                LinkOutput::Cut(node) => drop(self.entered.remove(&node)),
            }
        }
        out
    }

    /// The bytes of packets that wait for connections.
    pub(super) fn packet_bytes(&self) -> usize {
        self.made.values().map(|(_, messages)| messages.packet_bytes()).sum()
    }

    /// Says which links are wanted by now.
    pub(super) fn review_wanted(&self, fence: &Fence) {
        let wanted = fence.wanted_links();
        self.wanted.send_if_modified(|before| {
            let is_other = *before != wanted;
            *before = wanted;
            is_other
        });
    }

    fn send(&mut self, node: NodeId, message: LinkMessage, fence: &mut Fence, out: &mut Output) {
        let Some((_, messages)) = self.made.get(&node) else {
            return;
        };
        match &message {
            LinkMessage::Message(linked) if linked.track.is_some() => {
                return fence.dropped_packets(messages.send_packet(linked.clone()));
            }
            LinkMessage::Message(linked) if !linked.is_reliable() && messages.is_congested() => {
                return fence.dropped_lossy();
            }
            LinkMessage::Message(_) | LinkMessage::Hello(_) => {}
        }
        // It is repeated when the link is made again.
        if !messages.send(message) {
            self.made.remove(&node);
            fence.link_disconnected(node, out);
        }
    }
}

fn is_current<T>(all: &BTreeMap<NodeId, (LinkId, T)>, node: NodeId, id: LinkId) -> bool {
    all.get(&node).is_some_and(|(current, _)| *current == id)
}

#[cfg(test)]
mod tests;
