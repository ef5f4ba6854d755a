//! Endpoints that wait for what went by the owner of the room.
//!
//! Messages for somebody who is joining go by the owner, until the node has the endpoint. Those
//! that the owner has not dealt with by then are on their way, and later ones must not overtake
//! them. So messages that must arrive wait here for a newcomer until the owner has answered the
//! earlier ones. They hold back their senders, and nobody else waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::{Command, MessageId, TransportId};

use super::{Output, Term};

/// The newcomers of a room.
#[derive(Debug, Default)]
pub(super) struct Newcomers(BTreeMap<TransportId, Newcomer>);

#[derive(Debug)]
struct Newcomer {
    /// The last of the messages that go by the owner.
    after: MessageId,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    message: MessageId,
    label: Arc<str>,
    payload: Arc<[u8]>,
}

impl Newcomers {
    /// Takes newcomers out of the receivers of messages: each gets them later.
    pub(super) fn delay(&mut self, out: &mut Output) {
        if self.0.is_empty() {
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
            to.retain(|transport| {
                let Some(newcomer) = self.0.get_mut(transport) else {
                    return true;
                };
                out.held.push(*message);
                newcomer.waiting.push_back(Waiting {
                    message: *message,
                    label: label.clone(),
                    payload: payload.clone(),
                });
                false
            });
        }
        let is_empty = |command: &Command| matches!(command, Command::Send { to, .. } if to.is_empty());
        out.commands.retain(|command| !is_empty(command));
    }

    fn serve(&mut self, is_due: impl Fn(&Newcomer) -> bool, out: &mut Output) {
        for (transport, newcomer) in self.0.extract_if(.., |_, newcomer| is_due(newcomer)) {
            for waiting in newcomer.waiting {
                out.commands.push(Command::Send {
                    to: vec![transport],
                    label: waiting.label,
                    payload: waiting.payload,
                    reliable: true,
                    message: Some(waiting.message),
                });
                out.released.push(waiting.message);
            }
        }
    }

    /// An endpoint has ended. Nobody waits for it.
    pub(super) fn remove(&mut self, transport: TransportId, out: &mut Output) {
        if let Some(newcomer) = self.0.remove(&transport) {
            out.released
                .extend(newcomer.waiting.iter().map(|waiting| waiting.message));
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
            self.newcomers.0.entry(transport).or_insert(newcomer);
        }
    }

    /// Newcomers get what has waited for them, if the owner has dealt with everything before it.
    pub(super) fn serve_newcomers(&mut self, out: &mut Output) {
        let messages = &self.messages;
        self.newcomers
            .serve(|newcomer| messages.are_answered_up_to(newcomer.after), out);
    }

    /// The owner will not answer. Returns how many messages are lost.
    pub(super) fn lose_owner(&mut self, out: &mut Output) -> u64 {
        let lost = self.messages.lose_owner(out);
        self.serve_newcomers(out);
        lost
    }
}
