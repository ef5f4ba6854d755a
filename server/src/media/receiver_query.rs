//! Questions to the media node's thread, by message: how receivers do, a page at a time, so that no
//! answer holds up media for long, and whether it and its data plane are there.

use std::collections::HashMap;
use std::time::Duration;

use agent::{Agent, NodeAddresses, Receiver};
use southbound::TransportId;
use tokio::sync::{mpsc, oneshot};

use crate::media::waker::Waker;

/// The most questions that may wait. Further ones wait for a place.
const QUESTIONS_MAX: usize = 16;

/// The most receivers in one answer: some tens of microseconds of the thread's time.
const PAGE: usize = 32;

/// How long an answer may take before the node counts as too busy to be asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// The node is gone, or has more urgent things to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unavailable;

/// The receivers whose state is asked for.
pub(crate) enum About {
    /// These, at most a page of them.
    These(Vec<TransportId>),
    /// A page of all, after this one.
    After(Option<TransportId>),
}

/// A question to the node's thread, or news for it.
pub(crate) enum Question {
    /// Clients reach the node at these addresses over UDP and over TCP from now on.
    Addresses(NodeAddresses),
    /// How receivers do.
    Receivers(About, oneshot::Sender<Vec<Receiver>>),
    /// How many transports the agent has.
    Transports(oneshot::Sender<usize>),
    /// Whether the agent is there.
    Agent(oneshot::Sender<()>),
    /// Whether every worker of the data plane is there.
    Plane(oneshot::Sender<()>),
}

impl About {
    /// Answers from the agent's state.
    pub(crate) fn answer(self, agent: &Agent) -> Vec<Receiver> {
        match self {
            About::These(transports) => transports.into_iter().filter_map(|it| agent.receiver(it)).collect(),
            About::After(transport) => agent.receivers_after(transport).take(PAGE).collect(),
        }
    }
}

/// Whom to ask. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ReceiverQuery {
    questions: mpsc::Sender<Question>,
    waker: Waker,
}

impl ReceiverQuery {
    /// Questions to the thread that `waker` wakes, and the end at which it takes them.
    pub(crate) fn new(waker: Waker) -> (Self, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        (Self { questions, waker }, asked)
    }

    /// Questions of a process without a node: there is never an answer.
    pub(crate) fn of_no_node() -> Self {
        Self::new(Waker::default()).0
    }

    /// The state of these transports, without those that get nothing.
    pub(crate) async fn these(
        &self,
        transports: &[TransportId],
    ) -> Result<HashMap<TransportId, Receiver>, Unavailable> {
        let mut found = HashMap::with_capacity(transports.len());
        for page in transports.chunks(PAGE) {
            let answer = self.receivers(About::These(page.to_vec())).await?;
            found.extend(answer.into_iter().map(|receiver| (receiver.transport, receiver)));
        }
        Ok(found)
    }

    /// Shows all receivers to `see`, one after the other. Receivers that are added or removed
    /// meanwhile may be missing.
    pub(crate) async fn everybody(&self, mut see: impl FnMut(&Receiver)) -> Result<(), Unavailable> {
        let mut after = None;
        loop {
            let page = self.receivers(About::After(after)).await?;
            page.iter().for_each(&mut see);
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.transport),
                _ => return Ok(()),
            }
        }
    }

    /// Has clients told of these addresses from now on.
    pub(crate) async fn set_addresses(&self, addresses: NodeAddresses) {
        // An error means that the node has ended.
        let _ = self.questions.send(Question::Addresses(addresses)).await;
        self.waker.wake();
    }

    /// The number of transports that the node has.
    ///
    /// Errors: the node is gone, or too busy to be asked.
    pub(crate) async fn transports(&self) -> Result<usize, Unavailable> {
        let answered = tokio::time::timeout(PATIENCE, self.ask(Question::Transports)).await;
        answered.ok().flatten().ok_or(Unavailable)
    }

    /// Whether the agent answers. The caller sets the time limit.
    pub(crate) async fn agent_is_alive(&self) -> bool {
        self.ask(Question::Agent).await.is_some()
    }

    /// Whether every worker of the data plane has a turn. The caller sets the time limit.
    pub(crate) async fn plane_is_alive(&self) -> bool {
        self.ask(Question::Plane).await.is_some()
    }

    async fn receivers(&self, about: About) -> Result<Vec<Receiver>, Unavailable> {
        let asked = self.ask(|answer| Question::Receivers(about, answer));
        let answered = tokio::time::timeout(PATIENCE, asked).await;
        answered.ok().flatten().ok_or(Unavailable)
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.questions.send(question(answer)).await.ok()?;
        self.waker.wake();
        answered.await.ok()
    }
}
