//! Messages that somebody on another node has missed, and to whose node no link leads.
//!
//! The owner of the room passes them on, in their order and before later ones. They wait here while
//! there is no owner. An owner of a version that does not know them leaves them to the link, until
//! it is made again.

use std::collections::VecDeque;
use std::sync::Arc;

use slots::{Account, Held};
use southbound::{LinkedMessage, NodeId, NodeMessage, Notice, TransportId, Versions};

use super::linking::Links;
use super::{Counter, Counters, Output, Term};
use crate::limits::{LINKED_COST, MISSED_BYTES_MAX};

/// Those of one room that wait.
#[derive(Debug)]
pub(super) struct Missed {
    waiting: VecDeque<(NodeId, LinkedMessage)>,
    bytes: usize,
    pooled: Held,
}

impl Missed {
    /// None, with an account for what is remembered.
    pub(super) fn new(account: &Account) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            pooled: account.hold(),
        }
    }

    /// Returns false if as many wait as may.
    fn add(&mut self, node: NodeId, linked: LinkedMessage) -> bool {
        let bytes = self.bytes + cost(&linked);
        if bytes > MISSED_BYTES_MAX || !self.pooled.may_become(bytes) {
            return false;
        }
        self.waiting.push_back((node, linked));
        self.set_bytes(bytes);
        true
    }

    /// Those that an owner of this version passes on.
    pub(super) fn take_for_owner(&mut self, room: &Arc<str>, version: u32) -> Vec<Notice> {
        if version < Versions::LINKED_TRACKS {
            return Vec::new();
        }
        let taken = self.take(|_| true).into_iter();
        taken.filter_map(|(_, linked)| notice(room, linked)).collect()
    }

    /// Somebody is not there any more.
    pub(super) fn forget(&mut self, transport: TransportId) {
        if !self.waiting.is_empty() {
            self.take(|(_, linked)| linked.only == Some(transport));
        }
    }

    pub(super) fn clear(&mut self) {
        self.take(|_| true);
    }

    fn take(&mut self, is_taken: impl Fn(&(NodeId, LinkedMessage)) -> bool) -> VecDeque<(NodeId, LinkedMessage)> {
        let (taken, left) = std::mem::take(&mut self.waiting).into_iter().partition(is_taken);
        self.waiting = left;
        self.set_bytes(self.waiting.iter().map(|(_, linked)| cost(linked)).sum());
        taken
    }

    fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.pooled.set(bytes);
    }
}

impl Term {
    /// Passes on what somebody at a node has missed, without a link.
    pub(super) fn give_missed(
        &mut self,
        room: &Arc<str>,
        (node, linked): (NodeId, LinkedMessage),
        is_owner_there: bool,
        counters: &mut Counters,
        out: &mut Output,
    ) {
        if is_owner_there && self.owner_version >= Versions::LINKED_TRACKS {
            counters.count(Counter::LinkMissed);
            let notice = notice(room, linked);
            let message = notice.map(|notice| NodeMessage::Notice {
                room: Some(room.clone()),
                notice,
            });
            out.messages.extend(message.map(|message| (self.owner, message)));
        } else {
            let is_kept = self.missed.add(node, linked);
            counters.count(if is_kept {
                Counter::LinkMissed
            } else {
                Counter::LinkLost
            });
        }
    }

    /// Sends what waits over links that there are, if the owner does not pass it on.
    pub(super) fn send_missed_over_links(&mut self, links: &mut Links, out: &mut Output) {
        if self.owner_version >= Versions::LINKED_TRACKS || self.missed.waiting.is_empty() {
            return;
        }
        let is_linked = |(node, _): &(NodeId, LinkedMessage)| links.outgoing.series(*node).is_some();
        for (node, linked) in self.missed.take(is_linked) {
            links.outgoing.send(node, linked, None, true, out);
        }
    }
}

/// The notice to the owner.
fn notice(room: &Arc<str>, linked: LinkedMessage) -> Option<Notice> {
    Some(Notice::Missed {
        room: room.clone(),
        sender: linked.sender,
        transport: linked.only?,
        label: linked.label,
        payload: linked.payload,
    })
}

fn cost(linked: &LinkedMessage) -> usize {
    linked.payload.len() + LINKED_COST
}
