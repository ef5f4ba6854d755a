//! The media node: the agent and its data plane on a thread of their own.

use std::convert::Infallible;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use agent::Agent;
use dataplane::{Counter, DataPlane};
use southbound::relay::RelayNotice;
use southbound::{Command, Notice};
use tokio::sync::{mpsc, oneshot};

use crate::media::command_queue::command_queue;
use crate::media::handshakes::{self, Handshakes};
use crate::media::node_link::NodeLink;
use crate::media::receiver_query::Question;
use crate::media::waker::Waker;
use crate::metrics::Metrics;
use crate::os::clock;
use crate::os::cpu_latency::CpuLatency;
use crate::os::priority;

/// How many commands may wait before a controller waits. The agent takes thousands a millisecond.
const COMMANDS_MAX: usize = 1 << 16;

/// How many notices may wait for a controller before the agent waits for it.
const NOTICES_MAX: usize = 16_384;

/// The longest turn of commands before events, of events before the clock is read, and of timers
/// before commands, so that a flood of one kind, for instance a thousand departures at once, cannot
/// starve the others.
const SHARE: Duration = Duration::from_micros(500);

/// How long a timer of the agent's may be late for the sake of others: what it times takes tens of
/// milliseconds and more. Packets and commands wake it at once.
const GRAIN: Duration = Duration::from_millis(4);

/// How often the data plane is looked at for a sign of life that it was asked for.
const ROLL_CALL: Duration = Duration::from_millis(5);

/// The number of events handled between two reads of the clock.
const EVENTS: usize = 8;

/// How often counters are published.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);

/// The receivers of the node's notices.
struct Listeners {
    /// The controller.
    notices: mpsc::Sender<Notice>,
    /// The controller of SIP proxies' calls, which is woken once for all notices of a turn.
    relay_notices: mpsc::Sender<Vec<RelayNotice>>,
}

/// Tells that the node's thread is gone.
pub(crate) type Ended = oneshot::Receiver<Infallible>;

/// A node that runs. It ends when both links are dropped.
pub(crate) struct Running {
    /// For the controller.
    pub controller: NodeLink<Notice>,
    /// For the controller of SIP proxies' calls, which gets all notices of a turn together.
    pub relay: NodeLink<Vec<RelayNotice>>,
    /// Resolves, to an error, once it has ended, also by a panic.
    pub ended: Ended,
}

/// Starts the node on `plane`.
pub(crate) fn start(
    agent: Agent,
    plane: Box<dyn DataPlane + Send>,
    waker: Waker,
    questions: mpsc::Receiver<Question>,
    metrics: Metrics,
    cpu_latency: Option<CpuLatency>,
) -> io::Result<Running> {
    let (commands, taken) = command_queue(COMMANDS_MAX, waker.clone());
    let (notices, noticed) = mpsc::channel(NOTICES_MAX);
    let (relay_notices, relay_noticed) = mpsc::channel(NOTICES_MAX);
    let listeners = Listeners { notices, relay_notices };
    let id = agent.node_id();
    let node = Node {
        agent,
        plane,
        handshakes: Handshakes::start(handshake_threads(), &waker)?,
        listeners,
        questions,
        metrics,
        cpu_latency,
        out: Vec::new(),
        published: clock::now(),
        roll_calls: Vec::new(),
    };
    let (running, ended) = oneshot::channel();
    let of_thread = waker.clone();
    thread::Builder::new().name("agent".to_owned()).spawn(move || {
        of_thread.wake_this_thread();
        priority::give_way(priority::AGENT);
        node.run(taken, &of_thread);
        drop(running);
    })?;
    Ok(Running {
        controller: NodeLink::new(id, commands.clone(), noticed),
        relay: NodeLink::new(id, commands, relay_noticed),
        ended,
    })
}

/// Half of the processors: the other half is left to the participants of running calls.
fn handshake_threads() -> usize {
    thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

struct Node {
    agent: Agent,
    plane: Box<dyn DataPlane + Send>,
    handshakes: Handshakes,
    listeners: Listeners,
    questions: mpsc::Receiver<Question>,
    metrics: Metrics,
    cpu_latency: Option<CpuLatency>,
    out: Vec<Notice>,
    published: Instant,
    /// Health checks that wait for a sign of life from the data plane.
    roll_calls: Vec<oneshot::Sender<()>>,
}

impl Node {
    fn run(mut self, mut commands: mpsc::Receiver<Command>, waker: &Waker) {
        loop {
            let began = clock::now();
            let (ended, busy) = self.turn(&mut commands);
            if ended || self.deliver().is_err() {
                return;
            }
            let asked = self.settle_question();
            self.publish(began);
            if !asked && !busy {
                let due = self.agent.poll_timeout().map(|due| due.max(began + GRAIN));
                let look = (!self.roll_calls.is_empty()).then(|| began + ROLL_CALL);
                waker.sleep(PUBLISH_INTERVAL, due.into_iter().chain(look).min());
            }
        }
    }

    /// Takes what waits, a bounded part of it. Says whether the controller is gone, and whether
    /// more is waiting.
    fn turn(&mut self, commands: &mut mpsc::Receiver<Command>) -> (bool, bool) {
        let (ended, more_commands) = self.take_commands(commands);
        let more_events = self.take_events();
        while let Some(done) = self.handshakes.poll() {
            self.agent
                .handshaken(clock::now(), done, &mut *self.plane, &mut self.out);
        }
        self.agent.handle_timeout(clock::now(), &mut *self.plane, &mut self.out);
        handshakes::log_failures(&mut self.agent);
        self.handshakes.hand_out(&mut self.agent);
        (ended, more_commands || more_events)
    }

    /// Says whether the controller is gone, and whether more may be waiting.
    fn take_commands(&mut self, commands: &mut mpsc::Receiver<Command>) -> (bool, bool) {
        let mut now = clock::now();
        let end = now + SHARE;
        while now < end {
            match commands.try_recv() {
                Ok(command) => self.agent.command(now, command, &mut *self.plane, &mut self.out),
                Err(mpsc::error::TryRecvError::Empty) => return (false, false),
                Err(mpsc::error::TryRecvError::Disconnected) => return (true, false),
            }
            now = clock::now();
        }
        (false, true)
    }

    /// Says whether more may be waiting.
    fn take_events(&mut self) -> bool {
        let mut now = clock::now();
        let end = now + SHARE;
        while now < end {
            for _ in 0..EVENTS {
                let Some(event) = self.plane.poll() else {
                    return false;
                };
                self.agent.event(now, event, &mut *self.plane, &mut self.out);
            }
            now = clock::now();
        }
        true
    }

    /// Answers one question, if there is any, and returns whether there was: the next one waits
    /// until media has had its turn again.
    fn settle_question(&mut self) -> bool {
        if !self.roll_calls.is_empty() && self.plane.workers_answered() {
            for answer in self.roll_calls.drain(..) {
                let _ = answer.send(());
            }
        }
        // An error of an answer means that nobody waits for it any more.
        match self.questions.try_recv() {
            Ok(Question::Receivers(about, answer)) => drop(answer.send(about.answer(&self.agent))),
            Ok(Question::Addresses([addresses, tcp_addresses])) => {
                self.agent
                    .set_addresses(addresses, tcp_addresses, &*self.plane, &mut self.out);
            }
            Ok(Question::Agent(answer)) => {
                let _ = answer.send(());
            }
            Ok(Question::Plane(answer)) => {
                self.plane.ping_workers();
                self.roll_calls.push(answer);
            }
            Err(_) => return false,
        }
        true
    }

    /// Passes notices to the controller, waiting if it is slow, while media continues. An error
    /// means that the controller has ended.
    fn deliver(&mut self) -> Result<(), ()> {
        let Self { out, listeners, .. } = self;
        let mut relay_notices = Vec::new();
        for notice in out.drain(..) {
            match notice {
                Notice::Relay(notice) => relay_notices.push(notice),
                notice => listeners.notices.blocking_send(notice).map_err(drop)?,
            }
        }
        if !relay_notices.is_empty() {
            // Without a controller of calls there are no notices of relays.
            let _ = listeners.relay_notices.blocking_send(relay_notices);
        }
        Ok(())
    }

    /// Tells how long the turn that `began` then has taken, and once in a while what was counted.
    fn publish(&mut self, began: Instant) {
        let now = clock::now();
        self.metrics.turn(now.saturating_duration_since(began));
        if now >= self.published + PUBLISH_INTERVAL {
            self.published = now;
            let counters = self.plane.counters();
            if let Some(latency) = &mut self.cpu_latency {
                latency.look(counters[Counter::Forwarded] + counters[Counter::Relayed]);
            }
            self.metrics.publish(counters, self.agent.counters().clone());
        }
    }
}
