//! Messages of data channels that go to other nodes, and come from them.

use std::time::Instant;

use dataplane::DataPlane;
use southbound::{MessageId, Notice};

use super::{Agent, follow};
use crate::context::Context;

impl Agent {
    /// Counts a link to another node among the receivers of a message, until
    /// [`release`](Self::release) is called as often.
    pub fn hold(&mut self, message: MessageId) {
        self.shared.ledger.copied(message);
    }

    /// The receivers behind a link have a message, or the link has failed.
    pub fn release(&mut self, now: Instant, message: MessageId, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.shared.ledger.taken(message);
        self.hand_over(now, plane, out);
    }

    /// Senders that waited go on.
    fn hand_over(&mut self, now: Instant, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        let cx = &mut Context {
            now,
            plane,
            out,
            shared: &mut self.shared,
        };
        follow(cx, &mut self.transports, &mut self.media, Vec::new());
    }

    /// The controller of a message is away: the message holds back its sender and nobody else.
    pub fn park(&mut self, now: Instant, message: MessageId, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.shared.ledger.park(message);
        self.hand_over(now, plane, out);
    }

    /// A message came over a link. Commands that send it on follow, and then
    /// [`Command::MessageHandled`].
    pub fn open_linked(&mut self, message: MessageId, len: usize) {
        self.shared.ledger.open_linked(message, len);
    }

    /// The messages that came over links and that all of their receivers have by now.
    pub fn take_delivered(&mut self) -> Vec<MessageId> {
        self.shared.ledger.take_delivered()
    }

    /// Whether as much as may waits for receivers: nothing more is to be taken from links.
    pub fn is_full(&self) -> bool {
        self.shared.ledger.is_full()
    }
}
