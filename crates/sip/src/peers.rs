//! The other machines of a cluster that relay calls: which of them has a call, and what they are
//! asked about it.
//!
//! A proxy may send each request of a call to another machine. A machine that does not have the
//! call asks all others, and passes the request on to the one that has it. So does a machine that
//! gets the first offer of a call, before it begins the call. All of them say no then, and remember
//! who asked. Thus a call costs no write anywhere, and needs no store.
//!
//! Two machines may be about to begin one call. Each says so before it asks, so at least one of
//! them learns of the other. The lower id goes on, and the higher one passes its requests there. A
//! machine that does not answer counts as one without the call after
//! [`ASK_MAX`](crate::limits::ASK_MAX), and is not waited for until it answers something again.
//! Questions of its own are no answers: a machine that only asks would cost each call that time.

mod held;
mod hints;
mod search;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use southbound::NodeId;

use crate::call::CallName;
use crate::counters::{Counter, Counters};
use crate::limits::{ATTEMPTS_MAX, PASS_MAX, PEERS_MAX, SETTLE_MAX};
use crate::messages::{Output, PassOutcome, PassedRequest, PeerMessage, RequestId};
use crate::subject::Subject;
use held::{Held, HeldRequests, NotHeld};
use hints::Hints;
use search::Search;

/// A thing to do about a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// This machine carries it out.
    Perform(RequestId, PassedRequest),
    /// It fails, and its proxy is told so.
    Refuse(RequestId, PassedRequest, PassFailure),
    /// Something for the caller.
    Out(Output),
}

/// Why a request fails that another machine should carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassFailure {
    /// The machine does not answer.
    Silent,
    /// The machine has too many requests.
    Busy,
    /// The answer of the machine is none to this request.
    Malformed,
    /// The call was not found where machines said it was.
    Lost,
}

impl PassFailure {
    /// The reason for the proxy.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Silent => "The relay of this call does not answer",
            Self::Busy => "The relay of this call is busy",
            Self::Malformed => "The relay of this call gave no usable answer",
            Self::Lost => "The relay of this call was not found",
        }
    }
}

/// One moment in which something happens.
pub(crate) struct Turn<'a> {
    pub(crate) now: Instant,
    pub(crate) counters: &'a mut Counters,
    pub(crate) steps: &'a mut Vec<Step>,
}

/// The other machines of the cluster.
#[derive(Debug)]
pub(crate) struct Peers {
    own: NodeId,
    /// Those that are connected, and whether they did not answer the last question in time.
    joined: BTreeMap<NodeId, bool>,
    settling: Option<Settling>,
    hints: Hints,
    searches: HashMap<CallName, Search>,
    /// The calls that questions are about.
    questions: HashMap<u64, CallName>,
    question: u64,
    /// The times when searches end, with the number of their question.
    ends: BTreeSet<(Instant, u64)>,
    held: HeldRequests,
}

/// The first moments, in which the others are not connected yet. Requests about unknown calls wait.
#[derive(Debug)]
struct Settling {
    until: Instant,
    /// Those that are known and neither connected nor found to be away; `None` before they are
    /// known.
    missing: Option<BTreeSet<NodeId>>,
}

impl Peers {
    /// For a machine of this id that starts now.
    pub(crate) fn new(own: NodeId, now: Instant) -> Self {
        Self {
            own,
            joined: BTreeMap::new(),
            settling: Some(Settling {
                until: now + SETTLE_MAX,
                missing: None,
            }),
            hints: Hints::default(),
            searches: HashMap::new(),
            questions: HashMap::new(),
            question: 0,
            ends: BTreeSet::new(),
            held: HeldRequests::default(),
        }
    }

    /// How many are connected.
    pub(crate) fn len(&self) -> usize {
        self.joined.len()
    }

    /// Whether a request is not carried out yet.
    pub(crate) fn holds(&self, request: RequestId) -> bool {
        self.held.get(request).is_some()
    }

    /// Whether this machine is about to begin a call.
    pub(crate) fn begins(&self, call: &[u8]) -> bool {
        self.searches.get(call).is_some_and(|search| search.begins)
    }

    /// A request about a call that is not here. Another machine has passed it on, unless `by` is
    /// `None`.
    pub(crate) fn hold(
        &mut self,
        id: RequestId,
        request: PassedRequest,
        subject: Subject,
        by: Option<NodeId>,
        turn: &mut Turn<'_>,
    ) {
        let held = Held {
            request,
            call: subject.call.into(),
            begins: subject.begins,
            by,
            at: None,
            attempts: 0,
            until: turn.now + PASS_MAX,
        };
        match self.held.insert(id, held) {
            Ok(()) => return self.place(id, turn),
            // It gets its answer when the first one does.
            Err(NotHeld::Repeated) => turn.counters.count(Counter::CookieRepeated),
            Err(NotHeld::Full) => turn.counters.count(Counter::RequestsFull),
        }
        turn.steps.push(Step::Out(Output::Unanswered(id)));
    }

    /// The machines that the cluster knows. Only the first time counts: later ones are there when
    /// they are connected.
    pub(crate) fn known(&mut self, peers: &[NodeId], turn: &mut Turn<'_>) {
        let joined = &self.joined;
        let missing = || {
            peers
                .iter()
                .copied()
                .filter(|peer| !joined.contains_key(peer))
                .collect()
        };
        if let Some(settling) = &mut self.settling {
            settling.missing.get_or_insert_with(missing);
        }
        self.settle(turn);
    }

    /// A machine is connected, or connected anew.
    pub(crate) fn joined(&mut self, peer: NodeId, turn: &mut Turn<'_>) {
        if peer == self.own || !self.joined.contains_key(&peer) && self.joined.len() >= PEERS_MAX {
            return turn.counters.count(Counter::PeerRefused);
        }
        self.joined.insert(peer, false);
        self.found(peer, turn);
        let is_settled = self.settling.is_none();
        for (call, search) in self.searches.iter_mut().filter(|_| is_settled) {
            search.ask(peer, true);
            turn.ask(peer, search.question, call, search.begins);
        }
        for id in self.held.at(peer) {
            // Messages on their way may be lost. A request that arrives twice is carried out once.
            self.pass(id, peer, turn);
        }
    }

    /// A machine could not be reached.
    pub(crate) fn unreached(&mut self, peer: NodeId, turn: &mut Turn<'_>) {
        if !self.joined.contains_key(&peer) {
            self.found(peer, turn);
        }
    }

    /// The connection of a machine is gone, and as far as is known so are its calls.
    pub(crate) fn left(&mut self, peer: NodeId, turn: &mut Turn<'_>) {
        self.joined.remove(&peer);
        let asked = self.searches.iter_mut();
        let over = asked.filter_map(|(call, search)| search.leave(peer).then(|| call.clone()));
        for call in over.collect::<Vec<_>>() {
            self.conclude(&call, None, turn);
        }
        for id in self.held.at(peer) {
            turn.counters.count(Counter::PeerLost);
            self.place(id, turn);
        }
    }

    /// A machine asks for a call, which this one has or not.
    pub(crate) fn asked(&mut self, peer: NodeId, ask: (u64, &CallName, bool), has: bool, turn: &mut Turn<'_>) {
        let (question, call, begins) = ask;
        turn.counters.count(Counter::PeerAsked);
        let is_beginning = self.begins(call);
        let gives_way = !has && is_beginning && begins && peer < self.own;
        let has = has || is_beginning && !gives_way;
        if begins && !has {
            self.hints.insert(call, peer);
        }
        let message = PeerMessage::Answer { question, has };
        turn.steps.push(Step::Out(Output::Peer(peer, message)));
        if gives_way {
            turn.counters.count(Counter::PeerRival);
            self.conclude(&call.clone(), Some(peer), turn);
        }
    }

    /// A machine says whether it has a call.
    pub(crate) fn told(&mut self, peer: NodeId, question: u64, has: bool, turn: &mut Turn<'_>) {
        self.heard(peer);
        let call = self.questions.get(&question).cloned();
        let search = call.as_ref().and_then(|call| self.searches.get_mut(call));
        let (Some(call), Some(search)) = (call, search) else {
            // It was late.
            return turn.counters.count(Counter::PeerStale);
        };
        match search.answer(peer, has) {
            None => turn.counters.count(Counter::PeerStale),
            Some(_) if has => self.conclude(&call, Some(peer), turn),
            Some(true) => self.conclude(&call, None, turn),
            Some(false) => {}
        }
    }

    /// A machine says what became of a request.
    pub(crate) fn passed(&mut self, peer: NodeId, id: RequestId, outcome: PassOutcome, turn: &mut Turn<'_>) {
        self.heard(peer);
        let Some(held) = self.held.get_mut(id).filter(|held| held.at == Some(peer)) else {
            return turn.counters.count(Counter::PeerStale);
        };
        match outcome {
            PassOutcome::Elsewhere => {
                held.at = None;
                turn.counters.count(Counter::PeerDenied);
                let call = held.call.clone();
                self.hints.remove(&call, peer);
                return self.place(id, turn);
            }
            PassOutcome::Full => self.refuse(id, PassFailure::Busy, turn),
            PassOutcome::Reply(bytes) if !held.request.is_answered_by(&bytes) => {
                self.refuse(id, PassFailure::Malformed, turn)
            }
            PassOutcome::Reply(bytes) => {
                turn.counters.count(Counter::PeerAnswered);
                turn.steps.push(Step::Out(Output::Reply { to: id, bytes }));
            }
            PassOutcome::Unanswered => turn.steps.push(Step::Out(Output::Unanswered(id))),
        }
        self.held.remove(id);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let settling = self.settling.as_ref().map(|settling| settling.until);
        let search = self.ends.first().map(|(end, _)| *end);
        settling
            .into_iter()
            .chain(search)
            .chain(self.held.next_deadline())
            .min()
    }

    /// Handles all timeouts up to now.
    pub(crate) fn handle_timeout(&mut self, turn: &mut Turn<'_>) {
        if self
            .settling
            .as_ref()
            .is_some_and(|settling| settling.until <= turn.now)
        {
            turn.counters.count(Counter::PeersMissing);
            self.begin_searches(turn);
        }
        while let Some((end, question)) = self.ends.first().copied()
            && end <= turn.now
        {
            self.ends.remove(&(end, question));
            let Some(call) = self.questions.get(&question).cloned() else {
                continue;
            };
            if let Some(search) = self.searches.get(&call) {
                for peer in search.missing() {
                    turn.counters.count(Counter::PeerSilent);
                    self.joined.entry(peer).and_modify(|is_silent| *is_silent = true);
                }
            }
            self.conclude(&call, None, turn);
        }
        while let Some((id, held)) = self.held.take_due(turn.now) {
            turn.counters.count(Counter::PeerTimeouts);
            turn.steps.push(match held.by {
                None => Step::Refuse(id, held.request, PassFailure::Silent),
                // The machine that passed it on has given it up as well.
                Some(_) => Step::Out(Output::Unanswered(id)),
            });
        }
    }

    /// The machine is alive and answers.
    fn heard(&mut self, peer: NodeId) {
        self.joined.entry(peer).and_modify(|is_silent| *is_silent = false);
    }

    /// Looks for the machine of a request that is held.
    fn place(&mut self, id: RequestId, turn: &mut Turn<'_>) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        held.at = None;
        held.attempts += 1;
        if held.attempts > ATTEMPTS_MAX {
            self.refuse(id, PassFailure::Lost, turn);
            self.held.remove(id);
            return;
        }
        let (call, begins, is_own) = (held.call.clone(), held.begins, held.by.is_none());
        let hint = self.hints.get(&call).filter(|peer| self.joined.contains_key(peer));
        match hint.filter(|_| is_own) {
            Some(peer) => self.pass(id, peer, turn),
            None => self.search(id, &call, begins, turn),
        }
    }

    /// Passes a request on.
    fn pass(&mut self, id: RequestId, peer: NodeId, turn: &mut Turn<'_>) {
        if let Some(held) = self.held.get_mut(id) {
            held.at = Some(peer);
            turn.counters.count(Counter::PeerPassed);
            let passed = held.request.clone();
            let message = PeerMessage::Pass { request: id, passed };
            turn.steps.push(Step::Out(Output::Peer(peer, message)));
        }
    }

    fn refuse(&mut self, id: RequestId, why: PassFailure, turn: &mut Turn<'_>) {
        if let Some(held) = self.held.get(id) {
            turn.counters.count(Counter::PeerFailed);
            turn.steps.push(Step::Refuse(id, held.request.clone(), why));
        }
    }
}

impl Turn<'_> {
    fn ask(&mut self, peer: NodeId, question: u64, call: &CallName, begins: bool) {
        let call = call.clone();
        let message = PeerMessage::Ask { question, call, begins };
        self.steps.push(Step::Out(Output::Peer(peer, message)));
    }
}
