//! Calls of other machines, as far as they were heard of.

use std::collections::{HashMap, VecDeque};

use southbound::NodeId;

use crate::call::CallName;
use crate::limits::HINTS_MAX;

/// Which machine was heard to have a call. It may be over since, so a hint only says whom to ask
/// first.
///
/// Shape: at most [`HINTS_MAX`] calls; the one heard of first is forgotten first.
#[derive(Debug, Default)]
pub(super) struct Hints {
    places: HashMap<CallName, (NodeId, u64)>,
    ages: VecDeque<(u64, CallName)>,
    serial: u64,
}

impl Hints {
    /// The machine that was heard to have a call.
    pub(super) fn get(&self, call: &CallName) -> Option<NodeId> {
        self.places.get(call).map(|(peer, _)| *peer)
    }

    /// A machine has a call, or is about to begin it.
    pub(super) fn insert(&mut self, call: &CallName, peer: NodeId) {
        if self.get(call) == Some(peer) {
            return;
        }
        self.serial += 1;
        self.places.insert(call.clone(), (peer, self.serial));
        self.ages.push_back((self.serial, call.clone()));
        // Hints that were replaced or removed leave their age behind.
        while self.places.len() > HINTS_MAX || self.ages.len() > 2 * HINTS_MAX {
            let Some((serial, call)) = self.ages.pop_front() else {
                return;
            };
            if self.places.get(&call).is_some_and(|(_, of_hint)| *of_hint == serial) {
                self.places.remove(&call);
            }
        }
    }

    /// The machine does not have the call.
    pub(super) fn remove(&mut self, call: &CallName, peer: NodeId) {
        if self.get(call) == Some(peer) {
            self.places.remove(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_hints_are_kept_than_may_be() {
        let mut hints = Hints::default();
        let call = |number: u32| CallName::from(&number.to_be_bytes()[..]);
        for number in 0..2 * HINTS_MAX as u32 {
            hints.insert(&call(number), NodeId(1));
        }
        assert_eq!((hints.places.len(), hints.get(&call(0))), (HINTS_MAX, None));
        let last = call(2 * HINTS_MAX as u32 - 1);
        assert_eq!(hints.get(&last), Some(NodeId(1)));
        for number in 0..5 * HINTS_MAX as u64 {
            hints.insert(&last, NodeId(number));
        }
        assert!(hints.ages.len() <= 2 * HINTS_MAX);
        hints.remove(&last, NodeId(0));
        assert_eq!(
            hints.get(&last),
            Some(NodeId(5 * HINTS_MAX as u64 - 1)),
            "another machine's stays"
        );
    }
}
