//! Messages of data channels on their way through the owner of a room.

use std::collections::BTreeMap;

use southbound::{Command, MessageId, NodeId, Notice};

use super::Output;
use crate::limits::KEPT_MESSAGES_BYTES_MAX;

/// About the bytes of a message besides its payload.
const COST: usize = 128;

/// The messages of one room that no owner has answered. Those that must arrive are kept for the
/// next owner: a controller that dies loses none of them.
#[derive(Debug, Default)]
pub(super) struct Messages(BTreeMap<Name, Option<Held>>);

/// A message, and the node at the other end if the link to one has failed it. The owner gets a
/// message once for itself, and once for each such node afterwards.
type Name = (MessageId, Option<NodeId>);

#[derive(Debug)]
struct Held {
    notice: Notice,
    /// The present owner has not got it.
    waits: bool,
}

impl Held {
    fn cost(&self) -> usize {
        cost(&self.notice)
    }
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes note of a message. `of_all_rooms` is what all rooms keep, in bytes. Returns false for
    /// one that the present owner does not get and the next one would not get either.
    pub(super) fn add(
        &mut self,
        message: MessageId,
        notice: &Notice,
        is_given: bool,
        of_all_rooms: &mut usize,
    ) -> bool {
        let must_arrive = matches!(notice, Notice::MessageReceived { reliable: true, .. });
        let cost = cost(notice);
        let is_kept = must_arrive && *of_all_rooms + cost <= KEPT_MESSAGES_BYTES_MAX;
        if !is_kept && !is_given {
            return false;
        }
        let kept = is_kept.then(|| Held {
            notice: notice.clone(),
            waits: !is_given,
        });
        *of_all_rooms += if is_kept { cost } else { 0 };
        self.0.insert((message, failed_node(notice)), kept);
        true
    }

    /// The owner has dealt with a message.
    pub(super) fn answered(&mut self, message: MessageId, of_all_rooms: &mut usize) {
        // The owner answers in the order in which it got them.
        let first = self.0.range((message, None)..).next().map(|(name, _)| *name);
        let first = first.filter(|(first, _)| *first == message);
        if let Some(Some(kept)) = first.and_then(|first| self.0.remove(&first)) {
            *of_all_rooms -= kept.cost();
        }
    }

    /// The last of those that the owner has got for itself, or will get.
    pub(super) fn last(&self) -> Option<MessageId> {
        let own = self.0.keys().rev().find(|(_, failed)| failed.is_none());
        own.map(|(message, _)| *message)
    }

    /// Whether the owner has dealt with all of those up to one.
    pub(super) fn are_answered_up_to(&self, last: MessageId) -> bool {
        let mut earlier = self.0.range(..=(last, None));
        !earlier.any(|((_, failed), _)| failed.is_none())
    }

    /// The owner will not answer. Messages that are not kept are answered for it, or their senders
    /// would wait for ever. Returns how many there were.
    pub(super) fn lose_owner(&mut self, out: &mut Output) -> u64 {
        let lost = self.0.extract_if(.., |_, kept| kept.is_none());
        let lost: Vec<_> = lost.map(|((message, _), _)| message).collect();
        for kept in self.0.values_mut().flatten() {
            kept.waits = true;
        }
        out.parked.extend(self.0.keys().map(|(message, _)| *message));
        let count = lost.len() as u64;
        let lost = lost.into_iter().map(|message| Command::MessageHandled { message });
        out.commands.extend(lost);
        count
    }

    /// Answers all of them: there will be no owner. Returns how many there were.
    pub(super) fn end(&mut self, of_all_rooms: &mut usize, out: &mut Vec<Command>) -> u64 {
        let all = std::mem::take(&mut self.0);
        *of_all_rooms -= all.values().flatten().map(Held::cost).sum::<usize>();
        let count = all.len() as u64;
        let all = all.into_keys();
        out.extend(all.map(|(message, _)| Command::MessageHandled { message }));
        count
    }

    /// Those that the present owner has not got, in the order they came in. It gets them now.
    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = Notice> {
        let kept = self.0.values_mut().flatten();
        kept.filter_map(|kept| std::mem::take(&mut kept.waits).then(|| kept.notice.clone()))
    }
}

fn failed_node(notice: &Notice) -> Option<NodeId> {
    match notice {
        Notice::MessageReceived { linked, .. } => linked.failed.map(|failed| failed.node),
        _ => None,
    }
}

fn cost(notice: &Notice) -> usize {
    match notice {
        Notice::MessageReceived { payload, .. } => payload.len() + COST,
        _ => COST,
    }
}
