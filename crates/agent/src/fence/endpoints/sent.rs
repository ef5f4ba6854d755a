//! Reliable messages of a sender, for receivers that come back.

use std::collections::VecDeque;

use slots::{Account, Held};
use southbound::SignedMessage;

use crate::limits::{SENT_MESSAGES_MAX, SENT_MESSAGES_SHARE};

/// The last reliable messages of a sender.
#[derive(Debug)]
pub(super) struct Sent {
    messages: VecDeque<SignedMessage>,
    bytes: usize,
    /// Bytes beyond the share that each sender has.
    pooled: Held,
}

impl Sent {
    pub(super) fn new(account: &Account) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            pooled: account.hold(),
        }
    }

    /// Remembers a message. The oldest are forgotten at the limits.
    pub(super) fn add(&mut self, message: SignedMessage) {
        self.bytes += cost(&message);
        self.messages.push_back(message);
        while self.bytes > SENT_MESSAGES_MAX || !self.pooled.may_become(beyond_share(self.bytes)) {
            let Some(oldest) = self.messages.pop_front() else {
                break;
            };
            self.bytes -= cost(&oldest);
        }
        self.pooled.set(beyond_share(self.bytes));
    }

    /// Those after a number, in their order.
    pub(super) fn after(&self, sequence: u32) -> impl Iterator<Item = &SignedMessage> {
        self.messages.iter().filter(move |message| message.sequence > sequence)
    }
}

/// The memory that a message takes, about.
fn cost(message: &SignedMessage) -> usize {
    let names = message.identities.iter().chain(&message.sids);
    let names = names.map(|name| name.len() + size_of::<String>());
    message.payload.len() + size_of::<SignedMessage>() + names.sum::<usize>()
}

fn beyond_share(bytes: usize) -> usize {
    bytes.saturating_sub(SENT_MESSAGES_SHARE)
}
