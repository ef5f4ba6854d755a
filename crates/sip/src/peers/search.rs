//! The search for the machine that has a call.

use std::collections::BTreeMap;

use southbound::NodeId;

use super::{Peers, Step, Turn};
use crate::call::CallName;
use crate::limits::ASK_MAX;
use crate::messages::{Output, RequestId};

/// A call whose machine is looked for, and the requests that wait for it.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) question: u64,
    /// This machine begins the call if nobody has it.
    pub(super) begins: bool,
    /// Those that were asked and have not answered, and whether they are waited for.
    asked: BTreeMap<NodeId, bool>,
    waiting: Vec<RequestId>,
}

impl Search {
    /// A machine is asked.
    pub(super) fn ask(&mut self, peer: NodeId, is_waited_for: bool) {
        self.asked.insert(peer, is_waited_for);
    }

    /// A machine has answered. Returns whether it was the last one to be waited for, and `None` if
    /// it was not asked.
    pub(super) fn answer(&mut self, peer: NodeId, has: bool) -> Option<bool> {
        self.asked.remove(&peer)?;
        Some(!has && self.is_over())
    }

    /// A machine is gone. Returns whether it was the last one to be waited for.
    pub(super) fn leave(&mut self, peer: NodeId) -> bool {
        self.asked.remove(&peer).is_some_and(|was_waited_for| was_waited_for) && self.is_over()
    }

    /// Those that are waited for.
    pub(super) fn missing(&self) -> impl Iterator<Item = NodeId> {
        let missing = self.asked.iter().filter(|(_, is_waited_for)| **is_waited_for);
        missing.map(|(peer, _)| *peer)
    }

    fn is_over(&self) -> bool {
        self.missing().next().is_none()
    }
}

impl Peers {
    /// Has a request wait until the machine of its call is found.
    pub(super) fn search(&mut self, id: RequestId, call: &CallName, begins: bool, turn: &mut Turn<'_>) {
        let Some(search) = self.searches.get_mut(call) else {
            let search = Search {
                question: 0,
                begins,
                asked: BTreeMap::new(),
                waiting: vec![id],
            };
            self.searches.insert(call.clone(), search);
            return self.ask_all(call, turn);
        };
        search.waiting.push(id);
        if begins && !search.begins {
            // The others have to know that this machine is about to begin it.
            search.begins = true;
            self.ask_all(call, turn);
        }
    }

    /// Asks all machines, under another number than before. Machines that did not answer the last
    /// time are not waited for.
    fn ask_all(&mut self, call: &CallName, turn: &mut Turn<'_>) {
        let Some(search) = self.searches.get_mut(call).filter(|_| self.settling.is_none()) else {
            return;
        };
        self.questions.remove(&search.question);
        self.question += 1;
        search.question = self.question;
        search.asked.clear();
        for (peer, is_silent) in &self.joined {
            search.ask(*peer, !is_silent);
            turn.ask(*peer, search.question, call, search.begins);
        }
        let is_over = search.is_over();
        self.questions.insert(self.question, call.clone());
        self.ends.insert((turn.now + ASK_MAX, self.question));
        if is_over {
            self.conclude(call, None, turn);
        }
    }

    /// A machine has the call, or none.
    pub(super) fn conclude(&mut self, call: &CallName, found: Option<NodeId>, turn: &mut Turn<'_>) {
        let Some(search) = self.searches.remove(call) else {
            return;
        };
        self.questions.remove(&search.question);
        if let Some(peer) = found {
            self.hints.insert(call, peer);
        }
        for id in search.waiting {
            let Some(held) = self.held.get(id) else {
                continue;
            };
            match (held.by, found) {
                (None, Some(peer)) => self.pass(id, peer, turn),
                (Some(_), None) if search.begins => self.perform(id, turn),
                (None, None) => self.perform(id, turn),
                (Some(_), _) => {
                    self.held.remove(id);
                    turn.steps.push(Step::Out(Output::Elsewhere(id)));
                }
            }
        }
    }

    fn perform(&mut self, id: RequestId, turn: &mut Turn<'_>) {
        if let Some(held) = self.held.remove(id) {
            turn.steps.push(Step::Perform(id, held.request));
        }
    }

    /// A machine is connected, or is not there.
    pub(super) fn found(&mut self, peer: NodeId, turn: &mut Turn<'_>) {
        if let Some(missing) = self.settling.as_mut().and_then(|settling| settling.missing.as_mut()) {
            missing.remove(&peer);
        }
        self.settle(turn);
    }

    /// Ends the first moments once nobody is missing.
    pub(super) fn settle(&mut self, turn: &mut Turn<'_>) {
        let missing = self.settling.as_ref().and_then(|settling| settling.missing.as_ref());
        if missing.is_some_and(|missing| missing.is_empty()) {
            self.begin_searches(turn);
        }
    }

    /// Begins the searches that have waited for the other machines.
    pub(super) fn begin_searches(&mut self, turn: &mut Turn<'_>) {
        self.settling = None;
        for call in self.searches.keys().cloned().collect::<Vec<_>>() {
            self.ask_all(&call, turn);
        }
    }
}
