//! Messages on their way from one peer to others, and the order in which senders wait.
//!
//! A message is open from the time it is passed to the controller. It is closed when the controller
//! has handled it and each of its receivers has it in SCTP, or is gone. Open messages of one sender
//! have a limit. At the limit the sender is not read, its inbox fills, and SCTP's window closes. So
//! a slow receiver holds back only its senders, and waiting data is bounded for each sender and in
//! total.
//!
//! A link to another node is a receiver of the messages that are sent over it, until the receivers
//! behind it have them. A message that came over a link is open as any other. The node at the other
//! end of the link learns when it is closed, and holds its sender back until then.
//!
//! A message of an administrator, or one that is sent again, has no sender that could be held back.
//! Such messages have a limit in total, and a share of it for each receiver.
//!
//! A message whose controller is away is parked: it is with no controller, and holds back its own
//! sender alone.
//!
//! No message waits for ever: the controller handles each message, and a receiver that does not
//! read its own in time loses its channels.

use std::collections::VecDeque;

use southbound::{MessageId, NodeId, TransportId};

use crate::limits::{
    DATA_MAX, DATA_SHARED, LOSSY_WITH_CONTROLLER_MAX, MESSAGE_COST, PARKED_BYTES_MAX, SCTP_BUFFER_MAX, SENDER_WINDOW,
    UNPACED_MAX, UNPACED_SHARED, WITH_CONTROLLER_BYTES_MAX, WITH_CONTROLLER_MAX,
};
use crate::map::Map;

/// Every open message.
pub(crate) struct Ledger {
    node: NodeId,
    messages: Map<MessageId, Open>,
    senders: Map<TransportId, Sender>,
    /// Senders that have something to pass on and may, in turn.
    ready: VecDeque<TransportId>,
    last: u64,
    last_unpaced: u64,
    with_controller: usize,
    with_controller_bytes: usize,
    /// The size of those whose controller is away.
    parked: usize,
    /// The size of all open messages, and the part of it that SCTP has.
    total: usize,
    /// The size of those whose senders cannot wait.
    unpaced: usize,
    /// Messages that came over links and that all of their receivers have.
    delivered: Vec<MessageId>,
}

struct Open {
    /// `None` for one whose sender cannot wait, or is on another node.
    from: Option<TransportId>,
    cost: usize,
    /// Receivers that do not have it yet.
    copies: usize,
    stage: Stage,
    is_lossy: bool,
}

/// The way of a message to its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    WithController,
    /// The controller is away, and the next one gets it.
    Parked,
    Handled,
}

#[derive(Default)]
struct Sender {
    /// The size of its open messages.
    open: usize,
    lossy: usize,
    waits: Waits,
}

/// The reason a sender waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waits {
    /// It has no message to pass on.
    #[default]
    No,
    /// Its turn.
    Turn,
    /// Receivers of its messages.
    Receivers,
}

impl Ledger {
    /// One without messages, of this node.
    pub(crate) fn new(node: NodeId) -> Self {
        Ledger {
            node,
            messages: Map::default(),
            senders: Map::default(),
            ready: VecDeque::new(),
            last: 0,
            last_unpaced: u64::MAX,
            with_controller: 0,
            with_controller_bytes: 0,
            parked: 0,
            total: 0,
            unpaced: 0,
            delivered: Vec::new(),
        }
    }

    /// Whether a sender may pass on one more message.
    pub(crate) fn admits(&self, from: TransportId) -> bool {
        self.has_room() && self.senders.get(&from).is_none_or(|sender| sender.open < SENDER_WINDOW)
    }

    /// The same of a message that may be lost.
    pub(crate) fn admits_lossy(&self, from: TransportId) -> bool {
        self.with_controller < 2 * WITH_CONTROLLER_MAX
            && self
                .senders
                .get(&from)
                .is_none_or(|sender| sender.lossy < LOSSY_WITH_CONTROLLER_MAX)
    }

    /// A message goes to the controller.
    pub(crate) fn open(&mut self, from: TransportId, len: usize, is_lossy: bool) -> MessageId {
        let cost = len + MESSAGE_COST;
        let sender = self.senders.entry(from).or_default();
        *(if is_lossy { &mut sender.lossy } else { &mut sender.open }) += cost;
        self.last += 1;
        self.enter(self.last, Some(from), len, is_lossy)
    }

    /// A message of the controller's own is to be sent, whose sender cannot wait. It is handled
    /// when all receivers have been given it. `None` when too many of them wait.
    pub(crate) fn open_unpaced(&mut self, len: usize) -> Option<MessageId> {
        let cost = len + MESSAGE_COST;
        if self.unpaced + cost > UNPACED_MAX {
            return None;
        }
        self.unpaced += cost;
        // The controller does not hear of these, so that they have numbers of their own.
        self.last_unpaced -= 1;
        Some(self.enter(self.last_unpaced, None, len, false))
    }

    /// A message came over a link. The node at its other end holds its sender back.
    pub(crate) fn open_linked(&mut self, message: MessageId, len: usize) {
        if !self.messages.contains_key(&message) {
            self.enter_as(message, None, len, false);
        }
    }

    /// The messages that came over links and that all of their receivers have by now.
    pub(crate) fn take_delivered(&mut self) -> Vec<MessageId> {
        std::mem::take(&mut self.delivered)
    }

    fn enter(&mut self, number: u64, from: Option<TransportId>, len: usize, is_lossy: bool) -> MessageId {
        let message = MessageId {
            node: self.node,
            number,
        };
        self.enter_as(message, from, len, is_lossy)
    }

    fn enter_as(&mut self, message: MessageId, from: Option<TransportId>, len: usize, is_lossy: bool) -> MessageId {
        let cost = len + MESSAGE_COST;
        self.total += cost;
        self.with_controller += 1;
        self.with_controller_bytes += len;
        let open = Open {
            from,
            cost,
            copies: 0,
            stage: Stage::WithController,
            is_lossy,
        };
        self.messages.insert(message, open);
        message
    }

    /// The controller has dealt with a message.
    pub(crate) fn handled(&mut self, message: MessageId) {
        let Some(open) = self.messages.get_mut(&message) else {
            return;
        };
        let cost = open.cost;
        match std::mem::replace(&mut open.stage, Stage::Handled) {
            Stage::WithController => self.leave_controller(cost),
            Stage::Parked => self.parked -= cost,
            Stage::Handled => {}
        }
        self.settle(message);
    }

    /// The controller of a message is away. The message counts as with the controller still if as
    /// much as may is parked already.
    pub(crate) fn park(&mut self, message: MessageId) {
        let open = self.messages.get_mut(&message);
        let open = open.filter(|open| open.stage == Stage::WithController);
        if let Some(open) = open.filter(|open| self.parked + open.cost <= PARKED_BYTES_MAX) {
            open.stage = Stage::Parked;
            let cost = open.cost;
            self.parked += cost;
            self.leave_controller(cost);
        }
    }

    fn leave_controller(&mut self, cost: usize) {
        self.with_controller -= 1;
        self.with_controller_bytes -= cost - MESSAGE_COST;
    }

    /// One more receiver is to get it.
    pub(crate) fn copied(&mut self, message: MessageId) {
        if let Some(open) = self.messages.get_mut(&message) {
            open.copies += 1;
            self.total += MESSAGE_COST;
        }
    }

    /// A receiver has a message, or is gone.
    pub(crate) fn taken(&mut self, message: MessageId) {
        let Some(open) = self.messages.get_mut(&message) else {
            return;
        };
        if open.copies > 0 {
            open.copies -= 1;
            self.total -= MESSAGE_COST;
        }
        self.settle(message);
    }

    /// A sender has something to pass on. Returns whether it must wait for receivers.
    pub(crate) fn wants(&mut self, from: TransportId) -> bool {
        let sender = self.senders.entry(from).or_default();
        if sender.waits != Waits::No {
            return false;
        }
        let must_wait = sender.open >= SENDER_WINDOW;
        sender.waits = if must_wait { Waits::Receivers } else { Waits::Turn };
        if !must_wait {
            self.ready.push_back(from);
        }
        must_wait
    }

    /// The next sender that may pass on a message.
    pub(crate) fn next(&mut self) -> Option<TransportId> {
        while self.has_room() {
            let next = self.ready.pop_front()?;
            // A sender that is gone stays in the list until its turn.
            if let Some(sender) = self.senders.get_mut(&next)
                && sender.waits == Waits::Turn
            {
                sender.waits = Waits::No;
                return Some(next);
            }
        }
        None
    }

    /// A transport has no more messages to pass on. Its open messages stay open.
    pub(crate) fn forget(&mut self, from: TransportId) {
        if let Some(sender) = self.senders.get_mut(&from) {
            sender.waits = Waits::No;
            self.drop_idle(from);
        }
    }

    /// SCTP has as many bytes of messages now as it had before.
    pub(crate) fn buffered(&mut self, before: usize, now: usize) {
        self.total = self.total - before + now;
    }

    /// Whether no message is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        let idle = self.messages.is_empty() && self.senders.is_empty();
        let left = (self.with_controller, self.with_controller_bytes, self.parked);
        debug_assert!(!idle || left == (0, 0, 0));
        idle && self.total == 0
    }

    /// How many bytes SCTP may have for one receiver's channel.
    pub(crate) fn receiver_share(&self) -> usize {
        SCTP_BUFFER_MAX.min(DATA_MAX.saturating_sub(self.total) / DATA_SHARED)
    }

    /// How many bytes of messages whose senders cannot wait may wait for one receiver.
    pub(crate) fn unpaced_share(&self) -> usize {
        UNPACED_MAX.saturating_sub(self.unpaced) / UNPACED_SHARED
    }

    /// Whether as much as may waits for all receivers together.
    pub(crate) fn is_full(&self) -> bool {
        self.total >= DATA_MAX
    }

    fn has_room(&self) -> bool {
        self.with_controller < WITH_CONTROLLER_MAX
            && self.with_controller_bytes < WITH_CONTROLLER_BYTES_MAX
            && !self.is_full()
    }

    fn settle(&mut self, message: MessageId) {
        let std::collections::hash_map::Entry::Occupied(entry) = self.messages.entry(message) else {
            return;
        };
        if entry.get().stage != Stage::Handled || entry.get().copies > 0 {
            return;
        }
        let Open {
            from, cost, is_lossy, ..
        } = entry.remove();
        self.total -= cost;
        let Some(from) = from else {
            match message.node == self.node {
                true => self.unpaced -= cost,
                false => self.delivered.push(message),
            }
            return;
        };
        let sender = self
            .senders
            .get_mut(&from)
            .expect("senders are known as long as their messages");
        *(if is_lossy { &mut sender.lossy } else { &mut sender.open }) -= cost;
        if sender.waits == Waits::Receivers && sender.open <= SENDER_WINDOW / 2 {
            sender.waits = Waits::Turn;
            self.ready.push_back(from);
        }
        self.drop_idle(from);
    }

    fn drop_idle(&mut self, from: TransportId) {
        let is_idle = |sender: &Sender| sender.open == 0 && sender.lossy == 0 && sender.waits == Waits::No;
        if self.senders.get(&from).is_some_and(is_idle) {
            self.senders.remove(&from);
        }
    }
}

#[cfg(test)]
mod tests;
