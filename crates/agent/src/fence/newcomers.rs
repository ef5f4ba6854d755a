//! Endpoints that wait for what went by the owner of the room.
//!
//! Messages for somebody who is joining go by the owner, until the node has the endpoint. Those
//! that the owner has not dealt with by then are on their way, and later ones must not overtake
//! them. So messages that must arrive wait here for a newcomer until the owner has answered the
//! earlier ones. They hold back their senders, and nobody else waits. While there is no owner they
//! hold back nobody, and a bounded number of them waits for the next one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use slots::{Account, Held};
use southbound::{Command, MessageId, TransportId};

use super::{Counter, Counters, Output, Term};
use crate::limits::{LINKED_COST, MISSED_BYTES_MAX};

/// The newcomers of a room.
#[derive(Debug)]
pub(super) struct Newcomers {
    all: BTreeMap<TransportId, Newcomer>,
    /// Nobody answers, and senders must not wait for that.
    is_owner_away: bool,
    /// The bytes of messages that hold no sender back.
    bytes: usize,
    pooled: Held,
}

#[derive(Debug)]
struct Newcomer {
    /// The last of the messages that go by the owner.
    after: MessageId,
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    message: MessageId,
    label: Arc<str>,
    payload: Arc<[u8]>,
    /// Its sender is held back.
    is_held: bool,
}

impl Newcomers {
    /// None, with an account for what is remembered.
    pub(super) fn new(account: &Account) -> Self {
        Self {
            all: BTreeMap::new(),
            is_owner_away: false,
            bytes: 0,
            pooled: account.hold(),
        }
    }

    /// Takes newcomers out of the receivers of messages: each gets them later.
    pub(super) fn delay(&mut self, counters: &mut Counters, out: &mut Output) {
        if self.all.is_empty() {
            return;
        }
        for command in &mut out.commands {
            let Command::Send {
                to,
                label,
                payload,
                reliable: true,
                message: Some(message),
            } = command
            else {
                continue;
            };
            let waiting = Waiting {
                message: *message,
                label: label.clone(),
                payload: payload.clone(),
                is_held: !self.is_owner_away,
            };
            let newcomers = to.iter().copied().filter(|transport| self.all.contains_key(transport));
            let newcomers: Vec<_> = newcomers.collect();
            to.retain(|transport| !newcomers.contains(transport));
            for transport in newcomers {
                match waiting.is_held {
                    true => out.held.push(*message),
                    false if !self.reserve(&waiting) => {
                        counters.count(Counter::LinkFull);
                        continue;
                    }
                    false => {}
                }
                if let Some(newcomer) = self.all.get_mut(&transport) {
                    newcomer.waiting.push_back(waiting.clone());
                }
            }
        }
        let is_empty = |command: &Command| matches!(command, Command::Send { to, .. } if to.is_empty());
        out.commands.retain(|command| !is_empty(command));
    }

    /// Makes room for a message that holds nobody back. Returns false if there is none.
    fn reserve(&mut self, waiting: &Waiting) -> bool {
        let bytes = self.bytes + waiting.payload.len() + LINKED_COST;
        let fits = bytes <= MISSED_BYTES_MAX && self.pooled.may_become(bytes);
        if fits {
            self.bytes = bytes;
            self.pooled.set(bytes);
        }
        fits
    }

    fn release(&mut self, waiting: &Waiting, out: &mut Output) {
        match waiting.is_held {
            true => out.released.push(waiting.message),
            false => {
                self.bytes -= waiting.payload.len() + LINKED_COST;
                self.pooled.set(self.bytes);
            }
        }
    }

    /// The owner answers again, or not any more: then messages hold nobody back, and as many as may
    /// wait.
    pub(super) fn set_owner_away(&mut self, is_away: bool, counters: &mut Counters, out: &mut Output) {
        self.is_owner_away = is_away;
        if !is_away {
            return;
        }
        let mut all = std::mem::take(&mut self.all);
        for newcomer in all.values_mut() {
            newcomer.waiting.retain_mut(|waiting| {
                if !std::mem::take(&mut waiting.is_held) {
                    return true;
                }
                out.released.push(waiting.message);
                let is_kept = self.reserve(waiting);
                counters[Counter::LinkFull] += u64::from(!is_kept);
                is_kept
            });
        }
        self.all = all;
    }

    fn serve(&mut self, is_due: impl Fn(&Newcomer) -> bool, out: &mut Output) {
        let due: Vec<_> = self.all.extract_if(.., |_, newcomer| is_due(newcomer)).collect();
        for (transport, newcomer) in due {
            for waiting in newcomer.waiting {
                self.release(&waiting, out);
                out.commands.push(Command::Send {
                    to: vec![transport],
                    label: waiting.label,
                    payload: waiting.payload,
                    reliable: true,
                    message: Some(waiting.message),
                });
            }
        }
    }

    /// An endpoint has ended. Nobody waits for it.
    pub(super) fn remove(&mut self, transport: TransportId, out: &mut Output) {
        let newcomer = self.all.remove(&transport);
        for waiting in newcomer.into_iter().flat_map(|newcomer| newcomer.waiting) {
            self.release(&waiting, out);
        }
    }
}

impl Term {
    /// Somebody has an endpoint from now on.
    pub(super) fn welcome(&mut self, transport: TransportId) {
        if let Some(after) = self.messages.last() {
            let newcomer = Newcomer {
                after,
                waiting: VecDeque::new(),
            };
            self.newcomers.all.entry(transport).or_insert(newcomer);
        }
    }

    /// Newcomers get what has waited for them, if the owner has dealt with everything before it.
    pub(super) fn serve_newcomers(&mut self, out: &mut Output) {
        let messages = &self.messages;
        self.newcomers
            .serve(|newcomer| messages.are_answered_up_to(newcomer.after), out);
    }

    /// The owner will not answer.
    pub(super) fn lose_owner(&mut self, counters: &mut Counters, out: &mut Output) {
        counters[Counter::LostMessage] += self.messages.lose_owner(out);
        self.newcomers.set_owner_away(true, counters, out);
        self.serve_newcomers(out);
    }
}
