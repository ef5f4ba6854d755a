//! The media node: the agent and its data plane on a thread of their own.

use std::convert::Infallible;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use agent::Agent;
use dataplane::{Counter, DataPlane};
use southbound::relay::RelayNotice;
use southbound::{NodeId, Notice, Versions};
use tokio::sync::{mpsc, oneshot};

use crate::media::command_queue::command_queue;
use crate::media::controllers::{Controllers, LocalControllers, Switch};
use crate::media::fenced::{Connection, FencedControllers, LocalRelay};
use crate::media::handshakes::{self, Handshakes};
use crate::media::links::{LinkEnds, Links};
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

/// How many new connections of controllers may wait for the thread.
const ARRIVALS_MAX: usize = 16;

/// The longest turn of commands before events, of events before the clock is read, and of timers
/// before commands, so that a flood of one kind, for instance a thousand departures at once, cannot
/// starve the others.
const SHARE: Duration = Duration::from_micros(500);

/// How long a timer of the agent's may be late for the sake of others: what it times takes tens of
/// milliseconds and more. Packets and commands wake it at once.
const GRAIN: Duration = Duration::from_millis(4);

/// How often the data plane is looked at for a sign of life that it was asked for, and a controller
/// that did not take its notices.
const ROLL_CALL: Duration = Duration::from_millis(5);

/// The number of events handled between two reads of the clock.
const EVENTS: usize = 8;

/// How often counters are published.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);

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

/// A node that runs for controllers on other machines. It ends when `connections` is dropped.
pub(crate) struct RunningFenced {
    /// The id of the node.
    pub id: NodeId,
    /// Takes the connections of controllers. The thread is to be woken after each of them, and
    /// after each of their messages.
    pub connections: mpsc::Sender<Connection>,
    /// Takes what happens to links with other nodes.
    pub links: LinkEnds,
    /// Wakes the thread of the node.
    pub waker: Waker,
    /// For the controller of SIP proxies' calls, as in [`Running`].
    pub relay: NodeLink<Vec<RelayNotice>>,
    /// Resolves, to an error, once it has ended, also by a panic.
    pub ended: Ended,
}

/// The parts of a node.
pub(crate) struct Parts {
    /// The agent, which the thread drives.
    pub agent: Agent,
    /// The tables that it fills.
    pub plane: Box<dyn DataPlane + Send>,
    /// Wakes the thread that is to be started.
    pub waker: Waker,
    /// Questions about receivers and health.
    pub questions: mpsc::Receiver<Question>,
    /// Measurements of the thread.
    pub metrics: Metrics,
    /// Keeps processors awake under load.
    pub cpu_latency: Option<CpuLatency>,
}

/// Starts a node for controllers in this process.
pub(crate) fn start(parts: Parts) -> io::Result<Running> {
    let (commands, taken) = command_queue(COMMANDS_MAX, parts.waker.clone());
    let (notices, noticed) = mpsc::channel(NOTICES_MAX);
    let (relay_notices, relay_noticed) = mpsc::channel(NOTICES_MAX);
    let id = parts.agent.node_id();
    let controllers = LocalControllers {
        commands: taken,
        notices,
        relay_notices,
    };
    let ended = spawn(parts, controllers)?;
    Ok(Running {
        controller: NodeLink::new(id, commands.clone(), noticed),
        relay: NodeLink::new(id, commands, relay_noticed),
        ended,
    })
}

/// Starts a node for controllers on other machines, behind a fence.
pub(crate) fn start_fenced(parts: Parts, versions: Versions) -> io::Result<RunningFenced> {
    let (connections, arrivals) = mpsc::channel(ARRIVALS_MAX);
    let (commands, taken) = command_queue(COMMANDS_MAX, parts.waker.clone());
    let (notices, noticed) = mpsc::channel(NOTICES_MAX);
    let relay = LocalRelay {
        commands: taken,
        notices,
    };
    let (id, waker) = (parts.agent.node_id(), parts.waker.clone());
    let (links, link_ends) = Links::new();
    let ended = spawn(parts, FencedControllers::new((id, versions), arrivals, relay, links))?;
    Ok(RunningFenced {
        id,
        connections,
        links: link_ends,
        waker,
        relay: NodeLink::new(id, commands, noticed),
        ended,
    })
}

fn spawn<C: Controllers>(parts: Parts, controllers: C) -> io::Result<Ended> {
    let Parts {
        agent,
        plane,
        waker,
        questions,
        metrics,
        cpu_latency,
    } = parts;
    let node = Node {
        handshakes: Handshakes::start(handshake_threads(), &waker)?,
        switch: Switch {
            agent,
            plane,
            out: Vec::new(),
        },
        controllers,
        questions,
        metrics,
        cpu_latency,
        published: clock::now(),
        roll_calls: Vec::new(),
    };
    let (running, ended) = oneshot::channel();
    thread::Builder::new().name("agent".to_owned()).spawn(move || {
        waker.wake_this_thread();
        priority::give_way(priority::AGENT);
        node.run(&waker);
        drop(running);
    })?;
    Ok(ended)
}

/// Half of the processors: the other half is left to the participants of running calls.
fn handshake_threads() -> usize {
    thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

struct Node<C> {
    switch: Switch,
    handshakes: Handshakes,
    controllers: C,
    questions: mpsc::Receiver<Question>,
    metrics: Metrics,
    cpu_latency: Option<CpuLatency>,
    published: Instant,
    /// Health checks that wait for a sign of life from the data plane.
    roll_calls: Vec<oneshot::Sender<()>>,
}

impl<C: Controllers> Node<C> {
    fn run(mut self, waker: &Waker) {
        loop {
            let began = clock::now();
            let (ended, busy) = self.turn();
            if ended || self.controllers.deliver(&mut self.switch).is_err() {
                return;
            }
            let asked = self.settle_question();
            self.publish(began);
            if !asked && !busy {
                let due = self.switch.agent.poll_timeout().map(|due| due.max(began + GRAIN));
                let must_look = !self.roll_calls.is_empty() || self.controllers.must_look();
                let look = must_look.then(|| began + ROLL_CALL);
                waker.sleep(PUBLISH_INTERVAL, due.into_iter().chain(look).min());
            }
        }
    }

    /// Takes what waits, a bounded part of it. Says whether the controllers are gone, and whether
    /// more is waiting.
    fn turn(&mut self) -> (bool, bool) {
        let end = clock::now() + SHARE;
        let (ended, more_commands) = self.controllers.take(end, &mut self.switch);
        let more_events = self.take_events();
        let Switch { agent, plane, out } = &mut self.switch;
        while let Some(done) = self.handshakes.poll() {
            agent.handshaken(clock::now(), done, &mut **plane, out);
        }
        agent.handle_timeout(clock::now(), &mut **plane, out);
        handshakes::log_failures(agent);
        self.handshakes.hand_out(agent);
        (ended, more_commands || more_events)
    }

    /// Says whether more may be waiting.
    fn take_events(&mut self) -> bool {
        let Switch { agent, plane, out } = &mut self.switch;
        let mut now = clock::now();
        let end = now + SHARE;
        while now < end {
            for _ in 0..EVENTS {
                let Some(event) = plane.poll() else {
                    return false;
                };
                agent.event(now, event, &mut **plane, out);
            }
            now = clock::now();
        }
        true
    }

    /// Answers one question, if there is any, and returns whether there was: the next one waits
    /// until media has had its turn again.
    fn settle_question(&mut self) -> bool {
        if !self.roll_calls.is_empty() && self.switch.plane.workers_answered() {
            for answer in self.roll_calls.drain(..) {
                let _ = answer.send(());
            }
        }
        // An error of an answer means that nobody waits for it any more.
        match self.questions.try_recv() {
            Ok(Question::Receivers(about, answer)) => drop(answer.send(about.answer(&self.switch.agent))),
            Ok(Question::Addresses(addresses)) => {
                let Switch { agent, plane, out } = &mut self.switch;
                agent.set_addresses(addresses, &**plane, out);
            }
            Ok(Question::Transports(answer)) => drop(answer.send(self.switch.agent.transports())),
            Ok(Question::Agent(answer)) => {
                let _ = answer.send(());
            }
            Ok(Question::Plane(answer)) => {
                self.switch.plane.ping_workers();
                self.roll_calls.push(answer);
            }
            Err(_) => return false,
        }
        true
    }

    /// Tells how long the turn that `began` then has taken, and once in a while what was counted.
    fn publish(&mut self, began: Instant) {
        let now = clock::now();
        self.metrics.turn(now.saturating_duration_since(began));
        if now >= self.published + PUBLISH_INTERVAL {
            self.published = now;
            let counters = self.switch.plane.counters();
            if let Some(latency) = &mut self.cpu_latency {
                latency.look(counters[Counter::Forwarded] + counters[Counter::Relayed]);
            }
            self.controllers.publish(&self.metrics);
            self.metrics.publish(counters, self.switch.agent.counters().clone());
        }
    }
}
